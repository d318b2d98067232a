"""``extapi dev``: a control plane and an extension server beside it, on loopback, for whoever writes an API.

A synchronous supervisor of separate processes: it makes certificates, starts what has to run, registers the API and
waits. It is a tool beside the library: nothing outside the command line may import it, it knows of an API only its
groups and versions, and it runs no reactor.
"""
