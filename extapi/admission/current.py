"""The objects of a write while a cluster's webhooks and policies change them, each in a version of its own.

Source: ``k8s.io/apiserver/pkg/admission`` conversion.go, ``k8s.io/apiserver/pkg/admission/plugin/webhook/mutating`` dispatcher.go.
"""

from __future__ import annotations

from typing import Final

from extapi.admission.base import Operation, Review
from extapi.admission.shown import ShownObjects, converting
from extapi.api.types import Obj
from extapi.errors import BadRequest, InternalError

_LATER: Final = ("creationTimestamp", "generation", "uid")
"""Metadata of a new object that kube-apiserver sets after them."""


class CurrentObjects:
    """The objects of a write as webhooks or policies have changed them so far, in the version of the last one.

    kube-apiserver's see a new object before it has a uid, or a name that is generated; so do these.

    Args:
        review: The write.
        whose: Who changes them, for errors.
    """

    def __init__(self, review: Review, whose: str) -> None:
        self._review = review
        self._whose = whose
        self._versions = converting(review)
        self._kept: Obj = {}
        """The metadata that is not shown."""
        creating = review.operation == Operation.CREATE
        self.unnamed = creating and review.name_is_generated
        obj = review.obj
        if creating and obj is not None:
            hidden = (*_LATER, "name") if self.unnamed else _LATER
            metadata = obj.get("metadata") or {}
            self._kept = {name: metadata[name] for name in hidden if name in metadata}
            obj = {**obj, "metadata": {name: value for name, value in metadata.items() if name not in self._kept}}
        self._obj = obj
        """The object in the version of the request, with all changes that were made in other versions."""
        self._version = ""
        self._latest = ShownObjects(obj, review.old)
        self._changed = False
        self._dirty = False
        """Whether ``_latest`` has changes that ``_obj`` has not."""

    @property
    def latest(self) -> ShownObjects:
        """They, in whatever version they are at hand."""
        return self._latest

    async def at(self, version: str) -> ShownObjects:
        """They, in the version of the resource.

        Raises:
            Unfit: Their fields do not fit their types.
            ApiError: The conversion failed.
        """
        if version != self._version:
            await self._collect()
            self._latest = ShownObjects(await self._in(self._obj, version), await self._in(self._review.old, version))
            self._version = version
        return self._latest

    def replace(self, obj: Obj) -> None:
        """Go on with a changed object, in the version of the last :meth:`at`.

        Raises:
            Invalid: It is of another kind or version.
            InternalError: It has no metadata.
        """
        if self._versions is not None:
            try:
                self._versions.complete(obj, self._version, self._whose)
            except BadRequest as error:
                raise InternalError.because(error.message) from None
        self._latest = self._latest._replace(obj=obj)
        self._dirty = self._changed = True

    async def finish(self) -> None:
        """Give the changed object to the review."""
        if not self._changed:
            return
        await self._collect()
        if self._obj is not None:
            self._review.object = {**self._obj, "metadata": {**self._kept, **self._obj["metadata"]}}

    async def _collect(self) -> None:
        """Bring ``_obj`` up to date."""
        if self._dirty:
            self._obj = await self._in(self._latest.obj, self._review.path_version)
            self._dirty = False

    async def _in(self, obj: Obj | None, version: str) -> Obj | None:
        return obj if obj is None or self._versions is None else await self._versions.convert(obj, version)
