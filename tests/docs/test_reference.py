"""The reference says what the code does: tables are compared row by row, the message shows the rows that are wanted."""

from __future__ import annotations

import re
from dataclasses import fields

import click
import pytest

import extapi
from extapi import errors
from extapi.certs.command import certs
from extapi.crd.command import check, export as export_definitions
from extapi.manifests.command import manifests
from extapi.schema.formats import FORMATS
from extapi.schema.structural import KEYWORDS
from extapi.storetool.command import storage
from extapi.takeover.exportcommand import export
from extapi.takeover.importcommand import import_
from extapi.takeover.migratecommand import migrate
from tests.docs import tables
from tests.docs.samples import ROOT

REFERENCE = ROOT / "docs" / "reference"


def test_the_flags_of_serve() -> None:
    assert tables.rows_of(REFERENCE / "flags.md", "extapi serve MODULE:NAME") == tables.serve_flags()
    assert tables.rows_of(REFERENCE / "flags.md", "extapi webhooks MODULE:NAME") == tables.webhooks_flags()


def test_the_options_of_dev() -> None:
    assert tables.rows_of(REFERENCE / "flags.md", "extapi dev [MODULE:NAME]") == tables.dev_flags()


def test_the_options_of_certs() -> None:
    rows = tables.rows_of(REFERENCE / "flags.md", "extapi certs [show | rotate]")
    assert rows == tables.command_options(certs)
    for command in certs.commands.values():
        assert tables.command_options(command) == [row for row in rows if "`--dir`" in row]


def test_the_options_of_manifests() -> None:
    rows = tables.rows_of(REFERENCE / "flags.md", "extapi manifests MODULE:NAME")
    assert rows == tables.command_options(manifests)


@pytest.mark.parametrize(
    ("heading", "command"), [("extapi crd check PATH", check), ("extapi crd export MODULE:NAME", export_definitions)]
)
def test_the_options_of_crd(heading: str, command: click.Command) -> None:
    assert tables.rows_of(REFERENCE / "flags.md", heading) == tables.command_options(command)


@pytest.mark.parametrize(
    ("heading", "command"),
    [("extapi import", import_), ("extapi export", export), ("extapi migrate RESOURCE.GROUP", migrate)],
)
def test_the_options_of_a_takeover(heading: str, command: click.Command) -> None:
    assert tables.rows_of(REFERENCE / "flags.md", heading) == tables.command_options(command)


def test_the_commands_and_options_of_storage() -> None:
    commands = tables.rows_of(REFERENCE / "flags.md", "extapi storage")
    options = tables.rows_of(REFERENCE / "flags.md", "Options of extapi storage")
    assert [re.findall(r"extapi storage (\w+)", row)[0] for row in commands] == list(storage.commands)
    assert set(options) == {row for command in storage.commands.values() for row in tables.command_options(command)}


def test_the_markers() -> None:
    assert tables.rows_of(REFERENCE / "types.md", "Markers") == tables.marker_rows()


def test_every_keyword_of_a_schema_has_its_place_in_types() -> None:
    rows = tables.rows_of(REFERENCE / "types.md", "What a CustomResourceDefinition can say")
    told = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert sorted(told) == sorted(KEYWORDS)


def test_the_formats() -> None:
    text = (REFERENCE / "types.md").read_text(encoding="utf-8")
    sentence = re.search(
        r"^The formats of strings that are enforced: (.*?), as kube-apiserver", text, re.MULTILINE | re.DOTALL
    )
    assert sentence is not None
    assert {name.replace("-", "") for name in re.findall(r"`([^`]+)`", sentence[1])} == FORMATS.keys()


def test_the_promise_has_every_name_once() -> None:
    text = (REFERENCE / "promise.md").read_text(encoding="utf-8")
    text = re.sub(r"^### Review\n.*?(?=^## )", "", text, flags=re.MULTILINE | re.DOTALL)
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    sentence = re.search(r"^The markers (.*?)\sare described", text, re.MULTILINE | re.DOTALL)
    assert sentence is not None
    assert sorted([*listed, *re.findall(r"`(\w+)`", sentence[1])]) == sorted(extapi.__all__)


def test_the_promise_names_what_a_review_has() -> None:
    told = [
        word.split("(")[0]
        for row in tables.rows_of(REFERENCE / "promise.md", "Review")
        for word in re.findall(r"`([^`]+)`", row.split("|")[1])
    ]
    missing = [word for word in told if not hasattr(extapi.Review, word)]
    # Fields of a dataclass without a default are no attributes of the class.
    assert set(missing) <= set(extapi.Review.__dataclass_fields__)
    assert set(extapi.Review.__dataclass_fields__) - set(told) == {
        "converter",
        "obj",
        "old",
        "old_version",
        "checked_converter",
        "annotated",
        "audit_annotations",
        "plugin",
        "warned",
        "warnings",
        # for the plugins that are built in
        "path_version",
        "versions",
        "name_is_generated",
        "of_collection",
        "deadline",
        "reinvocation",
    }


@pytest.mark.parametrize(
    ("heading", "declared", "first"),
    [("Kinds", extapi.Kind, "name"), ("Versions", extapi.Version, "type"), ("Subresources", extapi.Subresource, "")],
)
def test_the_members(heading: str, declared: type, first: str) -> None:
    rows = tables.rows_of(REFERENCE / "types.md", heading)
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(told) == sorted(member.name for member in fields(declared) if member.name != first)


def test_the_methods_of_a_strategy() -> None:
    told = [cell.split("(")[0] for cell in tables.first_cells(tables.rows_of(REFERENCE / "types.md", "Strategies"))]
    assert told == [name for name in vars(extapi.Strategy) if not name.startswith("_")]


def test_the_errors() -> None:
    told = {}
    for row in tables.rows_of(REFERENCE / "errors.md", "Errors"):
        code, reason, name = (cell.strip().strip("`") for cell in row.split("|")[1:4])
        told[name] = (int(code), "" if reason == "(empty)" else reason)
    classes = {name: getattr(errors, name) for name in errors.__all__}
    subclasses = {
        name: (each.code, each.reason)
        for name, each in classes.items()
        if isinstance(each, type) and issubclass(each, errors.ApiError) and each is not errors.ApiError
    }
    assert told == subclasses


def test_the_field_errors() -> None:
    for row in tables.rows_of(REFERENCE / "errors.md", "Field errors"):
        call, text, reason = (cell.strip().strip("`") for cell in row.split("|")[1:4])
        method, parameters = re.fullmatch(r"FieldError\.(\w+)\((.*)\)", call).groups()  # type: ignore[union-attr]  # else the table is wrong
        values = {"path": "spec.x", "detail": "why", "value": "v", "supported": ["a"], "limit": 1, "actual": 2}
        error = getattr(extapi.FieldError, method)(*(values[name] for name in parameters.split(", ")))
        assert (error.type.label, error.type.reason) == (text, reason)
