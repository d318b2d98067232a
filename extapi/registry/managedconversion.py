"""Conversion between a kind's versions for its field managers, which convert objects that an apply has not finished.

Such an object lacks what an apply takes away, and is neither pruned nor defaulted: a default that is filled in would count as
kept, a field that the other version lacks would be lost, and the null of an emptied object says that it is still there. Must
not know who manages what.

Source: ``apimachinery/pkg/util/managedfields/internal/versionconverter.go``, with the converter of
``apiextensions-apiserver/pkg/apiserver/conversion``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from extapi.api.jsonvalue import json_copy
from extapi.api.types import Obj
from extapi.conversion.hub import Unfit
from extapi.errors import InternalError, Invalid
from extapi.managedfields.comparison import compare
from extapi.managedfields.merging import remove
from extapi.managedfields.updater import Conversion
from extapi.registry.served import ServedKind
from extapi.schema.partial import completed, without_nulls
from extapi.schema.structural import Structural

Complete = Callable[[Obj, Structural], Obj]


class Convert(Protocol):
    """As :meth:`extapi.registry.served.ServedKind.convert`."""

    async def __call__(self, obj: Obj, version: str, *, raw: bool = False) -> Obj:
        """The object in ``version``."""
        ...


class ManagedConversion(Conversion):
    """Conversion for the field manager of one version of a kind.

    Args:
        kind: The kind.
        version: Of the requests.
        convert: Converts the objects of a kind whose conversion waits.
    """

    def __init__(self, kind: ServedKind, version: str, convert: Convert) -> None:
        self._kind = kind
        self._version = version
        self._convert = convert

    async def whole(self, obj: Obj, api_version: str) -> Obj:
        """An object that lacks nothing, unless it is refused later; what an author's functions leave out is filled in.

        Raises:
            Invalid: Its fields do not fit their types.
            ApiError: The conversion failed.
        """
        kind = self._kind
        if kind.kind.hub is None:
            return await self._rewritten(obj, api_version)
        made = self._by_hub(obj, api_version, completed)
        kind.prune_and_default(made, _version(api_version))
        return made

    async def partial(self, obj: Obj, api_version: str) -> Obj:
        """An object that lacks what an apply takes away.

        An author's functions see the least values in place of required fields. What they leave out, since it has its default,
        counts as missing.

        Raises:
            Invalid: Its fields do not fit their types.
            ApiError: The conversion failed.
        """
        if self._kind.kind.hub is None:
            return await self._rewritten(obj, api_version)
        return self._by_hub(obj, api_version, completed)

    async def pruned(self, before: Obj, after: Obj, merged: Obj) -> Obj:
        """See :class:`extapi.managedfields.updater.Conversion`.

        What an author's functions lose on the way to the other version and back was not given up. What they leave out, since
        it has its default, is filled in as in the live object: else others who manage it would lose it.

        Raises:
            Invalid: Its fields do not fit their types: something that is required was given up.
            ApiError: The conversion failed.
        """
        api_version = merged["apiVersion"]
        if self._kind.kind.hub is None:
            return await self._rewritten(after, api_version)
        served, atom = self._kind.versions[_version(api_version)], self._kind.atoms[api_version]
        earlier, later = (self._by_hub(each, api_version, without_nulls) for each in (before, after))
        gone = compare(earlier, later, atom).removed
        own: Obj = json_copy(without_nulls(remove(merged, gone, atom), served.structural) if gone else merged)
        served.default_applied(own)
        return own

    async def _rewritten(self, obj: Obj, api_version: str) -> Obj:
        """Through the version of the request, as the original does: a webhook's answer may depend on the way."""
        if not self._kind.waits:
            return {**obj, "apiVersion": api_version}
        own = self._kind.versions[self._version].api_version
        if own not in (obj["apiVersion"], api_version):
            obj = await self._convert(obj, self._version, raw=True)
        return await self._convert(obj, _version(api_version), raw=True)

    def _by_hub(self, obj: Obj, api_version: str, complete: Complete) -> Obj:
        kind, before, after = self._kind, _version(obj["apiVersion"]), _version(api_version)
        whole = complete(obj, kind.versions[before].structural)
        try:
            made = kind.converter.convert(whole, before, after)
        except InternalError as error:
            # If the object breaks its schema, that is the reason, and the schema has the best text.
            errors = kind.schema_errors(whole, None, before) or (error.errors if isinstance(error, Unfit) else ())
            if not errors:
                raise
            name = (obj.get("metadata") or {}).get("name", "")
            raise Invalid.of(kind.kind.name, kind.error_group, name, errors) from None
        kind.check(made, f"the conversion to {after}")
        return made


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
