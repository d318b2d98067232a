"""Runs the benchmark and prints its table: ``scripts/bench [--peer [--storage etcd] | --floor | --grow | --scale | --cel | --crd | --reviews | --ways | --workers | --pythons [PYTHON ...]] [--quick]``."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import origin, pythons, reload
from tests.bench.dev import Dev, measure
from tests.bench.load import PIZZAS, Result, applies, pizza, request, run, seed, watch
from tests.bench.server import Server

BARS = {
    "GET": 100.0,
    "LIST of 500": 600.0,
    "CREATE": 500.0,
    "merge PATCH": 500.0,
    "watch delivery, without the PATCH": 15.0,
}
"""Server CPU microseconds per request that a row must stay under."""

PARTS = {
    "--floor": "tests.bench.floor",
    "--grow": "tests.bench.grow",
    "--scale": "tests.bench.scale.__main__",
    "--cel": "tests.bench.cel",
    "--crd": "tests.bench.crd",
    "--reviews": "tests.bench.reviews",
    "--ways": "tests.bench.twoways",
    "--workers": "tests.bench.workers",
}
"""The module of each flag. Imported when it is asked for: most need a compiler of Go, or the real control plane."""


def say(text: str = "") -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure everything once."""
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        for flag, module in PARTS.items():
            if flag in arguments:
                say(origin.heading())
                say()
                importlib.import_module(module).main(say, directory, quick=quick)
                return
        if "--peer" in arguments:
            from tests.bench.peer import command  # noqa: PLC0415 - it needs the real control plane

            say(origin.heading())
            say()
            measure_peers = command.on_etcd if _on_etcd(arguments) else command.main
            measure_peers(say, directory, quick=quick)
            return
        if "--pythons" in arguments:
            paths = [argument for argument in arguments if not argument.startswith("-")]
            pythons.main(say, directory, paths, quick=quick)
            return
        server = Server(directory)
        try:
            idle = server.rss()
            results = list(_measure(server, 10 if quick else 1))
            loaded = server.rss()
        finally:
            server.stop()
        beside = measure(directory / "dev")
        reloaded = reload.measure(directory / "reload")
    _report(results, idle, loaded, server.started)
    _report_dev(beside)
    say(f"| a module changed until it is served, with --reload, s | {reloaded:.2f} | 1 | {reloaded:.2f} |")


def _on_etcd(arguments: list[str]) -> bool:
    """Whether ``--storage etcd`` is among the arguments; no other store can be chosen."""
    if "--storage" not in arguments:
        return False
    if arguments[arguments.index("--storage") + 1 :][:1] != ["etcd"]:
        raise SystemExit("--storage takes etcd")
    return True


def _measure(server: Server, scale: int) -> list[Result]:
    seed(server)

    def create(first: int) -> Callable[[int], bytes]:
        return lambda n: request("POST", PIZZAS, pizza(f"p-{first + n}", n))

    run(server, "seed", create(0), count=500, connections=4, status=201)
    return [
        run(server, "GET", lambda _: request("GET", f"{PIZZAS}/p-7"), count=20_000 // scale, connections=4),
        run(server, "LIST of 500", lambda _: request("GET", PIZZAS), count=1_000 // scale, connections=2),
        run(server, "CREATE", create(500), count=1_000, connections=1, status=201),
        run(server, "CREATE", create(1500), count=3_500, connections=8, status=201),
        run(
            server,
            "merge PATCH",
            lambda n: request(
                "PATCH",
                f"{PIZZAS}/p-{n % 400}",
                {"metadata": {"labels": {"turn": str(n)}}},
                "application/merge-patch+json",
            ),
            count=8_000 // scale,
            connections=8,
        ),
        *applies(server, 4_000 // scale),
        run(server, "LIST of 5,000", lambda _: request("GET", PIZZAS), count=200 // scale, connections=2),
        watch(server, 100, 500 // scale),
        watch(server, 1000, 100 // scale),
    ]


def _report(results: list[Result], idle: float, loaded: float, started: float) -> None:
    say(origin.heading())
    say()
    say("| request | connections | requests/s | p50 ms | p99 ms | server CPU us | bar | of the bar |")
    say("|---|---|---|---|---|---|---|---|")
    for row in results:
        bar = BARS.get(row.name)
        of = f"{bar:.0f} | {row.micros / bar:.2f}" if bar else " | "
        say(
            f"| {row.name} | {row.connections} | {row.rate:,.0f} | {row.percentile(0.5):.2f} | {row.percentile(0.99):.2f} "
            f"| {row.micros:,.1f} | {of} |"
        )
    say()
    say("| process | | bar | of the bar |")
    say("|---|---|---|---|")
    say(f"| RSS idle, MB | {idle:.1f} | 80 | {idle / 80:.2f} |")
    say(f"| RSS with 5,000 objects, after the load, MB | {loaded:.1f} | | |")
    say(f"| start to ready, s | {started:.2f} | 1.5 | {started / 1.5:.2f} |")


def _report_dev(dev: Dev) -> None:
    """``extapi dev``: its two servers together, by PSS, since they share what they have imported."""
    together = sum(each.shared_fairly for each in dev.servers)
    say()
    say("| extapi dev, built-in control plane | | bar | of the bar |")
    say("|---|---|---|---|")
    say(f"| start to ready with an empty DIR, s | {dev.cold:.2f} | 3 | {dev.cold / 3:.2f} |")
    say(f"| start to ready with a used DIR, s | {dev.warm:.2f} | 3 | {dev.warm / 3:.2f} |")
    say(f"| PSS of both servers together, MB | {together:.1f} | 90 | {together / 90:.2f} |")
    say(
        f"| RSS of both servers, shared pages counted twice, MB | {sum(each.resident for each in dev.servers):.1f} | | |"
    )
    say(f"| PSS of the supervisor beside them, MB | {dev.supervisor.shared_fairly:.1f} | | |")


if __name__ == "__main__":
    main()
