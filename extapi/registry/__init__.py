"""The resources that verbs act on: stored kinds, on cache and store (behaviour K), and virtual ones."""
