"""The modules that an author's API is made of: whether their files have changed, and how they are imported anew.

Only what may have changed is imported again: modules with another file, and those that import them. The others stay, with all
their classes, functions and kinds. If the import fails, all modules are as they were. Must not know servers.
"""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from extapi.api.definition import Api
from extapi.loading.authorscode import AuthorsCode, library
from extapi.loading.imports import dependents, imports_of
from extapi.loading.lines import lines_of
from extapi.loading.module import load_api

MOST_FILES = 5_000
"""Files that are followed; of an author's modules beyond, changes are not noticed."""
_ABSENT = object()

Stamp = tuple[int, int, int] | None
"""What changes with a file: its time, size and number; None: there is no such file."""


class AuthorsModules:
    """The modules of the API at ``target``, which has been loaded."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._code = AuthorsCode.of(target)
        self._root = _root(target)
        self._owned: dict[str, str] = {}
        """The file of each module that has one, or the empty string if it is not the author's, by its ``__file__``."""
        self._imports: dict[str, tuple[Stamp, set[str]]] = {}
        """What modules import, each with the file of which that was read."""
        self._among: Collection[str] = ()
        """The modules among which that was looked for."""
        self._further: frozenset[str] = frozenset()
        """Files and directories that an import which failed looked at; a change there may repair it."""
        self._loaded: dict[str, Stamp] = {}
        """The files of what is imported now."""
        self.look()

    def look(self) -> Mapping[str, Stamp]:
        """The files that are followed, as they are now. If it differs from the last time, try :meth:`import_changed`."""
        for path in sorted({path for path, _ in self._modules().values()} - self._loaded.keys()):
            if len(self._loaded) < MOST_FILES:
                self._loaded[path] = _stamp(path)  # of a module that was imported later
        return {path: _stamp(path) for path in (*self._loaded, *self._further)}

    def import_changed(self) -> Reimport:
        """Import what has changed since it was imported, and what depends on it.

        Returns:
            The new API, and the way back.

        Raises:
            LoadingError: It cannot be loaded; all modules are as before.
        """
        now = self.look()
        modules = self._modules()
        changed = {name for name, (path, _) in modules.items() if now.get(path) != self._loaded.get(path)}
        leaving = self._depending(changed, modules, now)
        undo = _Undo(self._modules, {name: module for name, (_, module) in modules.items() if name in leaving})
        linecache.checkcache()
        try:
            with _from_source():
                api = load_api(self._target)
        except BaseException as error:
            tried = self._tried(error)
            undo()
            self._further = tried
            raise
        self._further = frozenset()
        imported = {path for path, _ in self._modules().values()}
        # Of the time before the import: what has changed meanwhile differs again.
        loaded = {path: now[path] if path in now else _stamp(path) for path in sorted(imported)[:MOST_FILES]}

        def accept() -> None:
            self._loaded = loaded

        return Reimport(api, accept, undo)

    def _depending(
        self, changed: set[str], modules: Mapping[str, tuple[str, ModuleType]], now: Mapping[str, Stamp]
    ) -> set[str]:
        """``changed``, and the modules that depend on one of these."""
        plain = {name: module for name, (_, module) in modules.items()}
        if plain.keys() != self._among:
            self._among, self._imports = plain.keys(), {}
        imports = {}
        for name in modules.keys() - changed:  # what the others import does not matter
            path, module = modules[name]
            known = self._imports.get(name)
            if known is None or known[0] != now.get(path):
                known = self._imports[name] = now.get(path), imports_of(module, _source(path), plain)
            imports[name] = known[1]
        return dependents(changed, imports)

    def _modules(self) -> dict[str, tuple[str, ModuleType]]:
        """The author's modules by name, each with its file."""
        found = {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or name == "__main__" or not isinstance(module, ModuleType):
                continue
            owned = self._owned.get(file)
            if owned is None:
                path = os.path.abspath(file)  # noqa: PTH100 - as it is named
                owned = self._owned[file] = path if path.endswith(".py") and self._owns(path) else ""
            if owned:
                found[name] = (owned, module)
        return found

    def _owns(self, path: str) -> bool:
        below = bool(self._root) and path.startswith(self._root) and library(path) is None
        return below or any(path == own or (own.endswith(os.sep) and path.startswith(own)) for own in self._code.paths)

    def _tried(self, error: BaseException) -> frozenset[str]:
        """The files that a failed import has read, and the directories where it may have missed one."""
        cause = error.__cause__ or error
        files = {path for path, _ in self._modules().values()} | {line.path for line in lines_of(cause)}
        owned = sorted(path for path in files if self._owns(path))[:MOST_FILES]
        return frozenset([*owned, *(str(Path(path).parent) for path in (*owned, *self._loaded))])


class Reimport:
    """An API that has been imported anew, until it is known whether it can be served."""

    def __init__(self, api: Api, accept: Callable[[], None], undo: Callable[[], None]) -> None:
        self.api = api
        self.accept = accept
        """It is served: changes are compared with this from now on."""
        self.undo = undo
        """It cannot be served: have all modules as before."""


class _Undo:
    """Takes modules out of Python's table, and puts them back when it is called."""

    def __init__(
        self, modules: Callable[[], Mapping[str, tuple[str, ModuleType]]], leaving: Mapping[str, ModuleType]
    ) -> None:
        self._modules = modules
        self._before = {name: module for name, (_, module) in modules().items()}
        self._attributes = list(_attributes(leaving))
        for name in leaving:
            del sys.modules[name]

    def __call__(self) -> None:
        for name in self._modules().keys() - self._before.keys():
            new = sys.modules.pop(name)
            package, _, last = name.rpartition(".")
            if package in self._before and vars(self._before[package]).get(last) is new:
                delattr(self._before[package], last)
        sys.modules.update(self._before)
        for parent, name, value in self._attributes:
            if value is _ABSENT:
                vars(parent).pop(name, None)
            else:
                setattr(parent, name, value)


def _attributes(leaving: Iterable[str]) -> Iterator[tuple[ModuleType, str, object]]:
    """What packages that stay have as attributes under the names of these modules."""
    for name in leaving:
        package, _, last = name.rpartition(".")
        parent = sys.modules.get(package)
        if parent is not None:
            yield parent, last, vars(parent).get(last, _ABSENT)


@contextmanager
def _from_source() -> Iterator[None]:
    """Have modules compiled from their source.

    Python takes bytecode for up to date if the source has the same second and size, which does not hold for a file that is
    being worked on.
    """
    prefix, unwritten = sys.pycache_prefix, sys.dont_write_bytecode
    importlib.invalidate_caches()
    sys.pycache_prefix, sys.dont_write_bytecode = os.devnull, True  # below which there is nothing
    try:
        yield
    finally:
        sys.pycache_prefix, sys.dont_write_bytecode = prefix, unwritten


def _root(target: str) -> str:
    """The directory, with a separator at the end, that holds the author's top-level modules; empty if a library is served."""
    top = sys.modules.get(target.partition(":")[0].partition(".")[0])
    places = [Path(each) for each in getattr(top, "__path__", ())] or [Path(getattr(top, "__file__", None) or "/")]
    root = str(places[0].absolute().parent)
    inside = library(str(places[0].absolute() / "x"))
    return "" if inside is not None or root == os.sep else root + os.sep


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116 - of thousands of files, a few times per second
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _source(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return "("  # as if it could not be parsed
