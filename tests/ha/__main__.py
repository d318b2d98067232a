"""The checker, for as long as one likes: see :mod:`tests.ha`.

Exits with 1 if something is wrong; with faults of a replica, if one of them is not found.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

from tests.ha.live import PLANTS
from tests.ha.run import Plan, run
from tests.ha.stores import STORES


def main() -> int:
    """Run once for each seed."""
    parser = argparse.ArgumentParser(prog="scripts/checker", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="of load with faults, per seed (default: 60)")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="one run for each (default: 1)")
    parser.add_argument(
        "--pace", type=float, default=0.2, help="seconds between two requests of a client (default: 0.2)"
    )
    parser.add_argument("--longest", type=float, default=3.0, help="seconds of the longest fault (default: 3)")
    parser.add_argument(
        "--plant",
        choices=[*PLANTS, "all"],
        nargs="+",
        default=[""],
        help="one run for each of these faults of one replica, which has to be found",
    )
    parser.add_argument("--store", choices=STORES, default="three-members", help="default: three-members")
    parser.add_argument("--users", action="store_true", help="let etcd have users, whose tokens end within seconds")
    parser.add_argument("--no-faults", action="store_true", help="load alone")
    parser.add_argument("--quiet", action="store_true", help="print only the rows and findings")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was made is removed
    say: Callable[[str], None] = (lambda _: None) if chosen.quiet else lambda text: print(text, flush=True)
    wrong = False
    store = STORES[chosen.store]
    if chosen.users:
        if not store.members:
            parser.error("--users: an SQLite file has none")
        store = dataclasses.replace(store, users=True)
    possible = [name for name, plant in PLANTS.items() if store.members or not plant.etcd]
    for seed, plant in product(chosen.seed, possible if "all" in chosen.plant else chosen.plant):
        directory = Path(tempfile.mkdtemp(prefix="extapi-checker-"))
        plan = Plan(seed, chosen.seconds, chosen.pace, chosen.longest, plant, not chosen.no_faults, store)
        outcome = run(directory, plan, say)
        say(f"{directory}: {dict(sorted(outcome.faults.items()))}\n{dict(sorted(outcome.tally.items()))}")
        if plant:
            broken = Counter(finding.rule for finding in outcome.findings)
            found = bool(PLANTS[plant].rules & broken.keys())
            print(f"| `{plant}` | {seed} | {'found' if found else 'not found'} | {dict(broken)} |", flush=True)
            wrong |= not found
            continue
        print(outcome.row(seed), flush=True)
        for finding in outcome.findings[:20]:
            print(f"{finding.rule}: {finding.text}"[:2000])
        wrong |= bool(outcome.findings)
    return int(wrong)


sys.exit(main())
