"""The params of policies: which resource a kind is, and one informer for each kind that is used.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/generic`` policy_source.go ensureParamsForPolicyLocked,
policy_dispatcher.go CollectParams.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Set as AbstractSet
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.admission.policies.definition import ParamKind
from extapi.api.labelselectors import selector_of
from extapi.api.types import Obj
from extapi.client.informer import Informer
from extapi.client.kube import Client, ResourceName
from extapi.client.transport import TransportError
from extapi.clock import Clock, Late, in_time
from extapi.errors import ApiError, BadRequest

WAIT: Final = 1.0
"""Seconds that a write waits for params that are not known yet, and between two looks for a kind that there is not."""
_log = Logger()


class ParamError(Exception):
    """A policy or binding cannot be used. The text is kube-apiserver's."""


class Params:
    """Follows params. Call :meth:`stop` at the end.

    Args:
        client: Reads them, and asks which resource a kind is.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1).
    """

    def __init__(self, client: Client, *, clock: Clock, jitter: Callable[[], float]) -> None:
        self._client = client
        self._clock = clock
        self._jitter = jitter
        self._used: dict[str, AbstractSet[ParamKind]] = {}
        self._followed: dict[ParamKind, _Followed] = {}

    def use(self, source: str, kinds: AbstractSet[ParamKind]) -> None:
        """Follow what is used, and nothing else.

        Args:
            source: Who uses them.
            kinds: All kinds that it uses now.
        """
        self._used[source] = kinds
        used: set[ParamKind] = set().union(*self._used.values())
        for kind in [each for each in self._followed if each not in used]:
            self._followed.pop(kind).stop()
        for kind in used:
            if kind not in self._followed:
                self._followed[kind] = _Followed(kind, self._client, self._clock, self._jitter)

    def stop(self) -> None:
        """Stop for good."""
        self._used.clear()
        for each in self._followed.values():
            each.stop()
        self._followed.clear()

    async def check(self, kind: ParamKind | None) -> None:
        """Check that there is such a kind.

        Raises:
            ParamError: There is none, as far as is known.
        """
        followed = None if kind is None else self._followed.get(kind)
        if followed is not None:
            await followed.find()

    async def collect(
        self, kind: ParamKind | None, reference: Mapping[str, Any] | None, namespace: str
    ) -> list[Obj | None]:
        """The params to evaluate a policy with, one after the other; None: without.

        Args:
            kind: Their kind (``paramKind``).
            reference: The binding's ``paramRef``.
            namespace: The namespace of the request.

        Raises:
            ParamError: The binding cannot be used, or there are no params and it refuses that.
        """
        if kind is None or reference is None:
            return [None]
        followed = self._followed.get(kind)
        informer = None if followed is None else followed.informer
        if followed is None or informer is None:
            raise ParamError(f"paramKind kind `{kind}` not known")
        within = str(reference.get("namespace") or "")
        if followed.namespaced and not (within or namespace):
            raise ParamError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
        if not informer.synced and not await followed.synced_in_time():
            raise ParamError(f"paramKind kind `{kind}` not yet synced to use for admission")
        if within and not followed.namespaced:
            raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        found = _selected(informer, reference, (within or namespace) if followed.namespaced else None)
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
        type_ = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [each if "kind" in each else {**type_, **each} for each in found]


def _selected(informer: Informer, reference: Mapping[str, Any], namespace: str | None) -> list[Obj]:
    """The params that a reference is to, by namespace and name; ``namespace`` is None for kinds that are in none.

    Raises:
        ParamError: The reference is not valid.
    """
    name, selector = str(reference.get("name") or ""), reference.get("selector")
    if name:
        if selector is not None:
            raise ParamError("paramRef.name and paramRef.selector are mutually exclusive")
        found = informer.get(namespace or "", name)
        return [] if found is None else [found]
    if selector is None:
        raise ParamError("one of name or selector must be provided")
    try:
        wanted = selector_of(selector)
    except BadRequest as error:
        raise ParamError(error.message) from None
    names: dict[tuple[str, str], Obj] = {}
    for each in informer.items():
        metadata = each.get("metadata") or {}
        if namespace in (None, metadata.get("namespace")) and wanted.matches(metadata.get("labels") or {}):
            names[metadata.get("namespace", ""), metadata.get("name", "")] = each
    return [names[key] for key in sorted(names)]


class _Followed:
    """The params of one kind.

    Attributes:
        informer: Follows them; None: the resource is not known.
        namespaced: Whether they are in namespaces.
    """

    def __init__(self, kind: ParamKind, client: Client, clock: Clock, jitter: Callable[[], float]) -> None:
        self._kind = kind
        self._client = client
        self._clock = clock
        self._jitter = jitter
        self.informer: Informer | None = None
        self.namespaced = False
        self._waiters: list[Deferred[None]] = []
        self._looked = 0.0
        self._told = False
        """Whether an operator has been told that the resource is not known."""
        self._looking: Deferred[None] | None = None
        self._look()

    def stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self.informer is not None:
            self.informer.stop()

    async def find(self) -> None:
        """Wait for the resource; look again if the last time is long ago.

        Raises:
            ParamError: It is not known.
        """
        if self.informer is None and self._looking is None and self._clock.seconds() - self._looked >= WAIT:
            self._look()
        if self._looking is not None:
            with contextlib.suppress(Late):
                await in_time(self._clock, WAIT, Deferred.fromCoroutine(self._found()))
        if self.informer is None:
            kind = self._kind
            shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
            raise ParamError(f"failed to find resource referenced by paramKind: '{shown}'")

    async def synced_in_time(self) -> bool:
        """Whether all params are known within the time that a write waits for them."""
        if self.informer is None:
            return False
        with contextlib.suppress(Late):
            await in_time(self._clock, WAIT, Deferred.fromCoroutine(self.informer.wait_synced()))
            return True
        kind = self._kind
        text = (
            "admission policies wait for their params: {kind} of {version} cannot be listed; "
            "this server's account needs list and watch on them"
        )
        _log.warn(text, kind=kind.kind, version=kind.api_version)
        return False

    async def _found(self) -> None:
        waiter: Deferred[None] = Deferred()
        self._waiters.append(waiter)
        await waiter

    def _look(self) -> None:
        self._looked = self._clock.seconds()
        looking = Deferred.fromCoroutine(self._discover())
        if not looking.called:
            self._looking = looking

    async def _discover(self) -> None:
        """Find the resource, and follow it."""
        kind = self._kind
        path = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        try:
            found = await self._client.call("GET", path)
        except CancelledError:
            return
        except (ApiError, TransportError) as error:
            found, why = {}, str(error)
        else:
            why = "the API server does not have it"
        resource = _resource(found, kind.kind)
        if resource is not None:
            self.namespaced = bool(resource.get("namespaced"))
            name = ResourceName(kind.group, kind.version, str(resource["name"]))
            self.informer = Informer(self._client, name, clock=self._clock, jitter=self._jitter)
            self.informer.start()
        elif not self._told:
            self._told = True
            text = "admission policies cannot be kept: their params, {kind} of {version}, are not known: {why}"
            _log.warn(text, kind=kind.kind, version=kind.api_version, why=why)
        self._looking = None
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.called:
                waiter.callback(None)


def _resource(found: Obj, kind: str) -> Mapping[str, Any] | None:
    """The resource of a kind in the discovery document of a version."""
    resources = found.get("resources")
    for each in resources if isinstance(resources, list) else ():
        if isinstance(each, dict) and each.get("kind") == kind and "/" not in str(each.get("name")):
            return each
    return None
