"""Structural schemas, from types or manifests: they prune, default and validate objects, and become OpenAPI.

Pure: no I/O, no clock, no Twisted.
"""
