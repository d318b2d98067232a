"""PATCH by server-side apply: the object as its appliers want it (behaviour E64-E72).

The resource's field manager merges; here is what the request says, and the checks of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from extapi.admission.base import Review
from extapi.admission.chain import AdmissionChain
from extapi.api.types import Obj
from extapi.codec import strictjson
from extapi.codec.body import json_type, read, strict_warnings
from extapi.codec.options import patch_options
from extapi.errors import BadRequest, Conflict, InternalError
from extapi.http.request import Authorize
from extapi.http.response import Response
from extapi.managedfields.fieldmanager import unconvertible
from extapi.registry.base import Applied, Creation, ResourceUpdater
from extapi.verbs.answer import negotiated, object_answer
from extapi.verbs.decoding import MAX_BODY, check_name, check_namespace, dedupe_owners
from extapi.verbs.fieldmanagement import now
from extapi.verbs.request import ResourceRequest


async def apply(request: ResourceRequest[ResourceUpdater]) -> Response:
    """Merge the configuration into the object; 200 with the object as stored, 201 if it is new."""
    if not request.name:
        raise BadRequest("name must be provided")
    accepted = negotiated(request)
    body = await request.http.body.read(MAX_BODY)
    options = patch_options(request.http.query, apply=True)
    # Not checked: whatever has a field manager is one, and Python takes long to see that an object fits a protocol.
    resource: Applied = cast("Any", request.resource)
    manager = request.resource.field_manager(request.scope)
    if manager is None:
        raise InternalError.because(f"{request.resource.plural} cannot be applied")
    created, found = False, Configuration(body)

    async def merged(live: Obj | None) -> Obj:
        config = found.decoded()
        obj = await manager.apply(live, config, options.field_manager, now(request), force=options.force)
        if options.field_validation != "Ignore":
            found.tell_duplicates(request.http.warnings, strict=options.field_validation == "Strict")
        try:
            resource.complete_applied(request.scope, obj)
        except BadRequest as error:
            raise unconvertible(config, error.message) from None
        if live is None and obj["metadata"].get("uid"):
            raise _uid_mismatch(request, obj["metadata"]["uid"])
        check_namespace(request, obj)
        check_name(request, obj)
        dedupe_owners(request, obj, patched=True)
        return obj

    async def make() -> Obj:
        nonlocal created
        created = True
        return await merged(None)

    async def change(live: Obj) -> Obj:
        nonlocal created
        created = False
        return await merged(live)

    as_create = request.admission("CreateOptions", options)
    as_create = msgspec.structs.replace(as_create, chain=_CreateChain(request.chain, request.http.authorize))
    stored = await resource.apply(
        request.scope,
        request.name,
        change,
        admit=request.admission("UpdateOptions", options),
        creation=Creation(make, as_create),
    )
    return object_answer(request, accepted, stored, status=201 if created else 200)


class Configuration:
    """What is applied, in YAML or JSON; decoded by each attempt, since a missing object is told before a wrong body."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._duplicates: Sequence[str] = ()

    def decoded(self) -> Obj:
        """The configuration, which the caller may change: conflicts are rare, and a copy would cost each apply.

        Raises:
            BadRequest: The body is none.
        """
        config, self._duplicates = self._decode()
        return config

    def tell_duplicates(self, warnings: list[str], *, strict: bool) -> None:
        """Warn of keys that occur twice, after it was decoded.

        Raises:
            BadRequest: There are some, under ``strict``.
        """
        if not self._duplicates:
            return
        if strict:
            raise BadRequest(f"error strict decoding YAML: error converting YAML to JSON: {self._duplicates[0]}")
        warnings += [text for text in strict_warnings((), self._duplicates) if text not in warnings]

    def _decode(self) -> tuple[Obj, Sequence[str]]:
        """JSON is YAML, and most clients send it; but what is wrong with it is told as the YAML that it is."""
        value, duplicates = self._json() or (None, ())
        if value is None:
            try:
                value, duplicates, _ = read(self._body, "yaml")
            except ValueError as error:
                raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {error}") from None
        if not isinstance(value, dict | None):
            raise BadRequest(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
                f"{json_type(value)} into Go value of type map[string]interface {{}}"
            )
        return value or {}, duplicates

    def _json(self) -> tuple[Any, Sequence[str]] | None:
        """The body as JSON; None if it is none, or has something that YAML words otherwise."""
        if not self._body.startswith(b"{"):
            return None
        try:
            self._body.decode()
            decoded = strictjson.decode(self._body)
        except ValueError:
            return None
        return None if decoded.duplicates else (decoded.value, ())


class _CreateChain(AdmissionChain):
    """The admission of a new object: before validators see it, its user is asked for the right to create."""

    def __init__(self, chain: AdmissionChain, authorize: Authorize | None) -> None:
        super().__init__(())
        self._chain = chain
        self._authorize = authorize

    async def mutate(self, review: Review, renewed: Callable[[Review, str], Review] | None = None) -> Review:
        """See :class:`extapi.admission.chain.AdmissionChain`."""
        return await self._chain.mutate(review, renewed)

    async def validate(self, review: Review) -> None:
        """See :class:`extapi.admission.chain.AdmissionChain`."""
        if self._authorize is None:
            raise InternalError.because("no authorizer provided, unable to authorize a create on update")
        await self._authorize("create")
        await self._chain.validate(review)


def _uid_mismatch(request: ResourceRequest[ResourceUpdater], uid: str) -> Conflict:
    resource = request.resource
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return Conflict.on(resource.plural, resource.group, request.name, why)
