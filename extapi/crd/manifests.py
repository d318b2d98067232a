"""Files of manifests: the CustomResourceDefinitions in them, with the lines where things are.

A file is YAML or JSON; it may have several documents, and lists of objects. Objects of other kinds are left out and named.
Reads bytes; must not know files, and not what makes a definition valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from extapi.api.metadata import coerce
from extapi.codec import plainjson, strictyaml
from extapi.codec.body import json_type
from extapi.codec.strictjson import MAX_DEPTH
from extapi.codec.strictyaml import is_merge
from extapi.codec.yamlnodes import AliasNode, ListNode, MapNode, Node, ScalarNode, parse
from extapi.crd.defaults import set_defaults
from extapi.crd.definition import API_GROUP, API_VERSION, KIND
from extapi.crd.gojson import GoTypeError
from extapi.crd.types import read_definition
from extapi.errors import BadRequest

MOST_DOCUMENTS: Final = 10_000
"""Documents and members of lists in a file."""
_SEPARATOR: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_CONTENT: Final = re.compile(rb"^(?:---[ \t]++)?[ \t]*+(?!---|%|#|\r?$)(\S)", re.MULTILINE)
_LINE: Final = re.compile(r"\bline (\d+): ")
_INTERNAL: Final = (
    ("spec.validation", "spec.versions[0].schema"),
    ("spec.subresources", "spec.versions[0].subresources"),
    ("spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"),
    ("spec.selectableFields", "spec.versions[0].selectableFields"),
    ("spec.version", "spec.versions[0].name"),
    ("spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"),
    ("spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"),
    ("spec.schema", "spec.versions[0].schema"),
)
"""Where fields of the form that errors name are in a manifest; see :mod:`extapi.crd.validation.internal`."""


class ManifestError(ValueError):
    """A file, or an object in it, cannot be read. The text has the file, and the line if it is known."""


@dataclass(frozen=True)
class _Document:
    """A part of a file that is one document."""

    data: bytes
    first_line: int
    _nodes: list[Node | None] = field(default_factory=list)

    def node(self) -> Node | None:
        """The document with the lines of all that is in it; None if it is JSON that libyaml does not read."""
        if not self._nodes:
            try:
                self._nodes.append(parse(self.data, MAX_DEPTH))
            except strictyaml.YAMLError:
                self._nodes.append(None)
        return self._nodes[0]


@dataclass(frozen=True)
class Manifest:
    """A definition in a file.

    Attributes:
        obj: The definition: decoded, and with its defaults. Its status is that of one that has just been made.
        name: The file.
        unknown: The paths of fields that definitions do not have, which are not in ``obj``.
        at: The path of the object in its document; empty if it is the document itself.
    """

    obj: dict[str, Any]
    name: str
    unknown: Sequence[str]
    at: str
    _document: _Document

    @property
    def line(self) -> int:
        """The line where it begins."""
        return self._line("")

    def line_of(self, path: str) -> int:
        """The line of a field, or of the nearest one around it that is there.

        Args:
            path: The path, as an error names it: ``spec.versions[0].schema.openAPIV3Schema.properties[spec].type``.
        """
        for internal, written in _INTERNAL:
            rest = path.removeprefix(internal)
            if rest != path and rest[:1] in ("", ".", "["):
                path = written + rest
                break
        return self._line(path)

    def _line(self, path: str) -> int:
        whole = f"{self.at}.{path}" if self.at and path else self.at or path
        if not whole:
            return self._document.first_line + _lines_before(self._document.data)
        node = self._document.node()
        if node is None:
            return self._document.first_line
        return self._document.first_line - 1 + _nearest(node, whole)


@dataclass(frozen=True)
class Contents:
    """What is in a file.

    Attributes:
        manifests: Its definitions.
        others: Of each other object: its line and kind.
        errors: What cannot be read, each as a :class:`ManifestError` says it.
    """

    manifests: Sequence[Manifest]
    others: Sequence[tuple[int, str]]
    errors: Sequence[str]


def read_manifests(data: bytes, name: str) -> list[Manifest]:
    """The definitions in a file.

    Args:
        data: The file's bytes.
        name: What the file is called in errors.

    Raises:
        ManifestError: Something in the file cannot be read.
    """
    contents = read_contents(data, name)
    if contents.errors:
        raise ManifestError("\n".join(contents.errors))
    return list(contents.manifests)


def read_contents(data: bytes, name: str) -> Contents:
    """All that is in a file; see :func:`read_manifests`."""
    manifests: list[Manifest] = []
    others: list[tuple[int, str]] = []
    errors: list[str] = []
    count = 0
    for document in _documents(data):
        try:
            # kubectl merges before it sends
            decoded = plainjson.decode(document.data) or strictyaml.decode(document.data, overriding=False)
        except strictyaml.YAMLError as error:
            errors.append(
                f"{name}:{document.first_line + _wrong_line(document.data)}: {_LINE.sub('', str(error), count=1)}"
            )
            continue
        errors += (_located(text, name, document.first_line) for text in decoded.duplicates)
        for at, obj in _objects(decoded.value):
            count += 1
            if count > MOST_DOCUMENTS:
                errors.append(f"{name}: has more than {MOST_DOCUMENTS} objects")
                return Contents(manifests, others, errors)
            made = Manifest({}, name, (), at, document)
            try:
                kind = _kind(obj)
                if kind == KIND:
                    read, unknown = _decoded(obj)
                    manifests.append(Manifest(read, name, unknown, at, document))
                else:
                    others.append((made.line, kind))
            except (GoTypeError, BadRequest) as error:
                errors.append(f"{name}:{made.line}: {error}")
    return Contents(manifests, others, errors)


def _documents(data: bytes) -> Iterator[_Document]:
    """The documents of a file that are not empty."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    line, start = 1, 0
    ends = [*(match.start() for match in _SEPARATOR.finditer(data)), len(data)]
    for end in ends:
        part = data[start:end]
        if not _is_empty(part):
            yield _Document(part, line)
        line += part.count(b"\n")
        start = end


