"""What goes wrong, and when: drawn from a seed, so that a run can be repeated. The schedule is pure; :class:`Chaos` does it."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from tests.ha.clients import Load
from tests.ha.cluster import Installation
from tests.ha.stores import Store
from tests.waiting import until


def _any(_: Store) -> bool:
    return True


def _etcd(store: Store) -> bool:
    return bool(store.members)


def _members(store: Store) -> bool:
    return len(store.members) > 1


def _workers(store: Store) -> bool:
    return store.workers > 1


def _hub(store: Store) -> bool:
    return store.hub


def _users(store: Store) -> bool:
    return store.users


KINDS: dict[str, Callable[[Store], bool]] = {
    "kill the leader": _members,
    "kill a member": _etcd,
    "pause the leader": _members,
    "pause a member": _etcd,
    "slow disk": _any,
    "cut the leader off": _members,
    "member hears, is not heard": _members,
    "leader is heard, hears nothing": _members,
    "replica loses a member": _etcd,
    "replica hears nothing": _etcd,
    "no quorum": _members,
    "compact": _etcd,
    "kill a replica": _any,
    "pause a replica": _any,
    "restart all replicas": _any,
    "clock goes ahead": _any,
    "clock goes back": _any,
    "users change": _users,
    "kill a worker": _workers,
    "pause a worker": _workers,
    "kill the hub": _hub,
    "pause the hub": _hub,
}
"""What can go wrong, and with which stores."""
_BURST, _BREATH = 0.25, 0.15
"""A slow disk: who writes to it stands still and goes on in turns, so many seconds each. etcd has one thread for its log, and what
waits for a slow disk waits for that."""
_JUMP = 3600.0
_PATIENCE = 60.0


class Fault(NamedTuple):
    """One of :data:`KINDS`; ``turn`` chooses whom it meets; it lasts ``seconds``, and all is well for ``calm`` after it.

    ``compact``: whether history is compacted in its middle, so that those who are away find it gone.
    """

    kind: str
    turn: int
    seconds: float
    calm: float
    compact: bool


def kinds(store: Store) -> Sequence[str]:
    """Those of :data:`KINDS` that can happen to a store."""
    return [kind for kind, happens in KINDS.items() if happens(store)]


def schedule(seed: int, longest: float, store: Store) -> Iterator[Fault]:
    """Faults without end: each kind once, in an order that is drawn, then all of them again."""
    dice = Random(seed)  # noqa: S311 - a seed is what it is for
    while True:
        possible = kinds(store)
        for kind in dice.sample(possible, len(possible)):
            seconds = longest * dice.uniform(0.4, 1)
            yield Fault(kind, dice.randrange(3), seconds, dice.uniform(0.3, 1.5), dice.random() < 0.3)


class Chaos:
    """Lets faults happen.

    Args:
        here: To whom.
        load: The clients: faults end early when they stop, and some of them are sent away.
        say: Told what happens.
        ready: Waits until a replica is ready; told its name.
    """

    def __init__(
        self, here: Installation, load: Load, say: Callable[[str], None], ready: Callable[[str], None]
    ) -> None:
        self._here = here
        self._load = load
        self._stop = load.stopping
        self._say = say
        self._ready = ready
        self._moved = dict.fromkeys(here.replicas, 0.0)
        self._users = itertools.count()

    def happen(self, fault: Fault) -> None:
        """One fault, from its begin to its end."""
        here, kind = self._here, fault.kind
        replica = _turn(here.store.replicas, fault.turn)
        met = _turn(here.store.members, fault.turn) if here.store.members else replica
        if "leader" in kind:
            met = here.leader() or met
        self._say(f"{kind}: {met if 'member' in kind or 'leader' in kind or kind == 'slow disk' else replica}")
        others = [name for name in here.members if name != met]
        self._begin(fault, met, others, replica)
        if kind == "slow disk":
            self._stutter(met, fault.seconds)
        else:
            self._stop.wait(fault.seconds / 2)
            if fault.compact or kind == "compact":
                here.log.compact()
            self._stop.wait(fault.seconds / 2)
        here.heal()
        self._stop.wait(fault.calm)

    def _begin(self, fault: Fault, met: str, others: Sequence[str], replica: str) -> None:
        here, kind = self._here, fault.kind
        net = here.network
        if kind in ("kill the leader", "kill a member"):
            here.members[met].end(signal.SIGKILL)
        elif kind in ("pause the leader", "pause a member"):
            here.members[met].send(signal.SIGSTOP)
        elif kind == "no quorum":
            for name in others:
                here.members[name].send(signal.SIGSTOP)
        elif kind == "cut the leader off":
            for name in others:
                net.cut(met, name)
                net.cut(name, met)
        elif kind == "member hears, is not heard":
            for name in others:
                net.cut(met, name)
        elif kind == "leader is heard, hears nothing":
            for name in others:
                net.cut(name, met)
        elif kind == "replica loses a member":
            net.cut(replica, met)
            net.cut(met, replica)
        elif kind == "replica hears nothing":
            for name in here.members:
                net.cut(name, replica)
        elif kind == "kill a replica":
            here.log.compact()
            here.replicas[replica].end(signal.SIGKILL)
        elif kind == "pause a replica":
            here.replicas[replica].send_all(signal.SIGSTOP)
        elif kind == "restart all replicas":
            self._roll()
        elif kind == "users change":
            here.change_users(f"somebody-{next(self._users)}")
        elif kind in ("kill a worker", "pause a worker", "kill the hub", "pause the hub"):
            name = "extapi hub" if "hub" in kind else f"extapi worker {fault.turn % here.store.workers}"
            here.replicas[replica].send_child(name, signal.SIGKILL if "kill" in kind else signal.SIGSTOP)
        elif kind in ("clock goes ahead", "clock goes back"):
            self._moved[replica] += _JUMP if kind == "clock goes ahead" else -_JUMP
            here.clock(replica).write_text(str(self._moved[replica]))

    def _roll(self) -> None:
        """One after another, as a Deployment does. Who is away meanwhile finds all of history gone."""
        seen = self._load.send_away()
        until(lambda: self._here.log.pull() and self._here.log.position > seen, _PATIENCE)
        for name in self._here.replicas:
            self._ready(name)  # a fault before may have killed it: what is still loading ends by SIGTERM itself
            # What is started has no history before this.
            self._here.log.compact()
            status = self._here.replicas[name].end(signal.SIGTERM)
            assert status == 0, f"{name} ended with {status}: {self._here.replicas[name].log}"
            self._here.replicas[name].start()
            self._ready(name)
        self._load.away.clear()

    def _stutter(self, met: str, seconds: float) -> None:
        """Whoever writes to the disk: a member of etcd, or the server itself, or its hub."""
        member = self._here.members.get(met)
        for _ in itertools.repeat(None, round(seconds / (_BURST + _BREATH)) or 1):
            for number, pause in ((signal.SIGSTOP, _BURST), (signal.SIGCONT, _BREATH)):
                if member is not None:
                    member.send(number)
                elif self._here.store.hub:
                    self._here.replicas[met].send_child("extapi hub", number)
                else:
                    self._here.replicas[met].send(number)
                self._stop.wait(pause)


def _turn(names: Sequence[str], turn: int) -> str:
    return names[turn % len(names)]
