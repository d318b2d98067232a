"""The document that a JSON patch changes: the operations of RFC 6902, with the pointers of RFC 6901 (behaviour E57).

They are as lenient as kube-apiserver's library. Must not know API objects or responses.

Source: ``gopkg.in/evanphx/json-patch.v4``.
"""

from __future__ import annotations

from typing import Any

from extapi.api.jsonvalue import json_copy, json_equal
from extapi.api.strconv import parse_int
from extapi.codec import strictjson

__all__ = ["PatchFailedError", "PatchedDocument"]

MAX_COPIED = 3 * 1024 * 1024
"""Bytes that the ``copy`` operations of a patch may add in total."""
MAX_MOVED = 100_000_000
"""Places by which the operations of a patch may move list items in total: inserting or removing one moves all behind
it."""
MAX_PATH = strictjson.MAX_DEPTH + 1
"""Segments of a pointer."""


class PatchFailedError(Exception):
    """An operation does not apply, or its test fails. The text is for logs; clients get a general one."""


class PatchedDocument:
    """A document that operations change in place. It owns ``root``, which must not be used after a failed operation."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied = 0
        self._moved = 0

    def apply(self, operation: dict[str, Any]) -> None:
        """Apply one operation.

        Raises:
            PatchFailedError: It does not apply.
        """
        name, path = operation.get("op"), operation.get("path")
        if not isinstance(path, str):
            raise PatchFailedError("an operation needs a path")
        if name == "add":
            self._add(path, operation.get("value"))
        elif name == "remove":
            self._remove(path)
        elif name == "replace":
            self._replace(path, operation.get("value"))
        elif name == "move":
            source = self._source(operation)
            value = self._get(source)
            self._remove(source)
            self._add(path, value)
        elif name == "copy":
            self._copy(self._source(operation), path)
        elif name == "test":
            found = self.root if path == "" else self._get(path)
            if not json_equal(found, operation.get("value")):
                raise PatchFailedError(f"testing value {path} failed")
        else:
            raise PatchFailedError(f"unexpected kind: {name}")

    def check_depth(self) -> None:
        """Refuse a document that is nested too deeply; moves and copies can produce one.

        Raises:
            PatchFailedError: It is deeper than a decoded body may be.
        """
        if strictjson.is_deeper(self.root, strictjson.MAX_DEPTH):
            raise PatchFailedError("the document is nested too deeply")

    @staticmethod
    def _source(operation: dict[str, Any]) -> str:
        source = operation.get("from")
        if not isinstance(source, str):
            raise PatchFailedError("the operation needs a from")
        return source

    def _find(self, path: str) -> tuple[Any, str]:
        """The container of the pointer's last segment, and that segment. Anything before the first ``/`` is dropped."""
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
        """The value at a path; null for a missing member."""
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
                raise PatchFailedError("the document can only be an object or a list")
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
            raise PatchFailedError(f"list items move by more than {MAX_MOVED} places")

    def _copy(self, source: str, path: str) -> None:
        value = json_copy(self._get(source))
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
    """An index in a list of ``size`` items; -1 is the last one."""
    try:
        index = parse_int(key)
    except ValueError:
        index = size
    if not -size <= index < size:
        raise PatchFailedError(f"no such index: {key}")
    return index + size if index < 0 else index
