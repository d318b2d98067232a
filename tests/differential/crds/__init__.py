"""Manifests of custom resource definitions as they are, and conversations with what is served from them."""
