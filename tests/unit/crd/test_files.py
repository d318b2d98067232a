"""Definitions in files and folders: what is found, what is kept, what is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from extapi.crd import files as module
from extapi.crd.files import DefinitionFiles, FoundKinds
from extapi.crd.manifests import Manifest, read_manifests
from tests.unit.crd.cron import crontabs


def write(path: Path, *definitions: dict[str, Any]) -> Path:
    path.write_text("---\n".join(yaml.safe_dump(each) for each in definitions))
    return path


def named(plural: str, **spec: Any) -> dict[str, Any]:
    """The definition under another name."""
    found = crontabs(**{"names": {"plural": plural, "kind": plural.capitalize()}, **spec})
    found["metadata"]["name"] = f"{plural}.stable.example.com"
    return found


def names(reading: FoundKinds) -> list[str]:
    return [each.definition.plural for each in reading.kinds]


def test_files_and_folders_are_read_in_the_order_of_the_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    write(folder / "b.yaml", named("bananas"))
    write(folder / "a.yml", named("apples"), named("avocados"))
    (folder / "c.json").write_bytes(b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}')
    (folder / "notes.txt").write_text("not a manifest")
    write(folder / ".hidden.yaml", named("hidden"))
    (folder / "below").mkdir()
    write(folder / "below" / "d.yaml", named("dates"))
    single = write(tmp_path / "single.yaml", named("cherries"))
    reading = DefinitionFiles([single, folder]).read()
    assert names(reading) == ["cherries", "apples", "avocados", "bananas"]
    assert [Path(each.origin.rpartition(":")[0]).name for each in reading.kinds] == [
        "single.yaml",
        "a.yml",
        "a.yml",
        "b.yaml",
    ]
    assert reading.problems == []


def test_what_does_not_change_stays_the_same_kind(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", named("apples"), named("avocados"))
    files = DefinitionFiles([tmp_path])
    before = {each.definition.plural: each.kind for each in files.read().kinds}
    path.write_text(path.read_text().replace("plural: avocados", "plural: avocados  # moved") + "\n---\n")
    write(tmp_path / "b.yaml", named("bananas"))
    after = {each.definition.plural: each.kind for each in files.read().kinds}
    assert (after["apples"], after["avocados"]) == (before["apples"], before["avocados"])
    assert set(after) == {"apples", "avocados", "bananas"}
    write(path, named("apples", scope="Namespaced", names={"plural": "apples", "kind": "Apples", "shortNames": ["ap"]}))
    changed = {each.definition.plural: each.kind for each in files.read().kinds}
    assert set(changed) == {"apples", "bananas"}
    assert changed["apples"] is not before["apples"]
    assert changed["bananas"] is after["bananas"]


def test_files_are_read_once_as_long_as_they_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.yaml", named("apples"))
    files = DefinitionFiles([tmp_path])
    read: list[str] = []

    def reading(data: bytes, name: str) -> list[Manifest]:
        read.append(name)
        return read_manifests(data, name)

    monkeypatch.setattr(module, "read_manifests", reading)
    files.read()
    files.read()
    assert read == [str(tmp_path / "a.yaml")]


def test_an_error_leaves_what_was_read_before(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", named("apples"))
    write(tmp_path / "b.yaml", named("bananas"))
    files = DefinitionFiles([tmp_path])
    before = files.read().kinds[0].kind
    write(path, named("apples", scope="Nowhere"), named("avocados"))
    reading = files.read()
    assert names(reading) == ["apples", "avocados", "bananas"]
    assert reading.kinds[0].kind is before
    (problem,) = [each for each in reading.problems if "Unsupported" in each]
    assert problem.startswith(f"{path}:")
    assert 'apples.stable.example.com: spec.scope: Unsupported value: "Nowhere": supported values: ' in problem
    path.write_text("{")
    reading = files.read()
    assert names(reading) == ["apples", "avocados", "bananas"]
    assert reading.kinds[0].kind is before
    (problem,) = reading.problems
    assert problem.startswith(f"{path}:")
    write(path, named("apples"))
    reading = files.read()
    assert (names(reading), reading.problems) == (["apples", "bananas"], [])
    assert reading.kinds[0].kind is before


def test_a_scope_that_changes_under_stored_objects_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", named("apples"))
    files = DefinitionFiles([path])
    before = files.read().kinds[0].kind
    write(path, named("apples", scope="Cluster"))
    reading = files.read()
    assert reading.kinds[0].kind is before
    assert [each.rpartition(": ")[2] for each in reading.problems] == ["field is immutable"]


def test_of_two_definitions_with_one_name_the_first_counts(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", named("apples"))
    write(tmp_path / "b.yaml", named("bananas"), named("apples"))
    reading = DefinitionFiles([tmp_path]).read()
    assert names(reading) == ["apples", "bananas"]
    (problem,) = reading.problems
    assert problem.startswith(f"{tmp_path / 'b.yaml'}:")
    assert problem.endswith(f"apples.stable.example.com is defined already, in {tmp_path / 'a.yaml'}:1")


def test_files_that_go_take_their_definitions_along(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", named("apples"))
    files = DefinitionFiles([tmp_path])
    seen = files.look()
    files.read()
    path.unlink()
    assert files.look() != seen
    assert files.read() == FoundKinds([], [], [])


def test_a_file_that_was_named_has_to_be_there(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "broken.yaml").write_text("{")
    reading = DefinitionFiles([tmp_path / "missing.yaml", folder]).read()
    assert reading.named_problems == [f"{tmp_path / 'missing.yaml'}: No such file or directory"]
    assert len(reading.problems) == 2


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.yaml", named("apples"))
    write(tmp_path / "b.yaml", named("bananas"))
    monkeypatch.setattr(module, "LARGEST", 10)
    monkeypatch.setattr(module, "MOST_FILES", 1)
    assert DefinitionFiles([tmp_path]).read().problems == [
        f"{tmp_path}: has more than 1 files; the others are not read",
        f"{tmp_path / 'a.yaml'}: is larger than 10 bytes",
    ]


def test_metadata_is_judged_as_that_of_any_object(tmp_path: Path) -> None:
    wrong = named("apples")
    wrong["metadata"]["labels"] = {"a b": "c"}
    path = write(tmp_path / "a.yaml", wrong)
    reading = DefinitionFiles([path]).read()
    assert names(reading) == []
    (problem,) = reading.problems
    assert 'apples.stable.example.com: metadata.labels: Invalid value: "a b": ' in problem


def test_a_version_that_was_stored_stays_until_nothing_is_stored_in_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", named("apples"))
    files = DefinitionFiles([path])
    before = files.read().kinds[0].kind
    beta = [
        {**version, "storage": True} for version in named("apples")["spec"]["versions"] if version["name"] == "v1beta1"
    ]
    write(path, named("apples", versions=beta))
    reading = files.read()
    assert reading.kinds[0].kind is before
    assert "v1 was previously a storage version" in reading.problems[0]
