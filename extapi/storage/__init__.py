"""The store: a log of revisions over keys and bytes, in memory or in SQLite. Knows no API types."""
