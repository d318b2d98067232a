"""Compile ahead of need: ``python -m tests.kubernetes.customresources``. With ``--run PLANE``, run all tests there.

Prints what each came to and the reason of each that did not pass. PLANE: ``builtin`` or ``kube``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from extapi.dev.failure import DevFailure
from tests.kubernetes.customresources.outcomes import names, run_shards
from tests.kubernetes.customresources.program import build


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command's output


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", choices=("builtin", "kube"))
    parser.add_argument("tests", nargs="*", help="names of tests; by default all")
    arguments = parser.parse_args()
    program = build(_say)
    if not arguments.run:
        print(program)  # noqa: T201 - a command's output
        return
    directory = Path(tempfile.mkdtemp(prefix="customresources-"))
    found = run_shards(program, arguments.run, arguments.tests or names(program), directory, shards=2)
    for name, outcome in sorted(found.items()):
        print(f"{outcome.state} {outcome.seconds:6.1f} {name}")  # noqa: T201 - a command's output
        if outcome.state != "passed":
            print(outcome.output)  # noqa: T201 - a command's output
    states = [outcome.state for outcome in found.values()]
    print({state: states.count(state) for state in sorted(set(states))}, directory)  # noqa: T201 - a command's output


if __name__ == "__main__":
    try:
        main()
    except DevFailure as failure:
        sys.exit(f"error: {failure}")
