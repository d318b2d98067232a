"""The functions of CEL in Kubernetes: one module per library."""
