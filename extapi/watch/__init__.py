"""The watch cache: the only reader of the store's log, with every object serialized and every change sent to watchers."""
