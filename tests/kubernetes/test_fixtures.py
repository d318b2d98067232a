"""Which control planes a test is run on, and the table of the results."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kubernetes.fixtures import matrix, planes, scope


def names(*needs: str) -> list[tuple[str, bool]]:
    """The control planes of a test, and whether it is then marked ``kubernetes``."""
    found: list[Any] = planes([pytest.mark.needs(*needs).mark] if needs else [])
    return [(each.id, any(mark.name == "kubernetes" for mark in each.marks)) for each in found]


def test_a_test_runs_on_every_control_plane_that_has_what_it_needs() -> None:
    assert names() == [("builtin", False), ("kube", True)]
    assert names("gc") == names("crd", "quota") == [("kube", True)]
    with pytest.raises(pytest.UsageError, match="every control plane has configmaps"):
        names("configmaps")


def test_the_table_has_a_row_a_test() -> None:
    table = matrix(
        {
            "tests/b.py::test_two[kube]": "passed",
            "tests/b.py::test_two[builtin]": "failed",
            "tests/a.py::test_one[kube-a-b|c]": "passed",
            "tests/unit/c.py::test_other[x]": "passed",
            "tests/unit/c.py::test_plain": "passed",
        }
    )
    assert table.splitlines() == [
        "| test | builtin | kube |",
        "| --- | --- | --- |",
        "| `tests/a.py::test_one[a-b\\|c]` | - | passed |",
        "| `tests/b.py::test_two` | failed | passed |",
    ]


def test_the_tests_of_a_file_on_one_control_plane_stay_in_one_process() -> None:
    assert scope("tests/a.py::test_one[kube-get status]") == scope("tests/a.py::test_two[kube]") == "tests/a.py[kube]"
    assert scope("tests/a.py::test_one[builtin-[x]]") == "tests/a.py[builtin]"
    assert scope("tests/a.py::test_one[kubectl]") == scope("tests/a.py::TestIt::test_one") == "tests/a.py"
    assert scope("tests/b.py::test_one[kube]") != scope("tests/a.py::test_one[kube]")
