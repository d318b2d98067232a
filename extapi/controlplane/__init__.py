"""A local control plane in Python, written with extapi as an author would write an API.

Namespaces, RBAC, reviews, service accounts and the aggregating proxy: what ``kubectl`` and an extension server meet in
kube-apiserver, for development on one machine. No nodes, no pods, no garbage collection, no quota, no custom resources,
no admission webhooks. ``extapi dev`` runs it as a process, ``python -m extapi.controlplane``.
"""
