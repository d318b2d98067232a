"""A network of hosts on this machine: each a network namespace, joined by a bridge, and what can go wrong between them.

Packets from one host to another vanish, without an error to anybody, when the sender is told a hardware address that nobody
has: the bridge carries them to everyone and everyone drops them. That takes no packet filter and no special kernel, and the
other direction goes on. Needs root and iproute2.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.kubernetes.podnetwork import ip

_NETWORKS = ipaddress.ip_network("198.18.0.0/16")
"""For tests of networks (RFC 2544), so that nobody has them; each process takes sixteen addresses by its number."""
_NOBODY = "02:00:00:00:00:01"


@dataclass(frozen=True)
class Host:
    """``namespace``: the name of its network namespace; ``address``: its address on the bridge."""

    name: str
    namespace: str
    address: str

    def command(self, *words: str) -> list[str]:
        """A command line that runs another one on this host, as the same process, which is killed when ours ends."""
        return ["setpriv", "--pdeathsig=KILL", "ip", "netns", "exec", self.namespace, *words]


@dataclass
class Network:
    """``address``: that of this process on the bridge; ``hosts`` by name."""

    address: str
    hosts: dict[str, Host]
    _cuts: set[tuple[str, str]] = field(default_factory=set)

    def cut(self, source: str, target: str) -> None:
        """Let everything that ``source`` sends to ``target`` vanish; what ``target`` sends still arrives."""
        there = ("to", self.hosts[target].address, "lladdr", _NOBODY, "dev", "eth0", "nud", "permanent")
        ip("-n", self.hosts[source].namespace, "neigh", "replace", *there)
        self._cuts.add((source, target))

    def heal(self) -> None:
        """Let everything arrive again."""
        for source, target in self._cuts:
            ip("-n", self.hosts[source].namespace, "neigh", "del", "to", self.hosts[target].address, "dev", "eth0")
        self._cuts.clear()


@contextlib.contextmanager
def network(names: Sequence[str]) -> Iterator[Network]:
    """Made, and removed in the end; processes on the hosts have to be ended before."""
    number = os.getpid()
    bridge = f"xb{number}"
    subnets = _NETWORKS.num_addresses // 16
    first = int(_NETWORKS.network_address) + 16 * (number % subnets)
    ours, *theirs = (str(ipaddress.ip_address(first + offset)) for offset in range(1, len(names) + 2))
    made = Network(ours, {})
    ip("link", "add", bridge, "type", "bridge")
    try:
        ip("address", "add", f"{ours}/28", "dev", bridge)
        ip("link", "set", bridge, "up")
        for position, (name, address) in enumerate(zip(names, theirs, strict=True)):
            host = Host(name, f"extapi-host-{number}-{name}", address)
            ip("netns", "add", host.namespace)
            made.hosts[name] = host
            port = f"x{number}-{position}"
            ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
            ip("link", "set", port, "master", bridge)
            ip("link", "set", port, "up")
            ip("-n", host.namespace, "link", "set", "lo", "up")
            ip("-n", host.namespace, "address", "add", f"{address}/28", "dev", "eth0")
            ip("-n", host.namespace, "link", "set", "eth0", "up")
        yield made
    finally:
        for host in made.hosts.values():
            ip("netns", "delete", host.namespace)  # and its pair of interfaces
        ip("link", "delete", bridge)
