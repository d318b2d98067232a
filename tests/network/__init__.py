"""Our client and client-go beside each other while the network fails: see ``python -m tests.network --help``."""
