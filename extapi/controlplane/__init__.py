"""A local control plane in Python, written with extapi as an author would write an API.

For development on one machine. It serves what ``kubectl`` and an extension server use of kube-apiserver: namespaces, RBAC,
reviews, service accounts, custom resources, admission webhooks and policies, garbage collection and the aggregating proxy. It
has no nodes, pods or quota. ``extapi dev`` runs it as a process: ``python -m extapi.controlplane``.
"""
