"""Converts the objects of a ConversionReview by an author's functions, through the kind's hub.

One kind per instance. Must not know HTTP. Objects are read, converted and written one after the other, so a review takes the
memory of its bytes and of one object; others get their turn meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from extapi.api.jsonvalue import NotJSONError
from extapi.api.types import Obj
from extapi.api.versions import group_version
from extapi.clock import Clock, sleep
from extapi.errors import ApiError, go_quote
from extapi.registry.collecting import uncollected
from extapi.registry.served import ServedKind
from extapi.schema.partial import completed
from extapi.webhooks.reporting import report
from extapi.webhooks.reviewmetrics import CONVERTED, FAILED, Count
from extapi.webhooks.reviews.conversion import ConversionRequest, converted, failed, read_conversion
from extapi.webhooks.reviews.reading import read_object, shortened

TURN: Final = 0.02
"""Seconds after which other requests get their turn."""
_INTERNAL: Final = "Internal error occurred: "


class _RefusedError(Exception):
    """An object cannot be converted; the text says why, for the user of kube-apiserver."""


class ConvertingWebhook:
    """What ``/convert/VERSION/SINGULAR`` does for one kind."""

    def __init__(self, kind: ServedKind, clock: Clock, count: Count = lambda *_: None) -> None:
        self._kind = kind
        self._clock = clock
        self._count = count
        self._versions = {group_version(kind.group, version): version for version in kind.versions}

    async def answer(self, body: bytes) -> bytes:
        """The answer to a review.

        Raises:
            BadReview: The body is no ConversionReview.
        """
        request = read_conversion(body)
        try:
            objects = await self._all(request)
        except _RefusedError as error:
            self._count("", FAILED)
            return failed(request, str(error))
        self._count("", CONVERTED)
        return converted(request, objects)

    async def _all(self, request: ConversionRequest) -> list[bytes]:
        """The converted objects, as JSON."""
        version = self._versions.get(request.api_version)
        if version is None:
            raise _RefusedError(f"{self._kind.kind.name} has no version {go_quote(shortened(request.api_version))}")
        objects = enumerate(request.objects)
        made: list[bytes] = []
        while len(made) < len(request.objects):
            if made:
                await sleep(self._clock, 0)
            with uncollected():  # a large review makes many objects, which live for a moment
                self._some(objects, version, made)
        return made

    def _some(self, objects: Iterable[tuple[int, msgspec.Raw]], version: str, made: list[bytes]) -> None:
        """Convert what can be converted in one turn."""
        until = self._clock.seconds() + TURN
        for index, data in objects:
            made.append(self._one(index, bytes(data), version))
            if self._clock.seconds() > until:
                return

    def _one(self, index: int, data: bytes, version: str) -> bytes:
        kind = self._kind
        try:
            obj = read_object(data)
        except ValueError as error:
            raise _RefusedError(f"request.objects[{index}]: {shortened(str(error))}") from None
        if obj.get("kind") != kind.kind.name or obj.get("apiVersion") not in self._versions:
            found = (
                f"{go_quote(shortened(str(obj.get('apiVersion'))))}, kind {go_quote(shortened(str(obj.get('kind'))))}"
            )
            raise _RefusedError(
                f"request.objects[{index}] is of {found}; expected {kind.kind.name} of {' or '.join(self._versions)}"
            )
        # While kube-apiserver merges what is applied, it sends objects that lack parts, metadata among them, and refuses an
        # answer without these.
        obj = completed({"metadata": {}, **obj}, kind.versions[self._versions[obj["apiVersion"]]].structural)
        if not isinstance(obj["metadata"], dict):
            raise _RefusedError(f"request.objects[{index}].metadata is no object")
        try:
            return kind.encode(kind.converted(obj, version))
        except ApiError as error:
            cause = error.__cause__
            if cause is not None:
                report(error.message, cause)
            raise _RefusedError(f"{_name(obj)}: {error.message.removeprefix(_INTERNAL)}") from None
        except NotJSONError as error:
            raise _RefusedError(f"{_name(obj)}: the conversion to {version} made what is no JSON: {error}") from None


def _name(obj: Obj) -> str:
    metadata = obj.get("metadata", {})
    return "/".join(shortened(str(metadata[key])) for key in ("namespace", "name") if metadata.get(key)) or "an object"
