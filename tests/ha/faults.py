"""What goes wrong, and when: drawn from a seed, so that a run can be repeated. The schedule is pure; :class:`Chaos` does it."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from tests.ha.clients import Load
from tests.ha.cluster import MEMBERS, REPLICAS, Installation
from tests.ha.etcdlog import leader
from tests.waiting import until

KINDS = (
    "kill the leader",
    "kill a member",
    "pause the leader",
    "pause a member",
    "slow disk",
    "cut the leader off",
    "member hears, is not heard",
    "leader is heard, hears nothing",
    "replica loses a member",
    "replica hears nothing",
    "no quorum",
    "compact",
    "kill a replica",
    "pause a replica",
    "restart all replicas",
    "clock goes ahead",
    "clock goes back",
)
_BURST, _BREATH = 0.25, 0.15
"""A slow disk: etcd stands still and goes on in turns, so many seconds each. It has one thread for its log, and what waits
for a slow disk waits for that."""
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


def schedule(seed: int, longest: float) -> Iterator[Fault]:
    """Faults without end: each kind once, in an order that is drawn, then all of them again."""
    dice = Random(seed)  # noqa: S311 - a seed is what it is for
    while True:
        for kind in dice.sample(KINDS, len(KINDS)):
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
        self._moved = dict.fromkeys(REPLICAS, 0.0)

    def happen(self, fault: Fault) -> None:
        """One fault, from its begin to its end."""
        here, kind = self._here, fault.kind
        met = MEMBERS[fault.turn]
        if "leader" in kind:
            met = leader({name: here.address(name) for name in MEMBERS}) or met
        replica = REPLICAS[fault.turn]
        self._say(f"{kind}: {met if 'member' in kind or 'leader' in kind or kind == 'slow disk' else replica}")
        others = [name for name in MEMBERS if name != met]
        self._begin(kind, met, others, replica)
        if kind == "slow disk":
            self._stutter(met, fault.seconds)
        else:
            self._stop.wait(fault.seconds / 2)
            if fault.compact or kind == "compact":
                here.log.compact()
            self._stop.wait(fault.seconds / 2)
        here.heal()
        self._stop.wait(fault.calm)

    def _begin(self, kind: str, met: str, others: Sequence[str], replica: str) -> None:
        here = self._here
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
            for name in MEMBERS:
                net.cut(name, replica)
        elif kind == "kill a replica":
            here.log.compact()
            here.replicas[replica].end(signal.SIGKILL)
        elif kind == "pause a replica":
            here.replicas[replica].send(signal.SIGSTOP)
        elif kind == "restart all replicas":
            self._roll()
        elif kind in ("clock goes ahead", "clock goes back"):
            self._moved[replica] += _JUMP if kind == "clock goes ahead" else -_JUMP
            here.clock(replica).write_text(str(self._moved[replica]))

    def _roll(self) -> None:
        """One after another, as a Deployment does. Who is away meanwhile finds all of history gone."""
        seen = self._load.send_away()
        until(lambda: self._here.log.pull() and self._here.log.position > seen, _PATIENCE)
        for name in REPLICAS:
            # What is started has no history before this.
            self._here.log.compact()
            status = self._here.replicas[name].end(signal.SIGTERM)
            assert status == 0, f"{name} ended with {status}: {self._here.replicas[name].log}"
            self._here.replicas[name].start()
            self._ready(name)
        self._load.away.clear()

    def _stutter(self, member: str, seconds: float) -> None:
        program = self._here.members[member]
        for _ in itertools.repeat(None, round(seconds / (_BURST + _BREATH)) or 1):
            program.send(signal.SIGSTOP)
            self._stop.wait(_BURST)
            program.send(signal.SIGCONT)
            self._stop.wait(_BREATH)
