"""Whose connections are given up when there are too many: those of nobody in particular, that nothing is asked on.

Otherwise one address could take all of them, for as long as it likes, by asking something now and then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from extapi.listener.connection import Connection
from extapi.listener.network import network

SHARE = 100
"""One of so many connections is given up at a time: a search through all of them costs milliseconds."""


def superfluous(connections: Iterable[Connection], limit: int) -> list[Connection]:
    """Of the network with the most idle connections the oldest ones, unless somebody proved an identity over them.

    That spares kube-apiserver, also where an attacker shares its address: it presents a certificate.
    """
    strangers: defaultdict[str, list[tuple[float, int, Connection]]] = defaultdict(list)
    for number, connection in enumerate(connections):
        since = connection.idle_since
        if since is not None and not connection.peer.authenticated:
            strangers[network(connection.peer.address)].append((since, number, connection))
    most = max(strangers.values(), key=len, default=[])
    return [connection for _, _, connection in sorted(most)[: max(1, limit // SHARE)]]
