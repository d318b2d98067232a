"""The long form: ``.venv/bin/python -m tests.attack.oracle --requests 100000``. Exit status 1: something was found."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from twisted.logger import globalLogBeginner

from tests.attack.oracle.engine import Engine, in_memory, over_tls


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.oracle", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--wire", type=float, default=0.1, help="the share that goes over TLS to a real process")
    parser.add_argument("--seed", default="", help="by default a random one, which is printed")
    options = parser.parse_args()
    globalLogBeginner.beginLoggingTo([], redirectStandardIO=False, discardBuffer=True)
    seed = options.seed or secrets.token_hex(4)
    print(f"seed {seed}", flush=True)
    wire = int(options.requests * options.wire)
    failed = False

    def play(engine: Engine, where: str, count: int) -> None:
        nonlocal failed
        began = time.monotonic()
        tally = engine.play(f"{where}/{seed}", count)
        print(f"{where}: {tally.table()} ({time.monotonic() - began:.0f} s)", flush=True)
        for name, number, text in tally.findings[:50]:
            print(f"  {name} {number}: {text}", flush=True)
        failed = failed or bool(tally.findings)

    in_memory(lambda engine: play(engine, "memory", options.requests - wire))
    if wire:
        with tempfile.TemporaryDirectory() as directory:
            over_tls(Path(directory), lambda engine: play(engine, "wire", wire))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
