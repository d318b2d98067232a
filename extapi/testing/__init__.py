"""Public test tools: an in-memory client through the real chain, and property tests of conversions.

What stands here is a promise to authors, as ``extapi`` itself is.
"""

from __future__ import annotations

from extapi.testing.memory import AllowAll, Answer, InMemoryServer, Namespaces, Stream, serve

__all__ = ["AllowAll", "Answer", "InMemoryServer", "Namespaces", "Stream", "serve"]
