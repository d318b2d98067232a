"""Judges the definitions in files for a reader: what is wrong, and in which line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from extapi.api.metadata_rules import validate_object_meta
from extapi.api.names import object_name
from extapi.crd.manifests import Contents, Manifest, read_contents
from extapi.crd.validation import validate_create, validate_update, warnings
from extapi.fielderrors import FieldError

_ESTABLISHED = {"type": "Established", "status": "True"}


def errors_of(obj: dict[str, Any], stored: dict[str, Any] | None) -> list[FieldError]:
    """The errors of a definition from a manifest.

    Args:
        obj: It, as :class:`extapi.crd.manifests.Manifest` has it.
        stored: What is served of that name, which then is judged as established: its names and its scope stay as they are.
            None: nothing is.
    """
    of_metadata = validate_object_meta(obj, namespaced=False, name_rule=object_name)
    if stored is None:
        return [*of_metadata, *validate_create(obj)]
    old = {**stored, "status": {**stored["status"], "conditions": [_ESTABLISHED]}}
    kept = old["status"].get("storedVersions") or []
    added = [each for each in obj["status"].get("storedVersions") or [] if each not in kept]
    status = {**old["status"], "storedVersions": [*kept, *added]}
    return [*of_metadata, *validate_update({**obj, "status": status}, old)]


class Check:
    """Judges files one after the other.

    Args:
        old: The names and bytes of the files with what is stored so far; None if everything is new.

    Attributes:
        notes: What is no error: warnings, and what was not judged.
        wrong: Whether anything is wrong so far.
    """

    def __init__(self, old: Iterable[tuple[str, bytes]] | None = None) -> None:
        self.notes: list[str] = []
        self.wrong = False
        self._stored: dict[str, dict[str, Any]] = {}
        self._is_update = old is not None
        self._definitions = self._errors = 0
        for name, data in old or ():
            contents = read_contents(data, name)
            for manifest in contents.manifests:
                self._stored[_name(manifest)] = manifest.obj
            self._note(contents, name)
            self.wrong |= bool(contents.errors)
            self.notes += contents.errors

    def judge(self, name: str, data: bytes) -> Iterator[str]:
        """The errors of a file, one line each.

        Args:
            name: What the file is called.
            data: Its bytes.
        """
        contents = read_contents(data, name)
        self._note(contents, name)
        for line in contents.errors:
            yield self.counted(line)
        for manifest in contents.manifests:
            self._definitions += 1
            for path in manifest.unknown:
                yield self.counted(f'{name}:{manifest.line_of(path)}: unknown field "{path}"')
            for error in self._judged(manifest):
                yield self.counted(f"{name}:{manifest.line_of(error.path)}: {error.text()}")

    def summary(self) -> str:
        """How many there were."""
        definitions = "1 definition" if self._definitions == 1 else f"{self._definitions} definitions"
        errors = "1 error" if self._errors == 1 else f"{self._errors or 'no'} errors"
        return f"{definitions}, {errors}"

    def _judged(self, manifest: Manifest) -> list[FieldError]:
        stored = self._stored.get(_name(manifest))
        self._warn(manifest, stored)
        if stored is None and self._is_update:
            self.notes.append(f"{manifest.name}:{manifest.line}: {_name(manifest)} is new: --old does not have it")
        return errors_of(manifest.obj, stored)

    def _warn(self, manifest: Manifest, stored: dict[str, Any] | None) -> None:
        for text in warnings(manifest.obj, stored):
            self.notes.append(f"{manifest.name}:{manifest.line}: warning: {text}")

    def _note(self, contents: Contents, name: str) -> None:
        for line, kind in contents.others:
            self.notes.append(f"{name}:{line}: {kind} is not checked")

    def counted(self, line: str) -> str:
        """The line of an error, which counts as one.

        Args:
            line: The line.
        """
        self.wrong = True
        self._errors += 1
        return line


def _name(manifest: Manifest) -> str:
    found: str = manifest.obj["metadata"].get("name") or ""
    return found
