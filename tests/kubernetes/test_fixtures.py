"""Which control planes a test is run on, and the table of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.fixtures import matrix, planes, scope
from tests.kubernetes.second import APISERVICES, SecondServer


def names(*needs: str) -> list[tuple[str, bool]]:
    """The control planes of a test, and whether it is then marked ``kubernetes``."""
    found: list[Any] = planes([pytest.mark.needs(*needs).mark] if needs else [])
    return [(each.id, any(mark.name == "kubernetes" for mark in each.marks)) for each in found]


def test_a_test_runs_on_every_control_plane_that_has_what_it_needs() -> None:
    assert names() == [("builtin", False), ("kube", True)]
    assert names("quota") == names("crd", "quota") == [("kube", True)]
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


def test_a_second_server_takes_over_no_group_that_another_serves(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path
) -> None:
    """The tests of the other would fail, or not, depending on the order of all tests."""
    version = "v1beta1.restaurant.programming-kubernetes.info"
    registered = control_plane.client.request("GET", f"{APISERVICES}/{version}")
    server = SecondServer(control_plane, "extapi.pizza:api", tmp_path, "memory:")
    with pytest.raises(AssertionError, match=r"is registered already"):
        server.register()
    server.unregister()
    assert control_plane.client.request("GET", f"{APISERVICES}/{version}") == registered
