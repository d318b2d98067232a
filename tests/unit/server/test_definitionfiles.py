"""``--crd``: files that are followed while clients are served."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from twisted.internet.task import Clock

from extapi import Api
from extapi.crd.files import DefinitionFiles
from extapi.server.definitionfiles import INTERVAL, DefinitionsError, FollowedFiles
from extapi.server.kindsources import KindSources
from extapi.storage.base import Unavailable
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer
from tests.unit.crd.test_files import named, write

NAMESPACED = "/apis/stable.example.com/v1/namespaces/default"


class Following:
    """A server that follows a folder."""

    def __init__(self, path: Path, *, clock: Clock | None = None, backend: MemoryBackend | None = None) -> None:
        if clock is None:
            clock = Clock()
            clock.advance(1_700_000_000)
        self.files = FollowedFiles(DefinitionFiles([path]), clock)
        self.server = InMemoryServer(
            Api(), clock=clock, backend=backend, builtin=[self.files], checks=[self.files.health], lifecycle=False
        )
        self.files.serve_through(KindSources((), self.server.server.replace, clock))

    def start(self) -> None:
        self.server.start()

    def look(self) -> None:
        """Let time pass until a change is served."""
        self.server.advance(INTERVAL)
        self.server.advance(INTERVAL)

    def resources(self) -> list[str]:
        answer = self.server.request("GET", "/apis/stable.example.com/v1")
        found = [] if answer.status == 404 else answer.json()["resources"]
        return [each["name"] for each in found if "/" not in each["name"]]

    def ready(self) -> str:
        return self.server.request("GET", "/readyz", {"verbose": ""}).body.decode()

    def stop(self) -> None:
        self.files.stop()
        self.server.stop()


@pytest.fixture
def following(tmp_path: Path) -> Iterator[Following]:
    write(tmp_path / "a.yaml", named("apples"))
    made = Following(tmp_path)
    made.start()
    yield made
    made.stop()


def apple(name: str) -> dict[str, object]:
    return {"apiVersion": "stable.example.com/v1", "kind": "Apples", "metadata": {"name": name}}


def test_definitions_come_change_and_go_without_a_restart(following: Following, tmp_path: Path) -> None:
    assert following.resources() == ["apples"]
    watch = following.server.watch(f"{NAMESPACED}/apples")
    write(tmp_path / "b.yaml", named("bananas"))
    following.look()
    assert following.resources() == ["apples", "bananas"]
    following.server.request("POST", f"{NAMESPACED}/apples", body=apple("one"))
    following.server.advance(0.1)
    assert [obj["metadata"]["name"] for _, obj in watch.events] == ["one"]
    (tmp_path / "b.yaml").unlink()
    following.look()
    assert following.resources() == ["apples"]


def test_objects_of_a_kind_that_goes_come_back_with_it(following: Following, tmp_path: Path) -> None:
    following.server.request("POST", f"{NAMESPACED}/apples", body=apple("one"))
    text = (tmp_path / "a.yaml").read_text()
    (tmp_path / "a.yaml").unlink()
    following.look()
    assert following.resources() == []
    assert following.server.request("GET", f"{NAMESPACED}/apples/one").status == 404
    (tmp_path / "a.yaml").write_text(text)
    following.look()
    assert following.server.request("GET", f"{NAMESPACED}/apples/one").status == 200


def test_a_manifest_with_errors_changes_nothing_and_is_told(following: Following, tmp_path: Path) -> None:
    assert "[+]custom-resource-definitions ok\n" in following.ready()
    write(tmp_path / "a.yaml", named("apples", scope="Cluster"))
    write(tmp_path / "b.yaml", named("bananas"))
    following.look()
    assert following.resources() == ["apples", "bananas"]
    assert "[+]custom-resource-definitions ok: 1 problem with manifests of --crd: see the log\n" in following.ready()
    write(tmp_path / "a.yaml", named("apples"))
    following.look()
    assert "[+]custom-resource-definitions ok\n" in following.ready()


def test_a_file_that_is_being_written_is_left_until_it_rests(following: Following, tmp_path: Path) -> None:
    for size in range(3):
        write(tmp_path / "b.yaml", named("bananas"))
        with (tmp_path / "b.yaml").open("a") as file:
            file.write("#" * (size + 1))
        following.server.advance(INTERVAL)
        assert following.resources() == ["apples"]
    following.server.advance(INTERVAL)
    assert following.resources() == ["apples", "bananas"]


def test_a_stored_version_that_goes_is_refused_and_tried_again_with_the_next_change(
    following: Following, tmp_path: Path
) -> None:
    following.server.request("POST", f"{NAMESPACED}/apples", body=apple("one"))
    before = (tmp_path / "a.yaml").read_text()
    versions = [
        {**version, "storage": True} for version in named("apples")["spec"]["versions"] if version["name"] == "v1beta1"
    ]
    write(tmp_path / "a.yaml", named("apples", versions=versions))
    following.look()
    assert "1 problem" in following.ready()
    assert following.server.request("GET", f"{NAMESPACED}/apples/one").status == 200
    (tmp_path / "a.yaml").write_text(before)
    following.look()
    assert "problem" not in following.ready()


def test_a_folder_with_errors_keeps_no_server_from_starting(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", named("apples", scope="Nowhere"))
    write(tmp_path / "b.yaml", named("bananas"))
    following = Following(tmp_path)
    assert following.server.request("GET", "/readyz").status == 500
    following.start()
    try:
        assert following.resources() == ["bananas"]
    finally:
        following.stop()


def test_a_file_with_errors_that_was_named_keeps_the_server_from_starting(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", named("apples", scope="Nowhere"))
    following = Following(path)
    with pytest.raises(
        DefinitionsError, match=r"a\.yaml:\d+: apples\.stable\.example\.com: spec\.scope: Unsupported value"
    ):
        following.start()
    following.stop()


def test_files_that_cannot_be_read_are_told_and_followed(following: Following, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        (tmp_path / "b.yaml").symlink_to(tmp_path / "nowhere")
    else:
        write(tmp_path / "b.yaml", named("bananas")).chmod(0)
    following.look()
    assert following.resources() == ["apples"]


def test_metrics_tell_problems_and_reloads(following: Following, tmp_path: Path) -> None:
    def told() -> dict[str, float]:
        [problems] = [family for family in following.files.families() if family.name == "extapi_definition_problems"]
        [(_, count)] = problems.samples
        assert isinstance(count, int)
        return {"problems": count, **following.files.reloads.counts}

    assert told() == {"problems": 0, "success": 0, "failure": 0}
    good = (tmp_path / "a.yaml").read_text()
    (tmp_path / "a.yaml").write_text("kind: [\n")
    following.look()
    problems = told()
    assert problems.pop("problems") > 0
    assert problems == {"success": 0, "failure": 1}
    (tmp_path / "a.yaml").write_text(good)
    following.look()
    assert told() == {"problems": 0, "success": 1, "failure": 1}
    now = following.server.clock.seconds()
    assert now - 1 <= following.files.reloads.last["success"] <= now
    assert following.files.reloads.last["failure"] < following.files.reloads.last["success"]


@pytest.mark.parametrize(
    ("failure", "attempts"), [(Unavailable("later"), 3), (RuntimeError("never"), 1)], ids=["passing", "lasting"]
)
def test_what_fails_is_tried_again_if_that_may_help(
    following: Following, tmp_path: Path, failure: Exception, attempts: int
) -> None:
    tried: list[Exception] = []

    async def failing(*_: Any) -> None:
        tried.append(failure)
        raise failure

    working = following.files._sources
    following.files.serve_through(KindSources((), failing, following.server.clock))
    write(tmp_path / "b.yaml", named("bananas"))
    following.server.advance(INTERVAL)
    for _ in range(3):
        following.server.advance(INTERVAL)
    assert len(tried) == attempts
    assert working is not None
    following.files.serve_through(working)
    write(tmp_path / "c.yaml", named("cherries"))
    following.look()
    assert following.resources() == ["apples", "bananas", "cherries"]


def test_a_problem_is_told_once(following: Following, tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        write(tmp_path / "a.yaml", named("apples", scope="Cluster"))
        following.look()
        write(tmp_path / "b.yaml", named("bananas"))
        following.look()
    told = [each["problem"] for each in logs if each["log_level"] == "error"]
    assert len(told) == 1
    assert "apples" in told[0]
