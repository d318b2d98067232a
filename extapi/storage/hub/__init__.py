"""One SQLite store for several processes of one server: the hub owns the file and writes it, workers read it themselves.

Commits go from a worker to the hub; changes and answers come back on one stream, so that a worker has a change before the
answer to its commit. The current revision is in memory that all share: a consistent read asks nobody.
"""
