"""Mutations, as ``data/*.toml`` has them.

Responsible for reading them, and for what has to hold so that one can be planted. Runs nothing.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).with_name("data")
_MEMBERS = {"name", "module", "why", "old", "new"}


class Mutation(NamedTuple):
    """A fault that a tired engineer could make."""

    package: str
    """The data file that has it, without its ending."""
    name: str
    module: str
    """The file that it changes, from the root of the tree."""
    why: str
    """Why the fault matters, in one line."""
    old: str
    """Text that occurs once in the module."""
    new: str
    tests: tuple[str, ...]
    """The files or node ids that should see it; by default the module's twin."""

    def planted(self, source: str) -> str:
        """The module's source with the fault in it.

        Raises:
            StaleMutation: The old text does not occur exactly once, or the result is the same or no Python.
        """
        found = source.count(self.old)
        if found != 1:
            raise StaleMutation(f"{self.module} has the old text {found} times, and not once")
        changed = source.replace(self.old, self.new)
        try:
            same = ast.dump(ast.parse(changed)) == _dumped(source)
        except SyntaxError as error:
            raise StaleMutation(f"{self.module} is no Python with the new text: {error}") from error
        if same:
            raise StaleMutation(f"{self.module} does the same with the new text")
        return changed


class StaleMutation(Exception):
    """The mutation does not fit the code any more; the text says why."""


@lru_cache(maxsize=1)
def _dumped(source: str) -> str:
    """The syntax of a module; those of one module are asked for one after the other."""
    return ast.dump(ast.parse(source))


def load(data: Path = DATA) -> Iterator[Mutation]:
    """All mutations, in the order of the files' names."""
    for file in sorted(data.glob("*.toml")):
        for each in tomllib.loads(file.read_text())["mutation"]:
            if each.keys() - {"tests"} != _MEMBERS:
                raise ValueError(f"{file.name}: {each.get('name')}: a mutation has {', '.join(sorted(_MEMBERS))}")
            tests = tuple(each.pop("tests", ())) or (twin(each["module"]),)
            yield Mutation(package=file.stem, tests=tests, **each)


def twin(module: str) -> str:
    """The test file of a module's own name."""
    path = Path(module)
    return str(Path("tests/unit", *path.parts[1:-1], f"test_{path.name}"))
