"""Outgoing calls to a Kubernetes API: credentials, an async client, an informer."""
