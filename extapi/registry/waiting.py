"""The objects of a kind whose converter may wait, many at a time: opened, converted, checked, with one error for each that fails.

Responsible for keeping the failure of one object, of whatever kind, from the others. Must not know how long conversion may
take, or who waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from extapi.api.types import Obj
from extapi.conversion.converter import Converter, convert_objects
from extapi.errors import ApiError, InternalError

Made = TypeVar("Made")
Finish = Callable[[Obj, str], None]


class WaitingConversion:
    """The conversions of one kind."""

    _log = Logger()

    def __init__(self, kind: str, converter: Converter, finish: Finish) -> None:
        """Prepare conversions.

        Args:
            kind: The kind's name, for the log.
            converter: Converts, and may wait.
            finish: Checks and prunes, in place, what the converter has made of an object in a version.
        """
        self._kind = kind
        self._converter = converter
        self._finish = finish

    async def objects(
        self, objects: Sequence[Obj], version: str, api_version: str, finish: Finish | None = None
    ) -> list[Obj | ApiError]:
        """Objects that are in any version, in ``version``; never raises for a single one. ``finish``: in place of the usual."""
        made: list[Obj | ApiError]
        try:
            made = await convert_objects(self._converter, objects, api_version)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 -- a converter that breaks fails its objects, and not those who wait for them
            made = [self._error(error)] * len(objects)
        return [
            new
            if isinstance(new, ApiError) or new is old
            else self.attempt(_finished, new, version, finish or self._finish)
            for old, new in zip(objects, made, strict=True)
        ]

    async def one(self, obj: Obj, version: str, api_version: str, finish: Finish | None = None) -> Obj:
        """One object in ``version``; for ``finish``, see :meth:`objects`.

        Raises:
            ApiError: The conversion failed.
        """
        (made,) = await self.objects((obj,), version, api_version, finish)
        if isinstance(made, ApiError):
            raise made
        return made

    async def stored(
        self, values: Sequence[bytes], opened: Callable[[bytes], Obj], version: str, api_version: str
    ) -> list[Obj | ApiError]:
        """Stored objects in ``version``; ``opened`` decodes one."""
        originals = [self.attempt(opened, value) for value in values]
        asked = [each for each in originals if not isinstance(each, ApiError)]
        made = iter(await self.objects(asked, version, api_version))
        return [each if isinstance(each, ApiError) else next(made) for each in originals]

    def attempt(self, function: Callable[..., Made], *arguments: Any) -> Made | ApiError:
        """The result of a step for one object of many, or its error."""
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001 -- one object that cannot be converted must not stop the others
            return self._error(error)

    def _error(self, error: Exception) -> ApiError:
        if isinstance(error, ApiError):
            return error
        self._log.failure("objects of {kind} could not be converted", kind=self._kind)
        return InternalError.because("the stored object could not be converted")


def _finished(obj: Obj, version: str, finish: Finish) -> Obj:
    finish(obj, version)
    return obj
