"""The cluster as the operator reaches it: its client, the resources that are needed of it, and waiting for it.

Must not know what is moved.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.client.credentials import CredentialsError, in_cluster
from extapi.client.kube import Client, Obj, ResourceName, items_of
from extapi.client.transport import TransportError
from extapi.clock import Clock, sleep
from extapi.errors import InternalError, NotFound, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests
from extapi.takeover.failure import TakeoverFailure

DEFINITIONS = ResourceName("apiextensions.k8s.io", "v1", "customresourcedefinitions")
APISERVICES = ResourceName("apiregistration.k8s.io", "v1", "apiservices")
POLICIES = ResourceName("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
BINDINGS = ResourceName("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings")
SELF = ResourceName("authentication.k8s.io", "v1", "selfsubjectreviews")

PASSING = (TransportError, ServiceUnavailable, ServerTimeout, TooManyRequests, Timeout, InternalError)
"""Errors after which the same request may succeed."""
TIMEOUT = 60.0
"""Seconds per request: that of kube-apiserver."""
_INTERVAL = 0.05
"""Seconds between two looks at something that is waited for."""
PAGE = 500
"""Objects per page of a list."""
_DEFINITIONS = 100
"""Definitions per page: with their schemas, each can have a megabyte."""


@dataclass(frozen=True)
class Cluster:
    """kube-apiserver, and the clock that waits for it."""

    client: Client
    clock: Clock

    async def get(self, resource: ResourceName, name: str) -> Obj | None:
        """A cluster-scoped object; None if there is none."""
        try:
            return await self.client.get(resource, name)
        except NotFound:
            return None

    async def definitions(self) -> list[Obj]:
        """All CustomResourceDefinitions."""
        found: list[Obj] = []
        token = ""
        while True:
            page = await self.client.list(DEFINITIONS, query={"limit": str(_DEFINITIONS), "continue": token})
            found += items_of(page)
            token = (page.get("metadata") or {}).get("continue", "")
            if not token:
                return found

    async def pages(self, resource: ResourceName) -> AsyncIterator[Obj]:
        """The pages of a list of all objects, all of one moment.

        Where objects are so large that a page is too large to be read, pages become smaller.

        Raises:
            Expired: Reading took longer than the server keeps its history.
            ApiError: The server refuses.
            TransportError: There is no answer, not even for a page of one object.
        """
        token, size = "", PAGE
        while True:
            query = {"limit": str(size)} | ({"continue": token} if token else {})
            try:
                page = await self.client.list(resource, query=query)
            except TransportError:
                if size == 1:
                    raise
                size //= 2
                continue
            yield page
            token = (page.get("metadata") or {}).get("continue", "")
            if not token:
                return

    async def until(
        self, missing: Callable[[], Awaitable[str | None]], what: str, *, seconds: float, otherwise: str
    ) -> None:
        """Ask ``missing`` until it returns None; errors that may pass count as missing.

        Args:
            missing: Returns what is still missing, or None.
            what: What is waited for.
            seconds: How long.
            otherwise: What to do if it does not come.

        Raises:
            TakeoverFailure: It did not come in time.
        """
        end = self.clock.seconds() + seconds
        while True:
            try:
                reason = await missing()
            except PASSING as error:
                reason = str(error)
            if reason is None:
                return
            if self.clock.seconds() > end:
                raise TakeoverFailure(f"waited {seconds:g} s for {what}: {reason}. {otherwise}")
            await sleep(self.clock, _INTERVAL)

    async def user(self) -> str:
        """The name of the user whom kube-apiserver takes us for."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        found = await self.client.create(SELF, review)
        return str(found["status"]["userInfo"]["username"])


def kubeconfig_path(given: Path | None) -> Path | None:
    """The kubeconfig that kubectl would take; None: there is none, and this is a pod.

    Raises:
        TakeoverFailure: There is none, and this is no pod; or ``KUBECONFIG`` names several.
    """
    if given is not None:
        return given
    variable = os.environ.get("KUBECONFIG", "")
    if os.pathsep in variable:
        raise TakeoverFailure("KUBECONFIG names several files, of which one has to be chosen: give --kubeconfig FILE")
    path = Path(variable) if variable else Path("~/.kube/config").expanduser()
    if path.exists():
        return path
    if not variable and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    raise TakeoverFailure(f"no kubeconfig: there is no {path}; give --kubeconfig FILE")


def connect(reactor: Any, kubeconfig: Path | None, context: str) -> tuple[Cluster, Callable[[], Awaitable[None]]]:
    """The cluster, and what ends all connections to it.

    Args:
        reactor: The reactor.
        kubeconfig: How to reach it; None: as the pod's service account.
        context: A context of the kubeconfig; empty: the current one.

    Raises:
        TakeoverFailure: The kubeconfig, or the pod's account, cannot be used.
    """
    # Imported here, so that --help answers at once.
    from extapi.client.http import HttpTransport  # noqa: PLC0415
    from extapi.client.kubeconfig import load_kubeconfig  # noqa: PLC0415

    try:
        if kubeconfig is None:
            credentials = in_cluster(reactor, os.environ)
        else:
            credentials = load_kubeconfig(kubeconfig, reactor, context=context)
        transport = HttpTransport(reactor, credentials)
    except CredentialsError as error:
        raise TakeoverFailure(str(error)) from error
    return Cluster(Client(transport, timeout=TIMEOUT, user_agent="extapi-takeover"), reactor), transport.close
