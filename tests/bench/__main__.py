"""Runs the benchmark and prints its table: ``scripts/bench [--peer [--storage etcd] | --grow | --scale | --cel | --crd | --reviews | --ways | --workers | --pythons [PYTHON ...]] [--quick]``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import grow, pythons, reload
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
"""Server CPU microseconds a request that a row must stay under."""


def say(text: str = "") -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure everything once."""
    quick = "--quick" in sys.argv[1:]
    scale = 10 if quick else 1
    with tempfile.TemporaryDirectory() as directory:
        if "--peer" in sys.argv[1:]:
            from tests.bench.peer import command  # noqa: PLC0415 - it needs the real control plane

            _head()
            measure_peers = command.on_etcd if _on_etcd(sys.argv[1:]) else command.main
            measure_peers(say, Path(directory), quick=quick)
            return
        if "--grow" in sys.argv[1:]:
            _head()
            grow.main(say, Path(directory), quick=quick)
            return
        if "--scale" in sys.argv[1:]:
            from tests.bench.scale import __main__ as scaling  # noqa: PLC0415 - it needs a real etcd

            scaling.main(say, Path(directory), f"commit {_commit()}, {_machine()}, {os.cpu_count()} cores", quick=quick)
            return
        if "--cel" in sys.argv[1:]:
            from tests.bench import cel  # noqa: PLC0415 - it needs a compiler of Go

            _head()
            cel.main(say, quick=quick)
            return
        if "--reviews" in sys.argv[1:]:
            from tests.bench import reviews  # noqa: PLC0415 - it needs the real control plane

            _head()
            reviews.main(say, Path(directory), quick=quick)
            return
        if "--crd" in sys.argv[1:]:
            from tests.bench import crd  # noqa: PLC0415 - it starts a control plane

            _head()
            crd.main(say, Path(directory), quick=quick)
            return
        if "--ways" in sys.argv[1:]:
            from tests.bench import twoways  # noqa: PLC0415 - it needs the real control plane

            _head()
            twoways.main(say, Path(directory), quick=quick)
            return
        if "--workers" in sys.argv[1:]:
            from tests.bench import workers  # noqa: PLC0415 - it needs a compiler of Go

            _head()
            workers.main(say, Path(directory), quick=quick)
            return
        if "--pythons" in sys.argv[1:]:
            paths = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
            pythons.main(say, Path(directory), paths, quick=quick)
            return
        server = Server(Path(directory))
        try:
            idle = server.rss()
            results = list(_measure(server, scale))
            loaded = server.rss()
        finally:
            server.stop()
        beside = measure(Path(directory) / "dev")
        reloaded = reload.measure(Path(directory) / "reload")
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


def _head() -> None:
    say(
        f"commit {_commit()}, {platform.python_implementation()} {platform.python_version()} ({_build()}), {_machine()}"
    )
    say()


def _report(results: list[Result], idle: float, loaded: float, started: float) -> None:
    _head()
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


def _commit() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _build() -> str:
    """How the interpreter was configured: without optimisations it costs a quarter more."""
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return f"configured {'with' if '--enable-optimizations' in arguments else 'without'} --enable-optimizations"


def _machine() -> str:
    return next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )


if __name__ == "__main__":
    main()
