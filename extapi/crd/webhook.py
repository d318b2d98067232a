"""Conversion by a webhook: one HTTPS request per call, as kube-apiserver makes it (behaviour J47, J48).

Responsible for what is asked, for the objects of a call that is refused, and for what an operator is told of failures. Must
not know the way to the webhook (:mod:`extapi.client.webhookcall`), nor how many calls may run at a time
(:mod:`extapi.watch.conversioncalls`).

Source: ``apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from extapi.api.types import Obj
from extapi.client.clientpair import Pair
from extapi.client.failurelog import FailureLog
from extapi.client.services import Resolve
from extapi.client.webhookcall import WebhookCaller
from extapi.client.webhookreply import WebhookError, body_of
from extapi.crd.conversionreview import RefusedError, ReviewError, converted, read_object, request, review_version
from extapi.errors import ApiError, StorageError

SECONDS = 30.0
"""Seconds per call, connecting and reading included (``setGlobalDefaults`` in ``apiserver/pkg/util/webhook``)."""

_LATE = "net/http: request canceled (Client.Timeout or context cancellation while reading body)"


class WebhookConverter:
    """The webhook of one definition (:class:`extapi.conversion.converter.Converter`). Call :meth:`close` at the end.

    Args:
        crd: The name of the CustomResourceDefinition, for the log.
        conversion: Its ``spec.conversion``, valid and with defaults.
        resolve: Finds the Service that it may name.
        reactor: Provides IReactorTCP, IReactorTime and host name resolution.
        certificate: The certificate that is shown to a webhook that asks for one, asked for with each call. None: none,
            as kube-apiserver does it: its webhook kubeconfigs are for admission alone.
    """

    name = "conversion webhook"

    def __init__(
        self,
        crd: str,
        conversion: Mapping[str, Any],
        resolve: Resolve,
        reactor: Any,
        *,
        certificate: Callable[[], Pair] | None = None,
    ) -> None:
        webhook = conversion["webhook"]
        self._caller = WebhookCaller(webhook["clientConfig"], resolve, reactor, certificate=certificate)
        self._version = review_version(webhook["conversionReviewVersions"])
        self._announced = SECONDS
        self._failures = FailureLog(f"CustomResourceDefinition {crd}", self._caller.target.url(SECONDS), reactor)

    async def convert(self, objects: Sequence[Obj], api_version: str) -> Sequence[Obj | ApiError]:
        """Ask the webhook; for each object what it has become, or kube-apiserver's text why it is not converted.

        kube-apiserver asks for each object by itself, so that one which the webhook refuses fails no other. Here the
        objects of a refused call are sent again, in halves.
        """
        try:
            raw = await self._asked(objects, api_version)
        except RefusedError as error:
            half = len(objects) // 2
            if half:
                first = await self.convert(objects[:half], api_version)
                return [*first, *await self.convert(objects[half:], api_version)]
            return self._failed(objects, error)
        except ReviewError as error:
            return self._failed(objects, error)
        made = [read_object(each) for each in raw]
        broken = next((each for each in made if isinstance(each, ApiError)), None)
        if broken is None:
            self._failures.succeeded()
        else:
            self._failures.failed(broken.message)
        return made

    @property
    def closed(self) -> bool:
        """Whether it converts no more."""
        return self._caller.closed

    def close(self) -> None:
        """End all connections; calls that still run fail, and so do later ones."""
        self._caller.close()

    def _failed(self, objects: Sequence[Obj], error: ReviewError) -> list[Obj | ApiError]:
        failures: list[Obj | ApiError] = [
            StorageError(f"{self.name} for {each['apiVersion']}, Kind={each['kind']} {error}") for each in objects
        ]
        self._failures.failed(str(failures[0]))
        return failures

    async def _asked(self, objects: Sequence[Obj], api_version: str) -> list[bytes]:
        """The converted objects as JSON, as many as were sent.

        Raises:
            ReviewError: There are none.
        """
        if self._version is None:
            raise ReviewError("failed: no supported conversion review versions")
        uid = str(uuid4())
        body = request(self._version, uid, objects, api_version)
        try:
            answer = body_of(await self._caller.call(body, SECONDS, announced=self._announced, late=_LATE))
        except WebhookError as error:
            raise ReviewError(f"failed: {error}") from None
        return converted(answer, self._version, uid, len(objects))
