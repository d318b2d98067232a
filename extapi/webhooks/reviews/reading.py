"""What both kinds of reviews have in common: how their bytes are read, and how a caller is told that it sent none.

Whoever sends something that is no review gets 400 in plain text, as from the webhook servers of Kubernetes' own tests
(``test/images/agnhost/webhook``, ``crd-conversion-webhook``). kube-apiserver shows that text to its user.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from extapi.api.jsonvalue import has_long_number, read_float
from extapi.api.types import Obj
from extapi.codec import strictjson
from extapi.errors import go_quote

LONGEST: Final = 1024
"""Characters of a caller's text that an error repeats."""
_ENVELOPE: Final = 8
"""Levels of a review around its objects."""

T = TypeVar("T")
_read_object = msgspec.json.Decoder(dict[str, Any], float_hook=read_float).decode


class BadReview(Exception):
    """A request is no review that can be answered; the text says why."""


class ReviewDecoder:
    """Decodes bodies to one Struct, numbers as in :mod:`extapi.codec.strictjson`.

    Args:
        struct: The type. Members that it does not have are ignored, as Go ignores them.
    """

    def __init__(self, struct: type[T]) -> None:
        self._decode = msgspec.json.Decoder(struct, float_hook=read_float).decode

    def decode(self, body: bytes) -> Any:
        """The review.

        Raises:
            BadReview: The body is no JSON, or a member has a wrong type.
        """
        if not body.strip():
            raise BadReview("the body is empty; expected a review")
        if not has_long_number(body):
            try:
                return self._decode(body)
            except msgspec.ValidationError as error:
                raise BadReview(f"the body is no review: {shortened(str(error))}") from None
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                pass  # what is wrong is told below, in the words of kube-apiserver, or repaired as there
        try:
            value = strictjson.decode(body, max_depth=strictjson.MAX_DEPTH + _ENVELOPE).value
        except ValueError as error:
            raise BadReview(f"the body is no JSON: {shortened(str(error))}") from None
        try:
            return self._decode(strictjson.encode(value))  # bytes again: objects in it stay bytes (msgspec.Raw)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise BadReview(f"the body is no review: {shortened(str(error))}") from None


def check_type(api_version: str, kind: str, known: Mapping[str, str], wanted: str) -> str:
    """The version of a review.

    Args:
        api_version: Its ``apiVersion``.
        kind: Its ``kind``.
        known: The versions that can be answered, by apiVersion.
        wanted: The kind that is expected.

    Raises:
        BadReview: It is of another type.
    """
    if kind != wanted or api_version not in known:
        expected = " or ".join(known)
        raise BadReview(
            f"expected {wanted} of {expected}, got kind {go_quote(shortened(kind))} of {go_quote(shortened(api_version))}"
        )
    return known[api_version]


def read_object(data: bytes) -> Obj:
    """An object in a review. Its keys are not checked for duplicates: kube-apiserver has written it.

    Raises:
        ValueError: It is no JSON, no object, or nested too deeply; the text says so.
    """
    if not has_long_number(data):
        try:
            obj = _read_object(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass  # told, or repaired, below
        else:
            if data.count(b"[") + data.count(b"{") <= strictjson.MAX_DEPTH:
                return obj
    value = strictjson.decode(data).value
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {type(value).__name__}")  # noqa: TRY004 - one error for bad input
    return value


def shortened(text: str) -> str:
    """A text for an error, not longer than :data:`LONGEST`."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
