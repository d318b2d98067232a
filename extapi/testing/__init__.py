"""Public test tools: an in-memory server with the real request chain, and property tests of conversions.

These names are promised to authors, like those of ``extapi``.
"""

from __future__ import annotations

from extapi.testing.memory import AllowAll, InMemoryServer, Namespaces, ServerResponse, Stream, serve

__all__ = ["AllowAll", "InMemoryServer", "Namespaces", "ServerResponse", "Stream", "serve"]
