"""Answers mutating reviews: what the author's mutating plugins and ``Strategy.prepare`` make of an object, as a JSON patch.

The object is pruned and defaulted by the types as well, so it gets its defaults even where a CustomResourceDefinition has a
looser schema. An object that breaks its schema is shown to nobody, and left to kube-apiserver, which validates it next.
"""

from __future__ import annotations

from typing import Final

from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj
from extapi.codec.strictjson import encode
from extapi.registry.fieldmanagers import keep_managed_fields
from extapi.webhooks.admitting import SCALE, STATUS, AdmittedKind, ReviewedWrite, verdict_on
from extapi.webhooks.patch import json_patch
from extapi.webhooks.reviews.admission import AdmissionRequest, AdmissionVerdict

SYSTEM: Final = (
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
"""Metadata that is kube-apiserver's: plugins see it, and their changes to it are dropped, as by ``extapi serve``."""


class MutatingWebhook:
    """What ``/admit/VERSION/SINGULAR`` does for one kind."""

    def __init__(self, kind: AdmittedKind) -> None:
        self._kind = kind

    async def verdict(self, request: AdmissionRequest) -> AdmissionVerdict:
        """The verdict on one write."""
        return await verdict_on(self._kind, request, self._admitted)

    async def _admitted(self, asked: ReviewedWrite) -> AdmissionVerdict:
        if asked.objects.new is None:
            return await self._deletion(asked)
        return asked.verdict(patch=await self._patch(asked, asked.objects.new))

    async def _deletion(self, asked: ReviewedWrite) -> AdmissionVerdict:
        """Ask about a delete. One of a whole collection has no object: the plugins are asked about each object later."""
        old = asked.objects.old
        if old is not None:
            await asked.chain.mutate(asked.write.deletion(asked.name_of(old), asked.completed(old)))
        return asked.verdict()

    async def _patch(self, asked: ReviewedWrite, obj: Obj) -> bytes:
        old = None if asked.objects.old is None else asked.completed(asked.objects.old)
        _carry(asked, obj, old)
        seen = asked.completed(json_copy(obj))
        errors = asked.kind.schema_errors(seen, old, asked.version, asked.subresource)
        made = seen if errors else await _made(asked, seen, old)
        operations = json_patch(_comparable(asked, {**obj, "metadata": seen["metadata"]}), _comparable(asked, made))
        return encode(operations) if operations else b""


async def _made(asked: ReviewedWrite, seen: Obj, old: Obj | None) -> Obj:
    """The object after plugins and ``prepare``, which change ``seen`` or make another one."""
    before = json_copy(seen)
    managed = before["metadata"].get("managedFields")

    def keep(new: Obj) -> None:
        if asked.subresource == SCALE:
            return
        if asked.subresource == STATUS:
            status = new.get("status")
            new.clear()
            new.update(json_copy(before))
            _put(new, "status", status)
            return
        keep_managed_fields(new, managed, asked.warnings.append)
        for name in SYSTEM:
            _put(new["metadata"], name, before["metadata"].get(name))
        if asked.has_status:
            _put(new, "status", before.get("status"))

    return await asked.write.mutated(asked.operation, seen, old, keep)


def _carry(asked: ReviewedWrite, obj: Obj, old: Obj | None) -> None:
    """Put into the object, in place, what the write cannot change, as the CustomResourceDefinition says.

    kube-apiserver does so after mutating admission, so a review has what the client sent.

    Source: ``apiextensions-apiserver/pkg/registry/customresource/strategy.go`` PrepareForCreate and PrepareForUpdate,
    ``status_strategy.go`` PrepareForUpdate.
    """
    if asked.subresource == STATUS and old is not None:
        status, metadata = obj.get("status"), obj.get("metadata") or {}
        kept = {name: metadata[name] for name in ("resourceVersion", "managedFields") if name in metadata}
        obj.clear()
        obj.update(json_copy(old))
        obj["metadata"].pop("managedFields", None)
        obj["metadata"] |= kept
        _put(obj, "status", status)
    elif asked.has_status and not asked.subresource:
        _put(obj, "status", None if old is None else old.get("status"))


def _comparable(asked: ReviewedWrite, obj: Obj) -> Obj:
    """The part of an object that a patch may change."""
    if asked.subresource == STATUS:
        return {"status": obj["status"]} if "status" in obj else {}
    if asked.subresource == SCALE:
        return {"spec": obj.get("spec", {})}
    return {name: value for name, value in obj.items() if not (name == "status" and asked.has_status)}


def _put(into: Obj, name: str, value: object) -> None:
    into.pop(name, None)
    if value is not None:
        into[name] = value
