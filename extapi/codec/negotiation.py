"""Which form a client wants its answer in, and which form its body has.

Responsible for: Accept, Content-Type, ``pretty``, and the transforms (Table, PartialObjectMetadata). Must not know
HTTP beyond these header values, nor how a form is written.
Source: spec C13, C15, F1, G1-G8, E55; ``k8s.io/apiserver/pkg/endpoints/handlers/negotiation``, ``goautoneg``.

Metadata of every kind is written in protobuf; whole objects in protobuf are written and read by those that say so. For others a
clause that asks for it is skipped. Refusals name what would not be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from string import ascii_letters, digits
from typing import Literal, TypeVar

from extapi.api.strconv import only_digits
from extapi.errors import NotAcceptable, UnsupportedMediaType

__all__ = [
    "ALL_TRANSFORMS",
    "SWAGGER_PROTOBUF",
    "BodyFormat",
    "Discovery",
    "Format",
    "Negotiated",
    "PatchType",
    "Transform",
    "negotiate",
    "negotiate_discovery",
    "negotiate_openapi",
    "negotiate_stream",
    "patch_type",
    "request_format",
]

T = TypeVar("T")

Format = Literal["json", "yaml", "protobuf"]
BodyFormat = Literal["json", "yaml", "protobuf"]
PatchType = Literal["json-patch", "merge-patch", "strategic-merge-patch"]

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_MEDIA: dict[str, str] = {"json": "application/json", "yaml": "application/yaml", "protobuf": _PROTOBUF}
_STREAMS = {"json": "application/json", "protobuf": f"{_PROTOBUF};stream=watch"}
_PATCHES: dict[str, PatchType] = {
    "application/json-patch+json": "json-patch",
    "application/merge-patch+json": "merge-patch",
}
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"

_MAX_CLAUSES = 64
"""Clauses of one Accept header that are looked at; sorting them takes quadratic time."""
_MAX_CACHED = 1024
"""Header values longer than this, in characters, are not remembered."""
_CACHE_SIZE = 256
"""Header values remembered; real clients send a handful of them."""

_HUMAN_CLIENTS = ("curl", "Wget", "Mozilla/5.0")
_GO_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


@dataclass(frozen=True, slots=True)
class Transform:
    """An answer in another kind of meta.k8s.io: ``kind`` is Table, PartialObjectMetadata or its list; ``version`` v1 or v1beta1."""

    kind: str
    version: str

    @property
    def api_version(self) -> str:
        """The apiVersion of what is written."""
        return f"meta.k8s.io/{self.version}"


ALL_TRANSFORMS = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The form of an answer. ``transform`` is None for the object as it is; ``pretty``: JSON indented by two spaces."""

    format: Format
    transform: Transform | None = None
    pretty: bool = False

    @property
    def content_type(self) -> str:
        """The Content-Type of the answer; transforms do not show in it."""
        return _MEDIA[self.format]

    @property
    def stream_type(self) -> str:
        """The Content-Type of a watch."""
        return _STREAMS[self.format]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The form of a discovery document. ``version``: v2 or v2beta1 of apidiscovery.k8s.io, or "" for the legacy documents."""

    format: Format
    version: str = ""

    @property
    def content_type(self) -> str:
        """The Content-Type of the answer: of aggregated documents the whole clause (spec C13)."""
        media = _MEDIA[self.format]
        return f"{media};g=apidiscovery.k8s.io;v={self.version};as=APIGroupDiscoveryList" if self.version else media


_SUBTYPES: dict[str, tuple[Format, ...]] = {
    "json": ("json",),
    "yaml": ("yaml",),
    "vnd.kubernetes.protobuf": ("protobuf",),
}
"""Of ``application``, with what each stands for."""


@dataclass(frozen=True, slots=True)
class _Clause:
    type: str
    subtype: str
    q: float
    params: dict[str, str]

    def before(self, other: _Clause) -> bool:
        """Whether this clause is preferred. Not a total order; taken as it is from goautoneg."""
        return (
            self.q > other.q
            or (self.type != "*" and other.type == "*")
            or (self.subtype != "*" and other.subtype == "*")
        )

    def formats(self) -> tuple[Format, ...]:
        """The formats that the clause's media type covers, the preferred one first."""
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
    """The form of an answer that is no stream.

    ``accept``: the header's value, "" if there is none; ``pretty``: the query parameter; ``transforms``: the kinds that
    the endpoint can write; ``protobuf``: whether it writes more than metadata in protobuf. A clause that asks for what it
    cannot write is skipped. Raises :class:`NotAcceptable`.
    """
    found = (_negotiate_cached if len(accept) <= _MAX_CACHED else _negotiate)(accept, transforms, protobuf)
    if found is None:
        raise _not_acceptable(_accepted(protobuf=protobuf))
    if found.format == "json" and not found.pretty and _wants_pretty(pretty, user_agent):
        return replace(found, pretty=True)
    return found


