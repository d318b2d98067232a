"""The tables of the reference that have to agree with the code, as they should be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import click

import extapi
from extapi.api import markers, rule
from extapi.dev.command import dev
from extapi.schema.marking import _FIELDS, _PYTHON, _TYPES
from extapi.server.options import FLAGS
from extapi.webhooks.options import FLAGS as WEBHOOKS

_ANY = "any"


def serve_flags() -> list[str]:
    """A row a flag of ``extapi serve``, in the order of ``--help``."""
    return [_row(f"`--{flag.name}`", _default(flag.default, flag.multiple), flag.help) for flag in FLAGS]


def webhooks_flags() -> list[str]:
    """A row a flag of ``extapi webhooks``."""
    return [_row(f"`--{flag.name}`", _default(flag.default, flag.multiple), flag.help) for flag in WEBHOOKS]


def dev_flags() -> list[str]:
    """A row an option of ``extapi dev``."""
    return command_options(dev)


def command_options(command: click.Command) -> list[str]:
    """A row an option of a click command."""
    rows = []
    for option in command.params:
        if isinstance(option, click.Option):
            # Where the help names a default in words, there is none that click could show.
            told = re.fullmatch(r"(.*?)(?:  \[default: (.*)\])?", option.help or "")
            assert told is not None
            unset = option.default is None or not isinstance(option.default, int | str | Path)  # else click's own mark
            default = told[2] or _default("" if unset else str(option.default), multiple=False)
            rows.append(_row(f"`{option.opts[0]}`", default, told[1]))
    return rows


def marker_rows() -> list[str]:
    """A row a marker of the promise: its name, on what it may stand, what it becomes."""
    rows = []
    for name, value in (vars(markers) | vars(rule)).items():
        if isinstance(value, type) and issubclass(value, markers.Marker) and name in extapi.__all__:
            types = _FIELDS[value][0] if value in _FIELDS else _TYPES.get(value, ())
            text = " ".join((value.__doc__ or "").partition("\n\n")[0].split()).replace("``", "`")
            rows.append(_row(f"`{name}`", ", ".join(f"`{_PYTHON[each]}`" for each in types) or _ANY, text))
    return rows


def rows_of(page: Path, heading: str) -> list[str]:
    """The rows of the first table under a heading, without its head."""
    section = re.split(rf"^#+ {re.escape(heading)}\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", section, re.MULTILINE)
    assert table is not None
    return table[1].splitlines()


def first_cells(rows: Iterable[str]) -> list[str]:
    """What stands in backquotes at the beginning of each row."""
    return [row.split("`")[1] for row in rows]


def _default(value: str, multiple: bool) -> str:
    if not value:
        return "(none)"
    return ", ".join(f"`{part}`" for part in (value.split(",") if multiple else [value]))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
