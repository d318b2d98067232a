"""``extapi storage``: backup and restore of stores, copies between them, and what they say of themselves.

``source.py`` reads a store, or a backup, at one revision; ``filling.py`` makes another store hold the same; ``backupfile.py`` is the format
of backups. Must not know kinds: everything here is keys and bytes.
"""
