"""Content negotiation: the format of responses (behaviour C13, C15, F1, G1 to G7).

Responsible for: Accept, ``pretty``, and the transforms (Table, PartialObjectMetadata). Must not know HTTP
beyond these header values, or how a format is written.

Metadata of every kind can be written in protobuf; whole objects only for kinds that say so. For other kinds a clause
that asks for it is skipped. Errors name the media types that would be accepted.

Source: ``k8s.io/apiserver/pkg/endpoints/handlers/negotiation``, ``goautoneg``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeVar

from extapi.api.strconv import only_digits
from extapi.errors import NotAcceptable

__all__ = [
    "ALL_TRANSFORMS",
    "PROTOBUF",
    "SWAGGER_PROTOBUF",
    "DiscoveryFormat",
    "Format",
    "Negotiated",
    "Transform",
    "media_types",
    "negotiate",
    "negotiate_discovery",
    "negotiate_openapi",
    "negotiate_stream",
]

T = TypeVar("T")

Format = Literal["json", "yaml", "protobuf"]

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MEDIA: dict[str, str] = {"json": "application/json", "yaml": "application/yaml", "protobuf": PROTOBUF}
_STREAMS = {"json": "application/json", "protobuf": f"{PROTOBUF};stream=watch"}
_MAX_CLAUSES = 64
"""Clauses of one Accept header that are read: sorting them takes quadratic time."""
_MAX_CACHED = 1024
"""Header values with more characters are not cached."""
_CACHE_SIZE = 256
"""Header values that are cached; real clients send a handful of them."""

_HUMAN_CLIENTS = ("curl", "Wget", "Mozilla/5.0")
_GO_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


@dataclass(frozen=True, slots=True)
class Transform:
    """A kind of meta.k8s.io in place of the object: Table, PartialObjectMetadata or its list, in v1 or v1beta1."""

    kind: str
    version: str

    @property
    def api_version(self) -> str:
        """The apiVersion of the response."""
        return f"meta.k8s.io/{self.version}"


ALL_TRANSFORMS = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The format of a response.

    ``transform`` is None for the object itself; ``pretty`` means JSON indented by two spaces.
    """

    format: Format
    transform: Transform | None = None
    pretty: bool = False

    @property
    def content_type(self) -> str:
        """The Content-Type of the response; it does not mention the transform."""
        return _MEDIA[self.format]

    @property
    def stream_type(self) -> str:
        """The Content-Type of a watch."""
        return _STREAMS[self.format]


@dataclass(frozen=True, slots=True)
class DiscoveryFormat:
    """The format of a discovery document.

    ``version`` is v2 or v2beta1 of apidiscovery.k8s.io, or "" for the legacy documents.
    """

    format: Format
    version: str = ""

    @property
    def content_type(self) -> str:
        """The Content-Type of the response; for aggregated documents it is the whole clause (behaviour C13)."""
        media = _MEDIA[self.format]
        return f"{media};g=apidiscovery.k8s.io;v={self.version};as=APIGroupDiscoveryList" if self.version else media


_SUBTYPES: dict[str, tuple[Format, ...]] = {
    "json": ("json",),
    "yaml": ("yaml",),
    "vnd.kubernetes.protobuf": ("protobuf",),
}
"""The subtypes of ``application`` and their formats."""


@dataclass(frozen=True, slots=True)
class _Clause:
    type: str
    subtype: str
    q: float
    params: dict[str, str]

    def before(self, other: _Clause) -> bool:
        """Whether this clause is preferred to the other. As in goautoneg, this is not a total order."""
        return (
            self.q > other.q
            or (self.type != "*" and other.type == "*")
            or (self.subtype != "*" and other.subtype == "*")
        )

    def formats(self) -> tuple[Format, ...]:
        """The formats of the clause's media type, the preferred one first."""
        if self.type == "application" and self.subtype in _SUBTYPES:
            return _SUBTYPES[self.subtype]
        return ("json", "yaml") if self.subtype == "*" and self.type in ("application", "*") else ()


def negotiate(
    accept: str,
    *,
    pretty: str = "",
    user_agent: str = "",
    transforms: frozenset[str] = ALL_TRANSFORMS,
    protobuf: bool = False,
) -> Negotiated:
    """The format of a response that is not a stream. Clauses that the endpoint cannot serve are skipped.

    Args:
        accept: The Accept header, "" if there is none.
        pretty: The query parameter.
        user_agent: The User-Agent header; people's tools get indented JSON.
        transforms: The transforms that the endpoint can write.
        protobuf: Whether it can write whole objects in protobuf.

    Raises:
        NotAcceptable: No clause can be served.
    """
    found = (_negotiate_cached if len(accept) <= _MAX_CACHED else _negotiate)(accept, transforms, protobuf)
    if found is None:
        raise _not_acceptable(media_types(protobuf=protobuf))
    if found.format == "json" and not found.pretty and _wants_pretty(pretty, user_agent):
        return replace(found, pretty=True)
    return found


def negotiate_stream(accept: str, *, transforms: frozenset[str] = ALL_TRANSFORMS, protobuf: bool = False) -> Negotiated:
    """The format of a watch's events: JSON, never indented, or protobuf. The arguments are those of :func:`negotiate`.

    Raises:
        NotAcceptable: No clause can be served. For YAML, which cannot be streamed, the text is that of behaviour F1.
    """
    found = (_negotiate_cached if len(accept) <= _MAX_CACHED else _negotiate)(accept, transforms, protobuf)
    if found is None:
        raise _not_acceptable(media_types(protobuf=protobuf))
    if found.format == "yaml":
        streamed = ("json", "protobuf") if protobuf else ("json",)
        raise _not_acceptable(f"{_MEDIA[name]};stream=watch" for name in streamed)
    return replace(found, pretty=False) if found.pretty else found


