"""Extension servers behind the proxies that Debian has: see ``python -m tests.network.debian --help``."""
