from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from extapi.cli import main
from extapi.crd import files
from tests.differential.definitions.building import Manifest, changed, definition, field

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write manifests to files, and check them: ``run({"a.json": [...]}, "a.json")``."""

    def check(written: dict[str, list[Manifest]], *arguments: str) -> Result:
        for name, manifests in written.items():
            (tmp_path / name).write_text("\n---\n".join(json.dumps(each, indent=1) for each in manifests))
        given = [each if each.startswith("-") else str(tmp_path / each) for each in arguments]
        return CliRunner().invoke(main, ["crd", "check", *given])

    return check


def shown(result: Result, tmp_path: Path) -> list[str]:
    return [line.removeprefix(f"{tmp_path}/") for line in result.stdout.splitlines()]


def test_good_definitions_are_only_counted(run: Run, tmp_path: Path) -> None:
    result = run({"a.json": [definition()]}, "a.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "1 definition, no errors\n")


def test_each_error_has_its_file_and_line(run: Run, tmp_path: Path) -> None:
    bad = changed(field({"type": "text"}), "spec", "bogus", to=1)
    bad["metadata"]["labels"] = {"a b": "c"}
    result = run({"a.json": [definition(), bad], "b.json": [definition(scope="Global")]}, "a.json", "b.json")

    def line(part: str, file: str = "a.json") -> int:
        text = (tmp_path / file).read_text()
        return text[: text.index(part)].count("\n") + 1

    assert result.exit_code == 1
    assert [found.split(": ")[:2] for found in shown(result, tmp_path)] == [
        [f"a.json:{line('bogus')}", 'unknown field "spec.bogus"'],
        [f"a.json:{line('labels')}", "metadata.labels"],
        [f"a.json:{line('text')}", "spec.validation.openAPIV3Schema.properties[spec].properties[f].type"],
        [f"b.json:{line('scope', 'b.json')}", "spec.scope"],
    ]
    assert result.stderr == "3 definitions, 4 errors\n"


def test_what_is_stored_decides_what_may_change(run: Run, tmp_path: Path) -> None:
    old = {"old.json": [definition()]}
    same = run({**old, "a.json": [definition()]}, "--old", "old.json", "a.json")
    assert same.exit_code == 0
    other = run({**old, "a.json": [definition(scope="Cluster")]}, "--old", "old.json", "a.json")
    assert other.exit_code == 1
    assert 'spec.scope: Invalid value: "Cluster": field is immutable' in other.stdout
    new = definition(names={"plural": "others", "kind": "Other"})
    added = run({**old, "a.json": [new]}, "--old", "old.json", "a.json")
    assert added.exit_code == 0
    assert "others.wrong.test is new: --old does not have it" in added.stderr


def test_what_is_no_error_is_told_on_standard_error(run: Run, tmp_path: Path) -> None:
    other = {"apiVersion": "v1", "kind": "Service"}
    result = run({"a.json": [other, field({"type": "string", "format": "color"})]}, "a.json")
    assert (result.exit_code, result.stdout) == (0, "")
    notes = [line.removeprefix(f"{tmp_path}/") for line in result.stderr.splitlines()]
    assert notes[0] == "a.json:1: Service is not checked"
    assert notes[1].endswith(': warning: unrecognized format "color"')


def test_what_cannot_be_read_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: [")
    (tmp_path / "old.yaml").write_text("kind: [")
    assert run({}, "a.yaml").exit_code == 1
    result = run({"b.json": [definition()]}, "--old", "old.yaml", "b.json")
    assert result.exit_code == 1
    assert "old.yaml:1: yaml: " in result.stderr


def test_a_folder_is_read_as_by_the_flag_crd(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    (folder / "below").mkdir(parents=True)
    wrong = [definition(scope="x")]
    for name in ("b.json", "a.yml", ".hidden.yaml", "notes.txt", "below/c.json"):
        run({f"more/{name}": wrong}, "more")
    result = run({"single.json": wrong}, "more", "single.json")
    assert result.exit_code == 1
    assert [line.partition(":")[0] for line in shown(result, tmp_path)] == ["more/a.yml", "more/b.json", "single.json"]
    changed_scope = run({"new.json": [definition(scope="Cluster")]}, "--old", "more", "new.json")
    assert "field is immutable" in changed_scope.stdout


def test_files_of_a_folder_are_bounded(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 1)
    (tmp_path / "more").mkdir()
    result = run({"more/a.json": [definition()], "more/b.json": [definition(scope="x")]}, "more")
    assert result.exit_code == 1
    assert shown(result, tmp_path) == ["more: has more than 1 files; the others are not read"]
    assert result.stderr == "1 definition, 1 error\n"


def test_a_manifest_can_come_from_standard_input() -> None:
    command = [sys.executable, "-m", "extapi", "crd", "check", "-"]
    done = subprocess.run(command, input=json.dumps(definition(scope="x")), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("-:1: spec.scope: Unsupported value")
