"""The ``scale`` subresource of a stored kind (behaviour E74).

It shows a part of the object as an ``autoscaling/v1`` Scale. A write changes the wanted number of replicas and is otherwise
a write of the object: same rules, and the generation counts. Admission plugins are asked about the Scale.

Source: ``apiextensions-apiserver/pkg/registry/customresource/etcd.go`` ScaleREST.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final

import msgspec

from extapi.admission.base import Operation, Review
from extapi.admission.chain import AdmissionChain
from extapi.api.behaviour import Decoding
from extapi.api.column import AGE, Column
from extapi.api.definition import Kind, Version
from extapi.api.markers import Format
from extapi.api.types import Obj, Object, Struct
from extapi.codec.body import not_registered
from extapi.codec.scale import API_VERSION, GROUP, INT32, KIND, VERSION, coerce_scale
from extapi.codec.strictjson import encode_status
from extapi.codec.tables import Columns
from extapi.errors import BadRequest, InternalError, StorageError
from extapi.managedfields.atom import atom_of
from extapi.managedfields.fieldmanager import FieldManager, with_managed_fields
from extapi.managedfields.managers import Managed, managed_of
from extapi.managedfields.scale import ReplicasPaths, parent_managers, scale_managers
from extapi.managedfields.updater import Conversion, Types
from extapi.registry.base import Admission, ObjectResult, RequestScope, UpdateFunction
from extapi.registry.results import DecodedResult
from extapi.registry.reviewed import RequestPath
from extapi.registry.scalepaths import ScalePaths
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.registry.stored import StoredObject
from extapi.registry.update import update
from extapi.registry.virtual import PathWrite
from extapi.schema.openapi.meta import AUTOSCALING, meta_schemas

_UNSET: Final = INT32[0]
"""The number that a patch finds where the object has none; an update that leaves it is refused."""
_COLUMNS: Final = (
    Column("Desired", ".spec.replicas", "integer", description="Number of desired replicas"),
    Column("Available", ".status.replicas", "integer", description="Number of actual replicas"),
    AGE,
)
"""Source: ``apiextensions-apiserver/pkg/apiserver/helpers.go`` getScaleColumnsForVersion."""


class ScaleSpec(Struct):
    """The wanted state."""

    replicas: Annotated[int, Format("int32")] = 0


class ScaleStatus(Struct):
    """The present state."""

    replicas: Annotated[int, Format("int32")] = 0
    selector: str = ""


class ScaleObject(Object):
    """What plugins see of a write to ``scale``."""

    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


@dataclass(frozen=True, kw_only=True)
class ScaleDecoding(Decoding):
    """A Scale need not say what it is.

    Every error of decoding has one text: the codec knows Scales, and the code that words its errors only custom resources.
    """

    def typed(self, value: Any, kind: str, group_version: str) -> Any:
        """See :class:`extapi.api.behaviour.Decoding`."""
        value = {} if value is None else value
        if isinstance(value, dict):
            typed = {"apiVersion": value.get("apiVersion") or group_version, "kind": value.get("kind") or kind}
            return {**value, **typed}
        return value

    def wrong_type(self, kind: str, api_version: str, wanted: str, group_version: str) -> str:
        """See :class:`extapi.api.behaviour.Decoding`."""
        return self.wrong_patched_type(kind, api_version, wanted, group_version)

    def wrong_patched_type(self, kind: str, api_version: str, wanted: str, group_version: str) -> str:
        """See :class:`extapi.api.behaviour.Decoding`."""
        return "" if (kind, api_version) == (wanted, group_version) else not_registered(kind, api_version)

    def refusal(self, error: BadRequest) -> BadRequest:
        """See :class:`extapi.api.behaviour.Decoding`."""
        del error
        return BadRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')


def scale_kind(kind: Kind) -> ServedKind:
    """The kind of the Scales of a kind's objects: what plugins are asked about, and what clients are shown."""
    scale = Kind(
        KIND,
        versions={VERSION: Version(ScaleObject)},
        storage=VERSION,
        scope=kind.scope,
        plural=kind.plural,
        columns=_COLUMNS,
        status=False,
    )
    return ServedKind(scale, GROUP)


