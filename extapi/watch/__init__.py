"""The reader of the store's log: every object already encoded, and every change told to its watchers."""
