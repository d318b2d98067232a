"""The long form: ``python -m tests.attack.machine --steps 200000 --kills 50``; half of the steps in memory, half in processes.

Prints a table; exit status 1: something was wrong, and is shown.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from tests.attack.machine.killing import in_memory, in_processes
from tests.attack.table import exit_status, table


def main(arguments: list[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.machine", description=__doc__)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument(
        "--shrink", action="store_true", help="make the plan that fails in memory as simple as it can be"
    )
    options = parser.parse_args(arguments)
    rows: list[tuple[str, object]] = [("seed", options.seed)]
    found: list[str] = []
    try:
        for title in ("memory", "processes"):
            begun = time.monotonic()
            if title == "memory":
                report = in_memory(options.steps // 2, options.seed, shrink=options.shrink)
            else:
                report = in_processes(options.steps - options.steps // 2, options.kills, options.seed)
                rows += [("SIGKILL", report.kills), ("SIGTERM", report.restarts)]
            rows.append((f"{title}: seconds", round(time.monotonic() - begun)))
            counts: Counter[str] = report.counts
            rows += [(f"{title}: {name}", count) for name, count in sorted(counts.items())]
    except AssertionError as error:
        found.append(str(error))
    table("state machine", rows)
    return exit_status(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
