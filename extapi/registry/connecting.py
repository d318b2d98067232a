"""Subresources that take the connection over (``Subresource.connects``): who may connect, to which object.

Admission comes first, then the object is looked up, as in ``ConnectResource``. Must not know HTTP: ``verbs/`` answers.

Source: ``k8s.io/apiserver/pkg/endpoints/handlers/rest.go`` ConnectResource.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from extapi.admission.base import Operation, Review
from extapi.api.connect import Connecter
from extapi.api.protocols import RESTRequest
from extapi.api.subresource import Subresource
from extapi.api.types import Obj
from extapi.api.user import ANONYMOUS, User
from extapi.codec.tables import Columns
from extapi.conversion.hub import Unfit
from extapi.errors import InternalError, NotFound
from extapi.registry.base import Admission, RequestScope
from extapi.registry.reviewed import ReviewedVersions
from extapi.registry.served import ServedKind
from extapi.registry.store import Store
from extapi.registry.stored import StoredObject
from extapi.registry.virtual import subresource_kind


class ConnectResource:
    """A subresource with a connecter.

    Args:
        kind: The kind of the objects that it belongs to.
        name: The name of the subresource.
        sub: Its declaration.
        connecter: Answers its requests.
        store: The store of the objects; None for a virtual kind.

    Attributes:
        connecter: Answers its requests.
        methods: The HTTP methods that it answers.
    """

    def __init__(
        self, kind: ServedKind, name: str, sub: Subresource, connecter: Connecter, store: Store | None
    ) -> None:
        shown = subresource_kind(kind, sub)
        self._kind = kind
        self._shown = shown
        self._version = sub.version
        self._objects = None if store is None else StoredObject(store)
        self.connecter = connecter
        self.methods: Sequence[str] = tuple(sub.methods)
        self.group = kind.group
        self.plural = kind.kind.plural
        self.kind = shown.kind.name
        self.list_kind = shown.kind.list_kind
        self.namespaced = kind.namespaced
        self.subresource = name
        self.behaviour = kind.kind.behaviour

    def api_version(self, scope: RequestScope) -> str:
        """See :class:`extapi.registry.base.Resource`."""
        return self._shown.versions[self._version or scope.version].api_version

    def field_manager(self, scope: RequestScope) -> None:
        """See :class:`extapi.registry.base.Resource`. Nothing is written."""
        del scope

    def selectable(self, scope: RequestScope) -> tuple[str, ...]:
        """See :class:`extapi.registry.base.Resource`. Nothing is listed here."""
        del scope
        return ()

    def coerce_and_default(self, scope: RequestScope, obj: Obj) -> list[str]:
        """See :class:`extapi.registry.base.Resource`. No objects come in here."""
        del scope, obj
        return []

    def columns(self, scope: RequestScope) -> Columns:
        """See :class:`extapi.registry.base.Resource`."""
        return self._shown.versions[self._version or scope.version].columns

    async def admitted(self, scope: RequestScope, name: str, admit: Admission) -> None:
        """Ask all admission plugins. There is no object in such a review, and nothing is run again.

        Raises:
            ApiError: A plugin refuses the request.
        """
        review = Review(
            operation=Operation.CONNECT,
            kind=self._kind.kind,
            group=self.group,
            version=scope.version,
            user=admit.user,
            resource=self.plural,
            subresource=self.subresource,
            namespace=scope.namespace,
            name=name,
            options=admit.options,
            warned=admit.warn,
            annotated=admit.annotate,
            versions=partial(ReviewedVersions, self._shown, self._kind, self.subresource),
            deadline=admit.deadline,
        )
        await admit.chain.mutate(review)
        await admit.chain.validate(review)

    async def found(self, scope: RequestScope, name: str) -> Any:
        """The object, as a strategy sees it; None if its kind is virtual and does not show objects.

        Raises:
            NotFound: There is no such object.
            InternalError: It does not fit its type.
        """
        kind = self._kind
        if self._objects is not None:
            got = await self._objects.get(scope, name)
            obj: Obj = msgspec.json.decode(got.encoded())  # a copy: who connects may change it
            try:
                return kind.to_hub(obj, scope.version)
            except Unfit as unfit:
                raise InternalError.because(f"{self.plural} {name!r} does not fit its type") from unfit
        rest: Any = kind.kind.rest
        if not hasattr(rest, "get"):
            return None
        asked = RESTRequest(scope.user or User(ANONYMOUS), scope.version, scope.namespace, name)
        shown = await rest.get(asked)
        if shown is None:
            raise NotFound.named(self.plural, self.group, name)
        return shown
