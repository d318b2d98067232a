"""Whether an object is JSON for every client, whatever code made it, and the bytes of one that is.

One number that clients cannot read would make every list of a kind unreadable. Must not know versions, schemas or stores.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from extapi.api.definition import Kind
from extapi.api.jsonvalue import NotJSONError, check_json
from extapi.api.types import Obj
from extapi.codec.strictjson import MAX_DEPTH, Parts, encode_parts, is_deeper
from extapi.errors import BadRequest, InternalError
from extapi.managedfields.fieldmanager import without_managed_fields


class Soundness:
    """Checks and encodes the objects of one kind. ``encode``: encodes an object."""

    _log = Logger()

    def __init__(self, kind: Kind, encode: Callable[[Obj], bytes]) -> None:
        self._kind = kind
        self._encode = encode

    def check(self, obj: Obj, whose: str) -> None:
        """Check an object that an author's code made or changed; comes before anything else is done with it.

        ``whose``: the code, for the message.

        Raises:
            InternalError: It is not JSON for every client.
        """
        try:
            check_json(obj)
        except NotJSONError as error:
            raise self._unsound(whose, error) from None

    def to_parts(self, stored: Obj, version: str) -> Parts:
        """The bytes of an object as it is stored; ``version``: from which it was converted, for errors.

        Raises:
            BadRequest: The object is so deep that its managed fields, which are deeper, are too deep.
            InternalError: An author's code made what is no JSON.
        """
        try:
            parts = encode_parts(stored, self._encode)
            # An object cannot be nested deeper than it has brackets; few have as many.
            brackets = [part.count(bracket) for part in parts for bracket in (b"{", b"[")]
            if sum(brackets) > MAX_DEPTH and is_deeper(stored, MAX_DEPTH):
                if not is_deeper(without_managed_fields(stored), MAX_DEPTH):
                    raise BadRequest(f"the object's managed fields would be nested deeper than {MAX_DEPTH} levels")
                raise NotJSONError("", f"nested deeper than {MAX_DEPTH} levels")  # noqa: TRY301 - refused as what is no JSON
        except NotJSONError as error:
            whose = "the code" if version == self._kind.storage else f"the conversion to {self._kind.storage}"
            raise self._unsound(whose, error) from None
        return parts

    def _unsound(self, whose: str, error: NotJSONError) -> InternalError:
        unsound = InternalError.because(f"{whose} of {self._kind.name} made what is no JSON for clients: {error}")
        self._log.error("{text}", text=unsound.message)  # here, since the cache keeps some errors for its readers
        return unsound