class ScaleResource(StoredObject):
    """The scale subresource of a stored kind, in the versions that have one."""

    subresource = "scale"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        declared = store.kind.kind
        self._scale = scale_kind(declared)
        self.kind = KIND
        self.list_kind = f"{KIND}List"
        self.behaviour = replace(declared.behaviour, decoding=ScaleDecoding(), protobuf=None, patch_types={})
        self._replicas_paths: ReplicasPaths = {
            each.api_version: None if each.scale is None else each.scale.replicas
            for each in store.kind.versions.values()
        }

    def api_version(self, scope: RequestScope) -> str:
        """See :class:`extapi.registry.base.Resource`."""
        del scope
        return API_VERSION

    def coerce_and_default(self, scope: RequestScope, obj: Obj) -> list[str]:
        """See :class:`extapi.registry.base.Resource`."""
        del scope
        try:
            return coerce_scale(obj)
        except BadRequest as error:
            raise BadRequest(f'{KIND} in version "{VERSION}" cannot be handled as a {KIND}: {error}') from None

    def complete_applied(self, scope: RequestScope, obj: Obj) -> None:
        """See :class:`extapi.registry.base.Applied`."""
        self.coerce_and_default(scope, obj)

    def columns(self, scope: RequestScope) -> Columns:
        """See :class:`extapi.registry.base.Resource`."""
        del scope
        return self._scale.versions[VERSION].columns

    async def get(self, scope: RequestScope, name: str, resource_version: str = "") -> ObjectResult:
        """See :class:`extapi.registry.base.ResourceGetter`."""
        found = await super().get(scope, name, resource_version)
        paths, obj = self._paths(scope), found.decoded()
        shown = self._shown(paths.scale(obj), found.revision)
        if not paths.has_replicas(obj):
            raise InternalError.because(f'the spec replicas field "{paths.spec_path}" does not exist')
        return shown

    def field_manager(self, scope: RequestScope) -> FieldManager:
        """See :class:`extapi.registry.base.Resource`. It knows Scales, and not the object."""
        del scope
        return _field_manager()

    async def update(self, scope: RequestScope, name: str, change: UpdateFunction, *, admit: Admission) -> ObjectResult:
        """See :class:`extapi.registry.base.ResourceUpdater`."""
        paths = self._paths(scope)

        def write() -> PathWrite:
            whose = RequestScope(VERSION, scope.namespace)
            return PathWrite(self._scale, whose, admit, RequestPath(self._store.kind, scope.version, name))

        async def rescaled(old: Obj) -> Obj:
            before, managers = paths.scale(old), _managers(old)
            shown = scale_managers(managers, self._replicas_paths, API_VERSION)
            if shown.sets:
                before["metadata"]["managedFields"] = shown.to_json()
            if not paths.has_replicas(old):
                before["spec"] = {"replicas": _UNSET}
            attempt = write()
            after = await attempt.mutated(Operation.UPDATE, await change(before), before, _keep)
            attempt.check_schema(after, before)
            replicas = after.get("spec", {}).get("replicas", 0)
            if replicas == _UNSET:
                raise BadRequest(f'the spec replicas field "{paths.spec_path}" cannot be empty')
            new = paths.scaled(old, replicas)
            given = after["metadata"].get("resourceVersion") or old["metadata"]["resourceVersion"]
            new["metadata"] = {**old["metadata"], "resourceVersion": given}
            managers = parent_managers(managers, _managers(after), self._replicas_paths, old["apiVersion"])
            return with_managed_fields(new, managers)

        async def validate(review: Review) -> None:
            if review.obj is not None and review.old is not None:
                await write().checked(Operation.UPDATE, paths.scale(review.obj), paths.scale(review.old))

        of_object = msgspec.structs.replace(admit, chain=_ScaleChain(validate), subresource="")
        stored = await update(self._store, scope, name, rescaled, of_object, finish=self._finish)
        return self._shown(paths.scale(stored.decoded()), stored.revision)

    def _finish(self, obj: Obj, version: str) -> None:
        """Fill in, in place, the defaults of what the number is in, which may be new, as a reader of the stored object does."""
        if self._store.kind.is_stored_as(version):
            self._store.kind.prune_and_default(obj, version)

    def _paths(self, scope: RequestScope) -> ScalePaths:
        paths = self._store.kind.versions[scope.version].scale
        if paths is None:
            raise InternalError.because(f"{self.plural} have no scale in {scope.version}")
        return paths

    def _shown(self, scale: Obj, revision: int) -> ScaleResult:
        return ScaleResult(self._scale, VERSION, scale, revision)


class ScaleResult(DecodedResult):
    """A Scale, whose members keep the order of Go's."""

    def encoded(self) -> bytes:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return encode_status(self.decoded())


class _ScaleChain(AdmissionChain):
    """The admission of the object's write: validators see its Scale; the mutators have seen it before."""

    def __init__(self, validate: Callable[[Review], Awaitable[None]]) -> None:
        super().__init__(())
        self._validate = validate

    async def validate(self, review: Review) -> None:
        """See :class:`extapi.admission.chain.AdmissionChain`."""
        await self._validate(review)


class _NoConversion(Conversion):
    """A Scale has one version."""

    async def whole(self, obj: Obj, api_version: str) -> Obj:
        """See :class:`extapi.managedfields.updater.Conversion`."""
        raise StorageError(
            f"request to convert CR to an invalid group/version: {api_version}, from {obj['apiVersion']}"
        )


@cache
def _field_manager() -> FieldManager:
    atom = atom_of({"$ref": f"{AUTOSCALING}{KIND}"}, meta_schemas())
    return FieldManager(Types({API_VERSION: atom}, _NoConversion()), API_VERSION, KIND, ScaleResource.subresource)


def _managers(obj: Obj) -> Managed:
    try:
        return managed_of(obj["metadata"].get("managedFields"))
    except ValueError as error:
        raise StorageError(str(error)) from None


def _keep(_: Obj) -> None:
    """Restore nothing of what plugins change: only the number is used."""
