"""Who may do what in the local control plane: RBAC, the reviews that ask about it, and service account tokens."""
