"""Access to the local control plane: RBAC, the reviews that query it, and service account tokens."""
