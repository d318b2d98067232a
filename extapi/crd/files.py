"""Definitions in files and folders, as ``--crd`` names them: which there are now, and what is wrong with others.

A definition that has not changed gives the same kind again, so that its watches go on. One that has errors, in a file that
was changed, leaves what was read before in its place. Asks for the state of files, and waits for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from extapi.api.declaration import DeclarationError
from extapi.api.definition import Kind
from extapi.api.types import Obj
from extapi.crd.checking import errors_of
from extapi.crd.definition import Definition
from extapi.crd.kinds import Converters, kind_of, no_converter
from extapi.crd.manifests import Manifest, ManifestError, read_manifests
from extapi.registry.collecting import uncollected

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""The files of a folder that are read; those of folders in it are not, as with ``kubectl apply -f``."""
LARGEST: Final = 32 * 1024 * 1024
"""Bytes of a file."""
MOST_FILES: Final = 10_000
"""Files of a folder."""

Stamp = tuple[int, int, int]
"""What changes with a file: its inode, its size, its time of modification."""
Stamps = Mapping[Path, Stamp | None]
"""The state of several files; None for one that cannot be read."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundKind:
    """A definition that can be served."""

    definition: Definition
    kind: Kind
    origin: str
    """File and line."""


@dataclass(frozen=True, slots=True)
class FoundKinds:
    """What the files say now."""

    kinds: Sequence[FoundKind]
    problems: Sequence[str]
    """One line each: file and line, then what is wrong. What they are about is not among the kinds as it stands."""
    named_problems: Sequence[str] = ()
    """Those of them in files that were named themselves, and not their folder."""


@dataclass(slots=True)
class _File:
    stamp: Stamp | None
    manifests: Sequence[Manifest] = ()
    problems: Sequence[str] = ()


class DefinitionFiles:
    """The definitions of some files and folders.

    Args:
        paths: The files and folders, in the order in which their definitions win names.
        converters: Makes the converters of definitions with a webhook.
    """

    def __init__(self, paths: Sequence[Path], converters: Converters = no_converter) -> None:
        self._paths = paths
        self._converters = converters
        self._files: dict[Path, _File] = {}
        self._served: dict[str, FoundKind] = {}

    def look(self) -> Stamps:
        """The state of all files."""
        return {path: _stamp(path) for path in self._list()[0]}

    def read(self) -> FoundKinds:
        """Read the files that have changed since the last time, and judge their definitions."""
        with uncollected():
            return self._read()

    def _read(self) -> FoundKinds:
        paths, problems = self._list()
        self._files = {path: self._file(path) for path in paths}
        found: dict[str, FoundKind] = {}
        for path in paths:
            file = self._files[path]
            problems += file.problems
            for manifest in file.manifests:
                origin = f"{path}:{manifest.line}"
                name = str((manifest.obj.get("metadata") or {}).get("name", ""))
                if name in found:
                    problems.append(f"{origin}: {name} is defined already, in {found[name].origin}")
                    continue
                judged = self._judged(path, manifest, name, problems)
                if judged is not None:
                    found[name] = judged
            if file.problems:
                # Whatever was there of a file that cannot be read now is served still.
                kept = {
                    name: each for name, each in self._served.items() if each.origin.rpartition(":")[0] == str(path)
                }
                found = {**kept, **found}
        self._served = found
        named = tuple(f"{path}:" for path in self._paths if not path.is_dir())
        return FoundKinds(list(found.values()), problems, [each for each in problems if each.startswith(named)])

    def _list(self) -> tuple[list[Path], list[str]]:
        """All files, those of a folder in the order of their names, and problems with folders."""
        found: dict[Path, None] = {}
        problems = []
        for path in self._paths:
            if not path.is_dir():
                found[path] = None
                continue
            try:
                inside, problem = files_of(path)
            except OSError as error:
                inside, problem = [known for known in self._files if known.parent == path], f"{path}: {error.strerror}"
            problems += [problem] if problem else []
            found.update(dict.fromkeys(inside))
        return list(found), problems

    def _file(self, path: Path) -> _File:
        """A file as it is now; read anew if it has changed."""
        before = self._files.get(path)
        stamp = _stamp(path)
        if before is not None and before.stamp == stamp and stamp is not None:
            return before
        if stamp is not None and stamp[1] > LARGEST:
            return _File(stamp, problems=[f"{path}: is larger than {LARGEST} bytes"])
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
            manifests = read_manifests(data, str(path))
        except OSError as error:
            return _File(stamp, problems=[f"{path}: {error.strerror}"])
        except ManifestError as error:
            return _File(stamp, problems=str(error).splitlines())
        return _File(stamp, manifests)

    def _judged(self, path: Path, manifest: Manifest, name: str, problems: list[str]) -> FoundKind | None:
        """The kind of a manifest, or what was served of that name before if it has errors."""
        before = self._served.get(name)
        origin = f"{path}:{manifest.line}"
        if before is not None and _same(before.definition.obj, manifest.obj):
            return FoundKind(before.definition, before.kind, origin)
        obj = manifest.obj
        errors = errors_of(obj, None if before is None else before.definition.obj)
        wrong = [f"{path}:{manifest.line_of(error.path)}: {name}: {error.text()}" for error in errors]
        if not wrong:
            definition = Definition(obj)
            try:
                return FoundKind(definition, kind_of(definition, self._converters), origin)
            except DeclarationError as error:
                wrong = [f"{origin}: {name}: {problem}" for problem in error.problems]
        problems += wrong
        return before


def files_of(folder: Path) -> tuple[list[Path], str]:
    """The files of a folder that are read, in the order of their names.

    Args:
        folder: The folder.

    Returns:
        The files, and what is wrong with the folder, if anything.

    Raises:
        OSError: It cannot be read.
    """
    inside = sorted(_manifests(folder))
    if len(inside) > MOST_FILES:
        return inside[:MOST_FILES], f"{folder}: has more than {MOST_FILES} files; the others are not read"
    return inside, ""


def _manifests(folder: Path) -> Iterator[Path]:
    """The files of a folder; hidden ones, as a volume of a ConfigMap has them, are not for readers."""
    for path in folder.iterdir():
        if path.suffix in SUFFIXES and not path.name.startswith(".") and path.is_file():
            yield path


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _same(one: Obj, other: Obj) -> bool:
    """Whether two definitions say the same of their kind. As text: 1 and true are equal to Python."""
    return json.dumps(one["spec"], sort_keys=True) == json.dumps(other.get("spec"), sort_keys=True)
