"""``extapi serve --workers N``: several processes that serve one API on one port, and one that starts, watches and ends them.

With SQLite, one more process is the hub, which owns the file (:mod:`extapi.storage.hub`).
"""
