"""What ``--workers 2`` costs beside one process, both on SQLite: CPU of all processes per request, and requests a second.

The load generator runs on the same machine. Where that has two cores, it takes its part of them, and the rates say less than
what two workers could do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.load import PIZZAS, pizza, request, run, seed
from tests.bench.peer.generator import Figures, Generator, Load
from tests.bench.server import Server
from tests.bench.table import table

ROUNDS: Final = 5
"""Each side has so many turns, one after the other, so that a slow minute of the machine meets both. The first warms up."""
SIDES: Final = {"one process": (), "two workers": ("--workers=2", "--connection-requests=0")}
"""The load keeps its connections."""
CPU_BAR, RATE_BAR = 1.15, 1.7
"""By one process: CPU per request at most, and reads a second at least."""


def loads(scale: int) -> dict[str, Load]:
    """What is measured, by the name of the row; none depends on how many objects the rows before have made."""
    get = Load("GET", f"{PIZZAS}/p-7", 16_000 // scale, 16)
    return {
        "GET": get,
        "GET, resourceVersion=0": replace(get, path=f"{get.path}?resourceVersion=0"),
        "LIST of 500": Load("GET", f"{PIZZAS}?limit=500", 1_000 // scale, 8),
        "merge PATCH": Load(
            "PATCH", f"{PIZZAS}/p-{{i}}", 4_000 // scale, 16, body='{"metadata":{"labels":{"batch":"{unique}"}}}'
        ),
    }


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure both sides and print the table."""
    generator, scale = Generator(say), 10 if quick else 1
    found: dict[tuple[str, str], list[Figures]] = {}
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(serving(directory / name.replace(" ", "-"), *flags))
            for name, flags in SIDES.items()
        }
        for turn in range(2 if quick else ROUNDS):
            for name, server in servers.items():
                for row, load in loads(scale).items():
                    figures = generator.run(server.address, load, lambda server=server: {"all": server.cpu()})  # type: ignore[misc]
                    if turn:
                        found.setdefault((row, name), []).append(figures)
    for what, figure, bar in (
        ("CPU us per request", lambda each: each.used["all"] / each.count, f"at most {CPU_BAR}"),
        ("requests/s", lambda each: each.count / each.seconds, f"at least {RATE_BAR} for reads"),
    ):
        columns = [{row: median(map(figure, found[row, name])) for row in loads(1)} for name in SIDES]
        for line in table(f"{what}; bar of the ratio: {bar}", list(SIDES), columns):
            say(line)
        say("")


@contextmanager
def serving(directory: Path, *flags: str) -> Iterator[Server]:
    """A server with these flags and 500 pizzas."""
    directory.mkdir()
    server = Server(directory, flags=flags)
    try:
        seed(server)
        run(
            server,
            "seed",
            lambda n: request("POST", PIZZAS, pizza(f"p-{n}", n)),
            count=500,
            connections=4,
            status=201,
        )
        yield server
    finally:
        server.stop()
