"""The recorded measurement, in ``costs.json`` beside this file: unit costs, points, and where they come from."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.scale.model import Measured, UnitCosts

FILE = Path(__file__).with_name("costs.json")


def load(file: Path = FILE) -> tuple[Measured, str]:
    """What was recorded, and on which commit and machine."""
    found = json.loads(file.read_text())
    return Measured(UnitCosts.parse(found["costs"]), found["points"]), found["from"]


def save(measured: Measured, origin: str, file: Path = FILE) -> None:
    """Record it in place of what is there."""
    costs = {name: float(f"{value:.4g}") for name, value in measured.costs.as_dict().items()}
    points = [
        {name: value if isinstance(value, str) else float(f"{value:.4g}") for name, value in point.items()}
        for point in measured.points
    ]
    file.write_text(json.dumps({"from": origin, "costs": costs, "points": points}, indent=1) + "\n")
