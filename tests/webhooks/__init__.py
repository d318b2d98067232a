"""Conversion webhooks on loopback, over TLS: one that converts, and others that fail in every way there is."""
