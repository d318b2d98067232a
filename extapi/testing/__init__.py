"""Public test tools: an in-memory client through the real chain, and the storage conformance suite."""
