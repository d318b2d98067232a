"""The file that says what a server serves: written whole, read back alike, and kept up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from extapi import Group, Kind, Object, PolicyRule, Version
from extapi.server.servedfile import ServedFile, ServedGroups

EVENTS = PolicyRule.for_events()
MINE = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get"], resource_names=["mine"])
CAR = Kind("Car", storage="v1", versions={name: Version(Object) for name in ("v1beta1", "v1", "v2")})


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "served.json"
    ServedFile(path).update([Group("fleet.example.com", CAR, preferred="v1")], [EVENTS, MINE])
    assert ServedGroups.read(path) == ServedGroups((("fleet.example.com", ("v1", "v2", "v1beta1")),), (EVENTS, MINE))
    assert [each.name for each in tmp_path.iterdir()] == ["served.json"]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with capture_logs() as logs:
        ServedFile(tmp_path / "nowhere" / "served.json").update([Group("fleet.example.com", CAR)], [])
    assert [each["event"] for each in logs] == ["--served-file cannot be written"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"groups": [{}], "needs": []}', '{"groups": [], "needs": [{}]}', "\xff"]
)
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "served.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"."):
        ServedGroups.read(path)
