"""A store in etcd, which several processes share: an HTTP/2 and gRPC client on Twisted, and the backend on top of it.

:mod:`~extapi.storage.etcd.frames` and :mod:`~extapi.storage.etcd.wire` are pure: bytes in, values out. Only
:mod:`~extapi.storage.etcd.connection` and :mod:`~extapi.storage.etcd.channel` know sockets, and they know no keys.
"""
