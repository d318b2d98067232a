"""Our client and client-go beside each other while the network fails.

Prints a table; exits with 1 where an informer of ours did not know in time what is there.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from tests.kubernetes.control_plane import LACKS
from tests.network import credentials, scenarios, soak
from tests.network.programs import queues


def main() -> int:
    """By the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.network", description=__doc__)
    chosen = parser.add_subparsers(dest="what", required=True)
    chosen.add_parser("table", help="each fault alone, again and again, for 10 s to 5 minutes")
    soaking = chosen.add_parser("soak", help="faults by chance, on a control plane")
    soaking.add_argument("--minutes", type=float, default=20, help="default: 20")
    soaking.add_argument("--seed", type=int, default=1, help="default: 1")
    soaking.add_argument("--control-plane", choices=LACKS, default="builtin", help="default: builtin")
    given = parser.parse_args()
    # So that what was started ends, too.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    directory = Path(tempfile.mkdtemp(prefix="extapi-network-"))
    if given.what == "table":
        rows = asyncio.run(scenarios.compare((*scenarios.SCENARIOS, *scenarios.LONG), directory))
        print(scenarios.HEAD, *(row.text() for row in rows), sep="\n")
        cases = asyncio.run(credentials.compare(credentials.CASES, directory))
        print(
            credentials.HEAD,
            *(f"| {case.name} | {a.text()} | {b.text()} |" for case, (a, b) in cases.items()),
            sep="\n",
        )
        print(
            "runs of a key while it changes, and after that: ours {}, client-go's {}".format(
                *asyncio.run(queues(directory))
            )
        )
        return 0
    plane, minutes = given.control_plane, given.minutes
    followers = asyncio.run(soak.soak(plane, minutes, given.seed, directory, lambda text: print(text, flush=True)))
    print(soak.HEAD, *(each.row(plane) for each in followers), sep="\n")
    late = [each for each in followers if each.who == "ours" and max(each.delays)[0] > soak.BOUND]
    return int(bool(late))


sys.exit(main())