def negotiate_stream(accept: str, *, transforms: frozenset[str] = ALL_TRANSFORMS, protobuf: bool = False) -> Negotiated:
    """The form of the events of a watch: JSON, never indented, or protobuf; the arguments are those of :func:`negotiate`.

    Raises :class:`NotAcceptable`, with the text of spec F1 for what is accepted elsewhere and cannot be streamed.
    """
    found = (_negotiate_cached if len(accept) <= _MAX_CACHED else _negotiate)(accept, transforms, protobuf)
    if found is None:
        raise _not_acceptable(_accepted(protobuf=protobuf))
    if found.format == "yaml":
        streamed = ("json", "protobuf") if protobuf else ("json",)
        raise _not_acceptable(f"{_MEDIA[name]};stream=watch" for name in streamed)
    return replace(found, pretty=False) if found.pretty else found


def negotiate_discovery(accept: str) -> Discovery:
    """The form of ``/apis``: aggregated, in JSON, wherever that stands in the header; else the first clause that can be served.

    v2beta1 is served beside v2 for kube-apiserver 1.27 to 1.29, which know nothing else. Raises :class:`NotAcceptable`.
    """
    found = (_discovery_cached if len(accept) <= _MAX_CACHED else _discovery)(accept)
    if found is None:
        raise _not_acceptable(_accepted(protobuf=True))
    return found


def _accepted(*, protobuf: bool) -> tuple[str, ...]:
    """The media types that an endpoint accepts and reads."""
    return tuple(media for name, media in _MEDIA.items() if protobuf or name != "protobuf")


def _not_acceptable(accepted: Iterable[str]) -> NotAcceptable:
    return NotAcceptable("only the following media types are accepted: " + ", ".join(accepted))


SWAGGER_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""OpenAPI v2 in protobuf. An older name for it, with ``@`` in place of a dot, is still the one that clients ask for."""


def negotiate_openapi(accept: str, *, protobuf: bool = False) -> str:
    """The Content-Type of an OpenAPI document: JSON, or where there is ``protobuf``, that. Raises :class:`NotAcceptable`.

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
    """Spec G7: the query parameter where it says something, else whether a human is likely to read."""
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


def _discovery(accept: str) -> Discovery | None:
    if not accept:
        return Discovery("json")

    def aggregated(clause: _Clause, chosen: Format) -> Discovery | None:
        params, version = clause.params, clause.params.get("v", "")
        known = params.get("as") == "APIGroupDiscoveryList" and params.get("g") == "apidiscovery.k8s.io"
        return Discovery(chosen, version) if known and version in ("v2", "v2beta1") and chosen != "yaml" else None

    def plain(clause: _Clause, chosen: Format) -> Discovery | None:
        return None if clause.params.keys() & {"as", "g", "v"} else Discovery(chosen)

    return _first(accept, aggregated) or _first(accept, plain)


