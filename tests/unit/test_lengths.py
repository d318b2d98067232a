"""No module of ``extapi`` has more lines than a reader keeps in mind: what grows longer has parts with rooms of their own."""

from __future__ import annotations

from pathlib import Path

MOST = 400
ROOT = Path(__file__).parents[2]


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in (ROOT / "extapi").rglob("*.py")}
    assert len(lengths) > 100  # the modules were found
    assert {module: length for module, length in lengths.items() if length > MOST} == {}
