"""Continue tokens: where the next page of a list begins, and at which revision (behaviour E30, M13).

Responsible for: encoding and decoding the tokens. Of keys it knows only that they are relative to what is listed. A
token is neither secret nor signed: whatever is in it, it leads only to what the caller may list.

Source: ``k8s.io/apiserver/pkg/storage/continue.go``.
"""

from __future__ import annotations

import base64
from string import ascii_letters, digits
from typing import NamedTuple, NoReturn

import msgspec

from extapi.codec.strictjson import JSONError, NumberRangeError, decode as decode_json
from extapi.errors import BadRequest

__all__ = ["Continuation", "decode", "encode"]

_VERSION = "meta.k8s.io/v1"
_ALPHABET = f"{ascii_letters}{digits}-_"
_MAX_LENGTH = 4096
"""Characters of a token. A key is at most a namespace and a name, of 253 characters each."""


class Continuation(NamedTuple):
    """The contents of a token.

    ``start`` is the first key of the next page, relative to the listed prefix; ``revision`` that of the snapshot, or -1
    for the newest.
    """

    start: str
    revision: int


def encode(start: str, revision: int) -> str:
    """The token for the page from ``start`` (usually the last key of the page before, and a NUL) at ``revision``."""
    text = msgspec.json.encode({"v": _VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode(token: str) -> Continuation:
    """Read a token of :func:`encode`.

    Raises:
        BadRequest: It is not one (behaviour E30).
    """
    value = _payload(token)
    version, revision, start = value.get("v"), value.get("rv"), value.get("start")
    if version != _VERSION:
        shown = version if isinstance(version, str) else ""
        _refuse(f": server does not recognize this encoded version {shown}".rstrip())
    if revision is None or revision == 0:
        _refuse(f": incorrect encoded start resourceVersion (version {_VERSION})")
    if not isinstance(revision, int) or isinstance(revision, bool) or not -(2**63) <= revision < 2**63:
        _refuse(": json: cannot unmarshal value into field rv of type int64")
    if start is None or start == "":
        _refuse(f": encoded start key empty (version {_VERSION})")
    if not isinstance(start, str):
        _refuse(": json: cannot unmarshal value into field start of type string")
    if not _stays_inside(start):
        _refuse(f": {start}")
    return Continuation(start.removeprefix("/"), revision)


def _payload(token: str) -> dict[str, object]:
    end = len(token) - len(token.lstrip(_ALPHABET))
    if end != len(token) or len(token) % 4 == 1 or len(token) > _MAX_LENGTH:
        # A single leftover character is itself the illegal one.
        _refuse(f": illegal base64 data at input byte {end - 1 if end == len(token) and end % 4 == 1 else end}")
    try:
        value = decode_json(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)), max_depth=2).value
    except (JSONError, NumberRangeError) as error:
        _refuse(f": {error}")
    if not isinstance(value, dict):
        _refuse(": json: cannot unmarshal value into a continue token")
    return value


def _stays_inside(start: str) -> bool:
    """Whether the key has no empty, ``.`` or ``..`` segment that could lead out of the listed prefix."""
    return all(segment not in ("", ".", "..") for segment in start.removeprefix("/").split("/"))


def _refuse(why: str) -> NoReturn:
    raise BadRequest(f"invalid continue token: continue key is not valid{why}")
