"""What Kubernetes' own kinds do that custom resources do not: the :class:`~extapi.api.behaviour.Behaviour` of the kinds here.

Protobuf bodies, strategic merge patches and other rules of kube-apiserver's built-in kinds. Must not know which kinds there
are: their types are in :mod:`extapi.controlplane.kinds`.
"""
