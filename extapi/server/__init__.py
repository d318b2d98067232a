"""The server put together: the chain of stages, options, discovery, health, start and stop."""
