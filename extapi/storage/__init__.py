"""A log of revisions over keys and bytes: memory and SQLite. Knows no API types."""
