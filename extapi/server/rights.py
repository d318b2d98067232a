"""What the cluster does not let the server do, told in its log with the words of what to apply.

A server that lacks a right still runs: it only cannot decide, or is never ready. What it says is what an operator finds.
"""

from __future__ import annotations

from typing import Any

import structlog

from extapi.authentication.subject import subject_flag
from extapi.client.base import Transport
from extapi.client.kube import Client, Obj, Watch
from extapi.errors import Forbidden

_DELEGATOR = (
    "kubectl create clusterrolebinding extension-server:auth-delegator --clusterrole=system:auth-delegator {who}"
)
_READER = (
    "kubectl create rolebinding -n kube-system extension-server:authentication-reader"
    " --role=extension-apiserver-authentication-reader {who}"
)
_NAMESPACES = (
    "kubectl create clusterrole extension-server --verb=get,list,watch --resource=namespaces && "
    "kubectl create clusterrolebinding extension-server --clusterrole=extension-server {who}"
)
_FIXES = {
    "/apis/authentication.k8s.io/v1/tokenreviews": _DELEGATOR,
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": _DELEGATOR,
    "/api/v1/namespaces/kube-system/configmaps": _READER,
    "/api/v1/namespaces": _NAMESPACES,
}
"""Beginnings of paths, the longer ones first: everything that the server itself asks of the cluster."""


class ClusterClient(Client):
    """A client that tells of a right that is missing: once, and again when it was there meanwhile."""

    def __init__(self, transport: Transport, *, user_agent: str) -> None:
        super().__init__(transport, user_agent=user_agent)
        self._log = structlog.get_logger("extapi.server")
        self._told: set[str] = set()

    async def call(self, method: str, path: str, **options: Any) -> Obj:
        """See :meth:`Client.call`."""
        try:
            answer = await super().call(method, path, **options)
        except Forbidden as error:
            self._refused(path, error)
            raise
        self._told.discard(_fix(path))
        return answer

    async def watch(self, resource: Any, **options: Any) -> Watch:
        """See :meth:`Client.watch`."""
        try:
            return await super().watch(resource, **options)
        except Forbidden as error:
            self._refused(resource.path(options.get("namespace", "")), error)
            raise

    def _refused(self, path: str, error: Forbidden) -> None:
        fix = _fix(path)
        if not fix or fix in self._told:
            return
        self._told.add(fix)
        self._log.error(
            "a right is missing in the cluster",
            reason=str(error),
            usually_fixed_by=fix.format(who=subject_flag(str(error))),
            or_else="apply what 'extapi manifests' renders: it has all rights that the server needs",
        )


def _fix(path: str) -> str:
    return next((fix for beginning, fix in _FIXES.items() if path.startswith(beginning)), "")
