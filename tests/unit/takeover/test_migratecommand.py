"""The command line of ``extapi migrate``, and which version of a resource it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from extapi.cli import main
from extapi.client.kube import ResourceName
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.migratecommand import served
from tests.unit.takeover.place import KUBECONFIG
from tests.unit.takeover.tables import cluster, now
from tests.unit.takeover.test_importcommand import run

GROUP = {"preferredVersion": {"version": "v2"}, "versions": [{"version": "v2"}, {"version": "v1"}]}


@pytest.mark.parametrize("word", ["crates", "crates.", ".moving.example.com"])
def test_a_resource_has_a_group(word: str) -> None:
    result = CliRunner().invoke(main, ["migrate", word])
    assert result.exit_code == 2
    assert f"'{word}' is not of the form RESOURCE.GROUP" in result.output


def test_what_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    status, said = run("migrate", "--kubeconfig=kubeconfig", "a.b.c", directory=tmp_path)
    assert status == 1
    assert said.startswith("Error: https://127.0.0.1:1: ")


def of(**versions: list[str]) -> Any:
    """Discovery: in each version crates with these verbs."""
    resources = {
        f"/apis/g.example.com/{version}": {"resources": [{"name": "crates", "verbs": verbs}] if verbs else []}
        for version, verbs in versions.items()
    }
    return cluster({"/apis/g.example.com": GROUP, **resources})


def test_the_preferred_version_that_has_it_is_taken() -> None:
    both = ["get", "list", "patch", "watch"]
    assert now(served(of(v1=both, v2=both), "g.example.com", "crates")) == ResourceName("g.example.com", "v2", "crates")
    assert now(served(of(v1=both, v2=[]), "g.example.com", "crates")).version == "v1"
    with pytest.raises(TakeoverFailure, match=r"crates.g.example.com can be get, list, and not patched"):
        now(served(of(v2=["get", "list"]), "g.example.com", "crates"))
    with pytest.raises(TakeoverFailure, match=r"the cluster serves no crates in the group g.example.com"):
        now(served(of(v1=[], v2=[]), "g.example.com", "crates"))
    with pytest.raises(TakeoverFailure, match="the group x cannot be discovered: 404"):
        now(served(of(), "x", "crates"))
