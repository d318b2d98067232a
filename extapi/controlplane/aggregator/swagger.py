"""OpenAPI v2 documents of other servers: checked, kept compressed, cut to group versions, and merged (behaviour D14).

The contents of paths, definitions and parameters stay text throughout: a document of hundreds of groups has tens of megabytes,
and its tree would take ten times as much. Whatever is done, each text is looked through once. Does no I/O.

Source: ``k8s.io/kube-openapi/pkg/aggregator`` FilterSpecByPaths, MergeSpecs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from isal import isal_zlib

from extapi.schema.openapi.protobuf import pieces_v2

_DEFINITION = b'"#/definitions/'
_PARAMETER = b'"#/parameters/'
"""The beginning of references; a name and a quote follow."""
_KINDS = "x-kubernetes-group-version-kind"


class Swagger(msgspec.Struct):
    """The parts of an OpenAPI v2 document that are merged; their contents stay text."""

    paths: dict[str, msgspec.Raw] = {}
    definitions: dict[str, msgspec.Raw] = {}
    parameters: dict[str, msgspec.Raw] = {}


class ServersSwagger:
    """A server's document, which all its APIServices share: compressed, as none of it is needed before clients ask.

    Args:
        body: The document, after :func:`checks`.
        etag: Its ETag.
    """

    __slots__ = ("_packed", "etag")

    def __init__(self, body: bytes, etag: str) -> None:
        self._packed = isal_zlib.compress(body, 1)
        self.etag = etag

    def part(self, group_versions: Collection[str]) -> Swagger:
        """The paths of some group versions, and the definitions and parameters that they use.

        Args:
            group_versions: The paths of their discovery, such as ``/apis/shop.example.com/v1``.
        """
        return part_of(isal_zlib.decompress(self._packed), group_versions)


def checks(body: bytes) -> Iterator[None]:
    """Check that a document is one of OpenAPI v2, and can be written in protobuf: else none that it is merged into could.

    In steps, one per path and definition, as a document of hundreds of groups takes seconds.

    Raises:
        ValueError: It is not, or cannot.
    """
    msgspec.json.decode(body, type=Swagger)
    for _ in pieces_v2(body):
        yield


def part_of(body: bytes, group_versions: Collection[str]) -> Swagger:
    """The paths of some group versions, and the definitions and parameters that they use.

    Args:
        body: The document.
        group_versions: The paths of their discovery, such as ``/apis/shop.example.com/v1``.

    Raises:
        msgspec.DecodeError: The document is not an OpenAPI v2 document.
    """
    whole = msgspec.json.decode(body, type=Swagger)
    paths = {path: raw for path, raw in whole.paths.items() if _group_version(path) in group_versions}
    named = _references(_PARAMETER, paths.values())
    parameters = {name: raw for name, raw in whole.parameters.items() if name in named}
    used: set[str] = set()
    fresh = _references(_DEFINITION, (*paths.values(), *parameters.values()))
    while fresh:
        used |= fresh
        known = [whole.definitions[name] for name in fresh if name in whole.definitions]
        fresh = _references(_DEFINITION, known) - used
    return Swagger(paths, {name: raw for name, raw in whole.definitions.items() if name in used}, parameters)


def merge(into: Swagger, part: Swagger) -> None:
    """Add one server's part. A definition that differs from an existing one of the same name gets another name."""
    definitions = _conflicts(into.definitions, part.definitions)
    parameters = _conflicts(into.parameters, part.parameters)
    renamed = _Renaming(definitions, parameters)
    for name, content in part.definitions.items():
        into.definitions.setdefault(definitions.get(name, name), renamed.text(content))
    for name, content in part.parameters.items():
        into.parameters.setdefault(parameters.get(name, name), renamed.text(content))
    for path, content in part.paths.items():
        into.paths.setdefault(path, renamed.text(content))


class _Renaming:
    """References to definitions and parameters that have other names in the merged document."""

    def __init__(self, definitions: Mapping[str, str], parameters: Mapping[str, str]) -> None:
        self._names = [(to, names) for to, names in ((_DEFINITION, definitions), (_PARAMETER, parameters)) if names]

    def text(self, raw: msgspec.Raw) -> msgspec.Raw:
        """A text with renamed references."""
        if not self._names:
            return raw
        text = bytes(raw)
        for to, names in self._names:
            text = b"".join(_pieces(text, to, names))
        return msgspec.Raw(text)


def _pieces(text: bytes, to: bytes, names: Mapping[str, str]) -> Iterator[bytes]:
    start, *rest = text.split(to)
    yield start
    for each in rest:
        name, quote, after = each.partition(b'"')
        yield from (to, names.get(name.decode(), name.decode()).encode(), quote, after)


def _conflicts(known: Mapping[str, msgspec.Raw], new: Mapping[str, msgspec.Raw]) -> dict[str, str]:
    """New names for items that differ from known items of the same name.

    A known item that another server's was renamed to is taken if it is equal.
    """
    renamed: dict[str, str] = {}
    taken: set[str] = set()
    for name, content in new.items():
        if name not in known or _equal(known[name], content):
            continue
        count = 2
        while (free := f"{name}_v{count}") in known and not _equal(known[free], content):
            count += 1
        while free not in known and (free in taken or free in new):
            count += 1
            free = f"{name}_v{count}"
        renamed[name] = free
        taken.add(free)
    return renamed


def _equal(one: msgspec.Raw, other: msgspec.Raw) -> bool:
    """Whether they are equal but for the kinds that they are for, which differ per server (``deepEqualDefinitionsModuloGVKs``)."""
    return memoryview(one) == memoryview(other) or _content(one) == _content(other)


def _content(raw: msgspec.Raw) -> Any:
    content = msgspec.json.decode(raw)
    return {key: value for key, value in content.items() if key != _KINDS} if isinstance(content, dict) else content


def _references(to: bytes, texts: Iterable[msgspec.Raw]) -> set[str]:
    return {
        each.partition(b'"')[0].decode() for text in texts for each in bytes(text).split(to)[1:] if each[:1] != b'"'
    }


def _group_version(path: str) -> str:
    """The path of the discovery that a path is below of; other than any if it is below none."""
    parts = path.split("/", 5)
    count = 4 if parts[1:2] == ["apis"] else 3
    return "/".join(parts[:count]) if len(parts) > count else ""