def negotiate_discovery(accept: str) -> DiscoveryFormat:
    """The format of ``/apis``: an aggregated document if a clause asks for one, else the first clause that fits.

    v2beta1 is served beside v2 for kube-apiserver 1.27 to 1.29, which know no other version.

    Raises:
        NotAcceptable: No clause can be served.
    """
    found = (_discovery_cached if len(accept) <= _MAX_CACHED else _discovery)(accept)
    if found is None:
        raise _not_acceptable(media_types(protobuf=True))
    return found


def media_types(*, protobuf: bool) -> tuple[str, ...]:
    """The media types that an endpoint reads and writes."""
    return tuple(media for name, media in _MEDIA.items() if protobuf or name != "protobuf")


def _not_acceptable(accepted: Iterable[str]) -> NotAcceptable:
    return NotAcceptable("only the following media types are accepted: " + ", ".join(accepted))


SWAGGER_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""OpenAPI v2 in protobuf. Clients still ask for it by an older name, with ``@`` in place of a dot."""


def negotiate_openapi(accept: str, *, protobuf: bool = False) -> str:
    """The Content-Type of an OpenAPI document: JSON, or protobuf if there is a ``protobuf`` form.

    Raises:
        NotAcceptable: No clause can be served.

    Source: ``k8s.io/kube-openapi/pkg/handler`` and ``handler3``.
    """
    accepted = (_MEDIA["json"], SWAGGER_PROTOBUF) if protobuf else (_MEDIA["json"],)
    for clause in _clauses(accept or "*/*"):
        if clause.subtype == "*" and clause.type in ("application", "*"):
            return accepted[0]
        name = f"{clause.type}/{clause.subtype.replace('@', '.')}"
        if name in accepted:
            return name
    raise NotAcceptable("only the following media types are accepted: " + ", ".join(accepted))


def _wants_pretty(query: str, user_agent: str) -> bool:
    """Whether to indent (behaviour G7): as the query parameter says, else if a person is likely to read it."""
    return query in _GO_TRUE if query else user_agent.startswith(_HUMAN_CLIENTS)


def _negotiate(accept: str, transforms: frozenset[str], protobuf: bool) -> Negotiated | None:
    if not accept:
        return Negotiated("json")

    def accepted(clause: _Clause, chosen: Format) -> Negotiated | None:
        params = clause.params
        if (
            params.get("stream", "") not in ("", "watch")
            or params.get("sv")
            or (params.get("stream") and chosen == "yaml")
        ):
            return None
        transform = None
        if "as" in params or "g" in params or "v" in params:
            transform = Transform(params.get("as", ""), params.get("v", ""))
            known = transform.kind in transforms and transform.version in ("v1", "v1beta1")
            if not known or params.get("g") != "meta.k8s.io":
                return None
        if chosen == "protobuf" and (not protobuf if transform is None else transform.kind == "Table"):
            return None
        return Negotiated(chosen, transform, pretty=params.get("pretty") == "1" and chosen == "json")

    return _first(accept, accepted)


def _discovery(accept: str) -> DiscoveryFormat | None:
    if not accept:
        return DiscoveryFormat("json")

    def aggregated(clause: _Clause, chosen: Format) -> DiscoveryFormat | None:
        params, version = clause.params, clause.params.get("v", "")
        known = params.get("as") == "APIGroupDiscoveryList" and params.get("g") == "apidiscovery.k8s.io"
        return DiscoveryFormat(chosen, version) if known and version in ("v2", "v2beta1") and chosen != "yaml" else None

    def plain(clause: _Clause, chosen: Format) -> DiscoveryFormat | None:
        return None if clause.params.keys() & {"as", "g", "v"} else DiscoveryFormat(chosen)

    return _first(accept, aggregated) or _first(accept, plain)


def _first(accept: str, accepted: Callable[[_Clause, Format], T | None]) -> T | None:
    """The result for the first clause that is accepted."""
    for clause in _clauses(accept):
        for chosen in clause.formats():
            found = accepted(clause, chosen)
            if found is not None:
                return found
    return None


_negotiate_cached = lru_cache(maxsize=_CACHE_SIZE)(_negotiate)
_discovery_cached = lru_cache(maxsize=_CACHE_SIZE)(_discovery)


def _clauses(accept: str) -> list[_Clause]:
    """The clauses, the preferred ones first. This is Go's insertion sort for short slices: the order is not total."""
    ordered: list[_Clause] = []
    for part in accept.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        clause = _clause(part)
        if clause is not None:
            at = len(ordered)
            while at and clause.before(ordered[at - 1]):
                at -= 1
            ordered.insert(at, clause)
    return ordered


def _clause(part: str) -> _Clause | None:
    media, *rest = part.strip(" ").split(";")
    main, _, sub = (piece.strip(" ") for piece in media.partition("/"))
    if not sub:
        if main != "*":
            return None
        sub = "*"
    if "/" in sub:
        return None
    q = 1.0
    params: dict[str, str] = {}
    for item in rest:
        name, _, value = item.partition("=")
        if not value or "=" in value:
            continue
        name, value = name.strip(" "), value.strip(" ")
        if name == "q":
            q = _weight(value)
        else:
            params[name] = value
    return _Clause(main, sub, q, params)


def _weight(text: str) -> float:
    """The value of ``q``; 0 if it is not a decimal number."""
    whole, _, part = text.partition(".")
    return float(text) if only_digits(whole + part) else 0.0
