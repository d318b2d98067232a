"""extapi: Kubernetes extension API servers in Python."""