def _first(accept: str, accepted: Callable[[_Clause, Format], T | None]) -> T | None:
    """What the first clause that is accepted leads to."""
    for clause in _clauses(accept):
        for chosen in clause.formats():
            found = accepted(clause, chosen)
            if found is not None:
                return found
    return None


_negotiate_cached = lru_cache(maxsize=_CACHE_SIZE)(_negotiate)
_discovery_cached = lru_cache(maxsize=_CACHE_SIZE)(_discovery)


def _clauses(accept: str) -> list[_Clause]:
    """The clauses, the preferred ones first. Insertion sort, as Go sorts short slices: the order is not total."""
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
    """The value of ``q``; 0 for what is no decimal number."""
    whole, _, part = text.partition(".")
    return float(text) if only_digits(whole + part) else 0.0


_TOKEN = f"!#$%&'*+.^_`|~-{digits}{ascii_letters}"
"""Characters of a token (RFC 9110, section 5.6.2)."""
_SPACE = " \t\n\r\f\v"


@lru_cache(maxsize=_CACHE_SIZE)
def _media_type(content_type: str) -> str:
    """The media type in lower case; empty for what is no Content-Type (RFC 9110, section 8.3), its parameters included."""
    media, *parameters = _semicolons(content_type)
    main, slash, sub = media.strip(_SPACE).partition("/")
    if not slash or not _is_token(main) or not _is_token(sub):
        return ""
    return f"{main}/{sub}".lower() if all(map(_is_parameter, parameters)) else ""


def _semicolons(text: str) -> list[str]:
    """The text, split at semicolons that are not in quotes. A backslash escapes nothing here."""
    parts = [""]
    for index, piece in enumerate(text.split('"')):
        first, *others = [piece] if index % 2 else piece.split(";")
        parts[-1] += f'"{first}' if index else first
        parts += others
    return parts


def _is_parameter(text: str) -> bool:
    """Whether it is ``name=value`` or nothing."""
    text = text.strip(_SPACE)
    if not text:
        return True
    name, found, value = text.partition("=")
    value = value.lstrip(_SPACE)
    quoted = len(value) > 1 and value[0] == value[-1] == '"' and value.count('"') == 2 and "\\" not in value
    return bool(found) and _is_token(name.rstrip(_SPACE)) and (quoted or _is_token(value))


def _is_token(text: str) -> bool:
    return bool(text) and not text.strip(_TOKEN)


def request_format(content_type: str, *, protobuf: bool = False) -> BodyFormat:
    """The format of a body, by its Content-Type ("" if there is none: JSON). Raises :class:`UnsupportedMediaType` (G8).

    ``protobuf``: whether the resource reads that too.
    """
    if content_type in ("", "application/json"):
        return "json"
    media = _media_type(content_type) if len(content_type) <= _MAX_CACHED else ""
    if media == "application/json":
        return "json"
    if media == "application/yaml":
        return "yaml"
    if protobuf and media == _PROTOBUF:
        return "protobuf"
    raise UnsupportedMediaType.accepting(_accepted(protobuf=protobuf))


def patch_type(content_type: str, *, strategic: bool = False) -> PatchType:
    """The kind of a patch by its Content-Type, compared case by case and without parameters (spec E55).

    ``strategic``: whether the resource takes strategic merge patches. Raises :class:`UnsupportedMediaType`: clients fall back on that reason from strategic merge patch and from apply.
    """
    media = content_type.partition(";")[0]
    if strategic and media == _STRATEGIC:
        return "strategic-merge-patch"
    accepted = (*_PATCHES, _STRATEGIC) if strategic else tuple(_PATCHES)
    found = _PATCHES.get(media)
    if found is None:
        if media == _APPLY:
            raise UnsupportedMediaType(
                "server-side apply is not supported yet - accepted media types include: " + ", ".join(accepted)
            )
        raise UnsupportedMediaType.accepting(accepted)
    return found
