"""Runs it: ``scripts/bench --peer [--storage etcd] [--quick]``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.bench.peer import report
from tests.bench.peer.generator import Generator, sample_apiserver
from tests.bench.peer.rows import Measurement, Row, middle, store_loads
from tests.bench.peer.sides import Side, Sides
from tests.etcds import http_apart
from tests.kubernetes.control_plane import running

ROUNDS = 3
"""Each side has so many turns, one after the other, so that a slow minute of the machine meets all of them."""
_SETTLE = 4.0
"""Seconds after the start until memory is read."""


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure everything and print the tables; the control plane is compiled first where it is not there."""
    generator, program = Generator(say), sample_apiserver(say)
    scale = 10 if quick else 1
    with running(directory / "kube", "kube", durable=True) as plane:
        sides = Sides(plane, directory)
        ours, sample, custom = sides.ours(), sides.sample(program), sides.custom()
        for side in (ours, sample):
            sides.register(side)
        time.sleep(_SETTLE)
        for side in (ours, sample, custom):
            side.remember_idle()

        def measured(side: Side) -> Measurement:
            return Measurement(generator, side, side.direct, scale=scale)

        def proxied(side: Side) -> Measurement:
            return Measurement(
                generator, side, sides.kube, lambda: Side("", "", sides.kube_processes(), sides.kube).cpu(), scale=scale
            )

        for side in (ours, sample, custom):
            measured(side).seed()
        rounds: dict[str, list[Mapping[str, Row]]] = {}
        for turn in range(1 if quick else ROUNDS):
            say(f"round {turn + 1}")
            for side in (ours, sample, custom):
                rounds.setdefault(side.name, []).append(measured(side).rows())
            for side in (ours, sample):
                sides.register(side)
                rounds.setdefault(f"{side.name}, proxied", []).append(proxied(side).rows())
    found = {name: middle(each) for name, each in rounds.items()}
    straight = {side.name: found[side.name] for side in (ours, sample, custom)}
    through = {side.name: found[f"{side.name}, proxied"] for side in (ours, sample)}
    _print(say, report.direct(*straight.values()))
    _print(say, report.aggregated(*through.values()))
    _print(say, report.times("direct", straight))
    _print(say, report.times("through kube-apiserver", through))
    _print(say, report.memory((ours, sample, custom)))


def on_etcd(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure sample-apiserver and our server, each with an etcd of its own, and print the tables."""
    generator, program = Generator(say), sample_apiserver(say)
    with running(directory / "kube", "kube", durable=True) as plane:
        sides = Sides(plane, directory)
        measured = [
            Measurement(generator, side, side.direct, scale=10 if quick else 1, loads=store_loads)
            for side in (
                sides.on_etcd("sample-apiserver", program=program),
                sides.on_etcd("extapi"),
                sides.on_etcd("extapi over TLS", tls=True),
                sides.on_etcd("extapi over TLS, HTTP apart", tls=True, arguments=[http_apart()]),
            )
        ]
        for each in measured:
            each.seed()
        rounds: dict[str, list[Mapping[str, Row]]] = {}
        for turn in range(1 if quick else ROUNDS):
            say(f"round {turn + 1}")
            for each in measured:
                rounds.setdefault(each.side.name, []).append(each.rows())
    found = {name: middle(each) for name, each in rounds.items()}
    _print(say, report.on_etcd(*found.values()))
    _print(say, report.times("direct", found))


def _print(say: Callable[[str], None], lines: Iterable[str]) -> None:
    say("")
    for line in lines:
        say(line)
