"""``scripts/bench --scale [--quick]`` measures, records and prints; ``python -m tests.bench.scale`` prints what was recorded.

``--write`` puts the printed tables into docs/explanation/scale.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import origin
from tests.bench.scale import record, tables


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure, and record it in ``costs.json``.

    Args:
        say: Prints a line.
        directory: An empty one.
        quick: Only the smaller points; nothing is recorded.
    """
    from tests.bench.scale import measure  # noqa: PLC0415 - it needs a real etcd

    where = f"commit {origin.commit()}, {origin.machine()}"
    measured = measure.measure(say, directory, quick=quick)
    if quick:
        with tempfile.TemporaryDirectory() as other:
            record.save(measured, where, Path(other) / "costs.json")
            measured, where = record.load(Path(other) / "costs.json")
    else:
        record.save(measured, where)
        measured, where = record.load()
    for name, text in tables.sections(measured, where).items():
        say(f"<!-- {name} -->")
        say(text)


if __name__ == "__main__":
    found, where = record.load()
    for each, lines in tables.sections(found, where).items():
        sys.stdout.write(f"<!-- {each} -->\n{lines}\n")
    if "--write" in sys.argv[1:]:
        tables.write(tables.sections(found, where))
