"""``extapi dev``: a control plane and an extension server beside it, on loopback, for authors of an API.

A synchronous supervisor of separate processes: it makes certificates, starts what has to run, registers the API and
waits. It is a tool beside the library: only the command line imports it, it knows only the groups and versions of
an API, and it runs no reactor.
"""
