"""The expressions of cel-spec's conformance tests (``cel.dev/expr``, ``tests/simple/testdata``).

What is expected of them is what Kubernetes' environment answers, which lacks protocol buffers and some libraries: the files'
own answers are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.differential.cel import fetching, textproto


@dataclass(frozen=True, slots=True)
class Case:
    """A test of the files."""

    name: str
    """Such as ``macros/exists/list_elem_all_true``."""
    text: str


def cases() -> Iterator[Case]:
    """All tests, in order."""
    for file in sorted((fetching.directory("cel.dev/expr") / "tests" / "simple" / "testdata").glob("*.textproto")):
        yield from _read(file)


def _read(file: Path) -> Iterator[Case]:
    found = textproto.parse(file.read_text(encoding="utf-8"))
    for section in found.get("section", []):
        for test in section.get("test", []):
            name = "/".join((file.stem, section["name"][0].decode(), test["name"][0].decode()))
            yield Case(name, test["expr"][0].decode())
