"""The Content-Type of request bodies: which format, or which type of patch (behaviour E55, G8).

Must not know HTTP beyond this header's value.

Source: ``k8s.io/apiserver/pkg/endpoints/handlers/negotiation``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from string import ascii_letters, digits

from extapi.codec.negotiation import PROTOBUF, Format, media_types
from extapi.errors import UnsupportedMediaType

__all__ = ["APPLY", "JSON_PATCH", "MERGE_PATCH", "media_type", "patch_type", "request_format"]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"

_MAX_LENGTH = 1024
"""Characters of a Content-Type that is read; a longer one is of no known type."""
_CACHE_SIZE = 256
"""Header values that are cached; real clients send a handful of them."""

_TOKEN = f"!#$%&'*+.^_`|~-{digits}{ascii_letters}"
"""Characters of a token (RFC 9110, section 5.6.2)."""
_SPACE = " \t\n\r\f\v"


def media_type(content_type: str) -> str:
    """The media type in lower case; empty if the text is not a valid Content-Type, or too long to be one."""
    return _media_type(content_type) if len(content_type) <= _MAX_LENGTH else ""


@lru_cache(maxsize=_CACHE_SIZE)
def _media_type(content_type: str) -> str:
    """The media type in lower case; empty if the text is not a valid Content-Type (RFC 9110, section 8.3)."""
    media, *parameters = _semicolons(content_type)
    main, slash, sub = media.strip(_SPACE).partition("/")
    if not slash or not _is_token(main) or not _is_token(sub):
        return ""
    return f"{main}/{sub}".lower() if all(map(_is_parameter, parameters)) else ""


def _semicolons(text: str) -> list[str]:
    """The text, split at semicolons outside quotes. Backslashes do not escape."""
    parts = [""]
    for index, piece in enumerate(text.split('"')):
        first, *others = [piece] if index % 2 else piece.split(";")
        parts[-1] += f'"{first}' if index else first
        parts += others
    return parts


def _is_parameter(text: str) -> bool:
    """Whether the text is ``name=value`` or empty."""
    text = text.strip(_SPACE)
    if not text:
        return True
    name, found, value = text.partition("=")
    value = value.lstrip(_SPACE)
    quoted = len(value) > 1 and value[0] == value[-1] == '"' and value.count('"') == 2 and "\\" not in value
    return bool(found) and _is_token(name.rstrip(_SPACE)) and (quoted or _is_token(value))


def _is_token(text: str) -> bool:
    return bool(text) and not text.strip(_TOKEN)


def request_format(content_type: str, *, protobuf: bool = False) -> Format:
    """The format of a body by its Content-Type; "" means JSON (behaviour G8).

    ``protobuf`` says whether the resource reads that.

    Raises:
        UnsupportedMediaType: The resource does not read the format.
    """
    if content_type in ("", "application/json"):
        return "json"
    media = media_type(content_type)
    if media == "application/json":
        return "json"
    if media == "application/yaml":
        return "yaml"
    if protobuf and media == PROTOBUF:
        return "protobuf"
    raise UnsupportedMediaType.accepting(media_types(protobuf=protobuf))


def patch_type(content_type: str, further: Collection[str] = ()) -> str:
    """The media type of a patch by its Content-Type, which is case-sensitive and read without parameters (behaviour E55).

    ``further`` has the media types that the resource takes beside JSON patches and merge patches.

    Raises:
        UnsupportedMediaType: The resource does not take such patches. Clients that tried a strategic merge patch or
            apply fall back on another type when they see this reason.
    """
    media = content_type.partition(";")[0]
    accepted = (JSON_PATCH, MERGE_PATCH, *further)
    if media in accepted:
        return media
    raise UnsupportedMediaType.accepting(accepted)
