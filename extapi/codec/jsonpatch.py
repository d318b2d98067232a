"""The document that a JSON patch changes: the operations of RFC 6902, with the pointers of RFC 6901 (behaviour E57).

They are as lenient as kube-apiserver's library. Must not know API objects or responses.

Source: ``gopkg.in/evanphx/json-patch.v4``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from extapi.api.jsonvalue import json_copy, json_equal
from extapi.api.strconv import parse_int
from extapi.codec import strictjson
from extapi.errors import go_quote

__all__ = ["PatchFailedError", "PatchedDocument", "TestFailedError"]

MAX_COPIED = 3 * 1024 * 1024
"""Bytes that the ``copy`` operations of a patch may add in total."""
MAX_MOVED = 100_000_000
"""Places by which the operations of a patch may move list items in total: inserting or removing one moves all behind
it."""
MAX_PATH = strictjson.MAX_DEPTH + 1
"""Segments of a pointer."""


class PatchFailedError(Exception):
    """An operation does not apply, or its test fails. The text is that of kube-apiserver's library.

    A client that sends the patch gets a general text; that of a webhook's patch is told.
    """


class TestFailedError(PatchFailedError):
    """The value that an operation tests is another one."""

    __test__ = False  # no test of pytest's


class _MissingPathError(PatchFailedError):
    """There is no container for the last segment of a path."""


_MISSING = "missing value"
_NO_PATH = f"operation missing path field: {_MISSING}"
_NO_FROM = f"operation, missing from field: {_MISSING}"


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
        name = operation.get("op")
        if name == "add":
            path = _path(operation, f"add operation failed to decode path: {_MISSING}")
            self._adds(path, operation.get("value"), "add", f'doc is missing path: "{path}"')
        elif name == "remove":
            path = _path(operation, f"remove operation failed to decode path: {_MISSING}")
            with _worded("remove", f'doc is missing path: "{path}"', f"error in remove for path: '{path}'"):
                self._remove(path)
        elif name == "replace":
            path = _path(operation, f"replace operation failed to decode path: {_NO_PATH}")
            with _worded("replace", f"doc is missing path: {path}", ""):
                self._replace(path, operation.get("value"))
        elif name == "move":
            source = _path(operation, f"move operation failed to decode from: {_NO_FROM}", "from")
            last = _unescaped(source.rpartition("/")[2])
            with _worded("move", f"doc is missing from path: {source}", f"error in move for path: '{last}'"):
                value = self._get(source)
                self._remove(source)
            path = _path(operation, f"move operation failed to decode path: {_NO_PATH}")
            self._adds(path, value, "move", f"doc is missing destination path: {path}")
        elif name == "copy":
            self._copy(operation)
        elif name == "test":
            self._test(operation)
        else:
            raise PatchFailedError(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")

    def _adds(self, path: str, value: Any, name: str, missing: str) -> None:
        with _worded(name, missing, f"error in {name} for path: '{path}'"):
            self._add(path, value)

    def _test(self, operation: dict[str, Any]) -> None:
        path = _path(operation, f"test operation failed to decode path: {_NO_PATH}")
        with _worded("test", f"is missing path: {path}", f"error in test for path: '{path}'"):
            found = self.root if path == "" else self._get(path)
        if not json_equal(found, operation.get("value")):
            raise TestFailedError(f"testing value {path} failed: test failed")

    def check_depth(self) -> None:
        """Refuse a document that is nested too deeply; moves and copies can produce one.

        Raises:
            PatchFailedError: It is deeper than a decoded body may be.
        """
        if strictjson.is_deeper(self.root, strictjson.MAX_DEPTH):
            raise PatchFailedError("the document is nested too deeply")

    def _find(self, path: str) -> tuple[Any, str]:
        """The container of the pointer's last segment, and that segment. Anything before the first ``/`` is dropped."""
        _, *segments = path.split("/", MAX_PATH)
        if not segments or "/" in segments[-1]:
            raise _MissingPathError(path)
        container = self.root
        try:
            for segment in segments[:-1]:
                container = _member(container, _unescaped(segment))
        except PatchFailedError:
            raise _MissingPathError(path) from None
        if not isinstance(container, dict | list):
            raise _MissingPathError(path)
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
            at = _index(key, len(container) + 1, "value was not a proper array index: '{key}': ")
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
            raise PatchFailedError(f"Unable to remove nonexistent key: {key}: {_MISSING}")

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            if not isinstance(value, dict | list):
                raise PatchFailedError("replace operation value must be object or array: %!w(<nil>)")
            self.root = value
            return
        container, key = self._find(path)
        if isinstance(container, list):
            try:
                at = _index(key, len(container))
            except PatchFailedError:
                text = f"replace operation does not apply: doc is missing key: {path}: {_MISSING}"
                raise PatchFailedError(text) from None
            container[at] = value
        else:
            container[key] = value

    def _move(self, places: int) -> None:
        self._moved += places
        if self._moved > MAX_MOVED:
            raise PatchFailedError(f"list items move by more than {MAX_MOVED} places")

    def _copy(self, operation: dict[str, Any]) -> None:
        source = _path(operation, f"copy operation failed to decode from: {_NO_FROM}", "from")
        with _worded("copy", f"doc is missing from path: {source}", f"error in copy for from: '{source}'"):
            value = json_copy(self._get(source))
        path = _path(operation, f"copy operation failed to decode path: {_MISSING}")
        with _worded("copy", f"doc is missing destination path: {path}", ""):
            self._find(path)
        self._copied += len(strictjson.encode(value))
        if self._copied > MAX_COPIED:
            raise PatchFailedError(
                f"Unable to complete the copy, the accumulated size increase of copy is {self._copied}, "
                f"exceeding the limit {MAX_COPIED}"
            )
        with _worded("copy", "", "error while adding value during copy"):
            self._add(path, value)


def _path(operation: dict[str, Any], missing: str, name: str = "path") -> str:
    """A path of an operation; ``missing``: what is said if it has none."""
    path = operation.get(name)
    if not isinstance(path, str):
        raise PatchFailedError(missing)
    return path


@contextmanager
def _worded(name: str, missing: str, failed: str) -> Iterator[None]:
    """Says what does not work as kube-apiserver's library does.

    Args:
        name: The name of the operation.
        missing: What is said if a path does not lead anywhere.
        failed: What is said before any other reason; empty: nothing.
    """
    try:
        yield
    except _MissingPathError:
        raise PatchFailedError(f"{name} operation does not apply: {missing}: {_MISSING}") from None
    except PatchFailedError as error:
        raise PatchFailedError(f"{failed}: {error}" if failed else str(error)) from None


def _unescaped(segment: str) -> str:
    return segment.replace("~1", "/").replace("~0", "~") if "~" in segment else segment


def _member(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise PatchFailedError(f"no object or list to find {key!r} in")


def _index(key: str, size: int, prefix: str = "") -> int:
    """An index in a list of ``size`` items; -1 is the last one. ``prefix``: what is said first if it is no number."""
    try:
        index = parse_int(key)
    except ValueError:
        text = f"strconv.Atoi: parsing {go_quote(key)}: invalid syntax"
        raise PatchFailedError(prefix.replace("{key}", key) + text) from None
    if not -size <= index < size:
        raise PatchFailedError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index