def _is_empty(part: bytes) -> bool:
    """Whether there is nothing but a separator and comments."""
    lines = part.removeprefix(b"---").splitlines()
    return all(not line.strip() or line.lstrip().startswith(b"#") for line in lines)


def _lines_before(data: bytes) -> int:
    """The lines before the first object of a document: separators, comments, empty ones, directives."""
    found = _CONTENT.search(data)
    return data.count(b"\n", 0, found.start(1)) if found else 0


def _objects(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """The objects of a document, and where they are; lists are taken apart, not lists in lists."""
    if (
        isinstance(value, Mapping)
        and str(value.get("kind", "")).endswith("List")
        and isinstance(value.get("items"), list)
    ):
        yield from ((f"items[{index}]", each) for index, each in enumerate(value["items"]))
    elif value is not None:
        yield at, value


def _kind(obj: Any) -> str:
    """The kind of an object.

    Raises:
        GoTypeError: It is none, or a definition in another version.
    """
    if not isinstance(obj, dict):
        raise GoTypeError(f"must be an object, not {json_type(obj)}")
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        raise GoTypeError("Object 'Kind' is missing")
    if kind == KIND and api_version != API_VERSION:
        if str(api_version).startswith(f"{API_GROUP}/"):
            version = str(api_version).removeprefix(f"{API_GROUP}/")
            raise GoTypeError(f"{KIND} in version {version!r} is not supported; write {API_VERSION}")
        return f"{KIND} of {api_version}"
    return kind


def _decoded(obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A definition as the server reads it, and the paths of its unknown fields.

    Raises:
        GoTypeError: A value has a wrong type.
        BadRequest: One in the metadata has.
    """
    metadata, unknown = coerce(obj.get("metadata") or {})
    read, others = read_definition({**obj, "metadata": metadata})
    read["metadata"] = metadata
    del read["status"]
    set_defaults(read)
    return read, [*others, *unknown]


def _located(text: str, name: str, first_line: int) -> str:
    """A text of the YAML reader with its line in the file."""
    found = _LINE.search(text)
    if found is None:
        return f"{name}:{first_line}: {text}"
    return f"{name}:{first_line + int(found[1]) - 1}: {_LINE.sub('', text, count=1)}"


def _wrong_line(data: bytes) -> int:
    """The line, from 0, where a document stops being YAML; 0 if it is none for another reason."""
    import yaml  # noqa: PLC0415 -- only where something is wrong

    try:
        for _ in yaml.parse(data, Loader=yaml.CSafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        at: int = error.problem_mark.line if error.problem_mark is not None else 0
        return min(at, len(data.splitlines()) - 1)  # not behind the end
    except (yaml.YAMLError, UnicodeDecodeError):
        return 0
    return 0


def _nearest(node: Node, path: str) -> int:
    """The line, from 1, of what a path leads to, as far as it does.

    Keys may have dots and brackets, so that they are looked for one after the other: of several the longest.
    """
    line = node.line
    while path:
        node = _target(node)
        if isinstance(node, ListNode):
            found = re.match(r"\.?\[(\d+)\]", path)
            if found is None or int(found[1]) >= len(node.items):
                return line
            node = node.items[int(found[1])]
            line, path = node.line, path[found.end() :]
            continue
        if not isinstance(node, MapNode):
            return line
        step = _step(node, path)
        if step is None:
            return line
        line, node, path = step
    return line


def _step(node: MapNode, path: str) -> tuple[int, Node, str] | None:
    """The line of the member that a path begins with, its value, and the rest of the path."""
    best: tuple[int, Node, str] | None = None
    longest = -1
    for key, text, value in _members(node):
        for form in (f"[{text}]", f".{text}", text):
            rest = path.removeprefix(form)
            if rest != path and rest[:1] in ("", ".", "[") and len(form) > longest:
                best, longest = (key.line, value, rest), len(form)
                break
            if text.lower() == "jsonpath" and path.removeprefix(".") == "JSONPath":
                return key.line, value, ""
    return best


def _members(node: MapNode) -> Iterator[tuple[Node, str, Node]]:
    """The members of a map with the texts of their keys: its own, then those that it merges; each merged map once."""
    maps, seen = [node], {id(node)}
    for each in maps:
        for key, value in each.pairs:
            name = _target(key)
            if not is_merge(key):
                if isinstance(name, ScalarNode):
                    yield key, name.text, value
                continue
            for source in value.items if isinstance(value, ListNode) else [value]:
                merged = _target(source)
                if isinstance(merged, MapNode) and id(merged) not in seen:
                    seen.add(id(merged))
                    maps.append(merged)


def _target(node: Node) -> Node:
    return node.target if isinstance(node, AliasNode) else node
