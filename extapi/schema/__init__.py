"""Structural schemas: compiled from types or manifests; they prune, default, validate, and become OpenAPI. PURE."""
