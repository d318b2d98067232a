"""A JSON document that the operations of a JSON patch change in place.

Responsible for: RFC 6901 pointers and the six operations of RFC 6902, as lenient as kube-apiserver's library. Must not
know objects of the API or answers to clients.
Source: RFC 6901, RFC 6902, spec E57 with its corrections; ``gopkg.in/evanphx/json-patch.v4``.
"""

from __future__ import annotations

from typing import Any

from extapi.api.strconv import parse_int
from extapi.codec import strictjson

__all__ = ["Document", "PatchFailedError"]

MAX_COPIED = 3 * 1024 * 1024
"""Bytes that all ``copy`` operations of a patch may add."""
MAX_MOVED = 100_000_000
"""Places by which all operations of a patch may move items of lists: each that is put into a list, or taken out, moves those behind it."""
MAX_PATH = strictjson.MAX_DEPTH + 1
"""Segments of a pointer."""


class PatchFailedError(Exception):
    """An operation does not apply, or its test fails. The text is for logs: clients get a general one."""


class Document:
    """``root`` is owned and changed; after a failed operation it is of no use."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied = 0
        self._moved = 0

    def apply(self, operation: dict[str, Any]) -> None:
        """One operation. Raises :class:`PatchFailedError`."""
        kind, path = operation.get("op"), operation.get("path")
        if not isinstance(path, str):
            raise PatchFailedError("an operation needs a path")
        if kind == "add":
            self._add(path, operation.get("value"))
        elif kind == "remove":
            self._remove(path)
        elif kind == "replace":
            self._replace(path, operation.get("value"))
        elif kind == "move":
            source = self._source(operation)
            value = self._get(source)
            self._remove(source)
            self._add(path, value)
        elif kind == "copy":
            self._copy(self._source(operation), path)
        elif kind == "test":
            found = self.root if path == "" else self._get(path)
            if not _equal(found, operation.get("value")):
                raise PatchFailedError(f"testing value {path} failed")
        else:
            raise PatchFailedError(f"unexpected kind: {kind}")

    def check_depth(self) -> None:
        """Refuses a document nested deeper than one that is decoded may be; moving and copying can lead there."""
        if strictjson.is_deeper(self.root, strictjson.MAX_DEPTH):
            raise PatchFailedError("the document is nested too deep")

    @staticmethod
    def _source(operation: dict[str, Any]) -> str:
        source = operation.get("from")
        if not isinstance(source, str):
            raise PatchFailedError("the operation needs a from")
        return source

    def _find(self, path: str) -> tuple[Any, str]:
        """The container that the pointer's last segment is in, and that segment. What precedes the first ``/`` is dropped."""
        _, *segments = path.split("/", MAX_PATH)
        if not segments or "/" in segments[-1]:
            raise PatchFailedError(f"missing path: {path}")
        container = self.root
        for segment in segments[:-1]:
            container = _member(container, _unescaped(segment))
        if not isinstance(container, dict | list):
            raise PatchFailedError(f"missing path: {path}")
        return container, _unescaped(segments[-1])

    def _get(self, path: str) -> Any:
        """The value there; null for a member that is missing."""
        return _member(*self._find(path))

    def _add(self, path: str, value: Any) -> None:
        container, key = self._find(path)
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            at = _index(key, len(container) + 1)
            self._move(len(container) - at)
            container.insert(at, value)

    def _remove(self, path: str) -> None:
        container, key = self._find(path)
        if isinstance(container, list):
            at = _index(key, len(container))
            self._move(len(container) - at)
            del container[at]
        elif key in container:
            del container[key]
        else:
            raise PatchFailedError(f"nothing to remove: {path}")

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            if not isinstance(value, dict | list):
                raise PatchFailedError("the whole can only be an object or a list")
            self.root = value
            return
        container, key = self._find(path)
        if isinstance(container, list):
            container[_index(key, len(container))] = value
        else:
            container[key] = value

    def _move(self, places: int) -> None:
        self._moved += places
        if self._moved > MAX_MOVED:
            raise PatchFailedError(f"items of lists move by more than {MAX_MOVED} places")

    def _copy(self, source: str, path: str) -> None:
        value = strictjson.copy(self._get(source))
        self._copied += len(strictjson.encode(value))
        if self._copied > MAX_COPIED:
            raise PatchFailedError(f"copies add more than {MAX_COPIED} bytes")
        self._add(path, value)


def _unescaped(segment: str) -> str:
    return segment.replace("~1", "/").replace("~0", "~") if "~" in segment else segment


def _member(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise PatchFailedError(f"no object or list to find {key!r} in")


def _index(key: str, size: int) -> int:
    """A place in a list of ``size``; -1 is the last one."""
    try:
        index = parse_int(key)
    except ValueError:
        index = size
    if not -size <= index < size:
        raise PatchFailedError(f"no such index: {key}")
    return index + size if index < 0 else index


def _equal(left: Any, right: Any) -> bool:
    """Equal as JSON: Python's True is 1 and must not be here."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
