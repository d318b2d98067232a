"""Clients that log which rights the server lacks in the cluster, and what to apply.

A server without a right still runs, but cannot decide about requests, or never becomes ready; its log says why.
"""

from __future__ import annotations

from typing import Any

from extapi.api.percent import unescaped_leniently
from extapi.api.policyrule import PolicyRule
from extapi.authentication.configmap import subject_flag
from extapi.client.kube import Client, Obj, Watch
from extapi.client.transport import Transport
from extapi.errors import Forbidden
from extapi.listener.requestinfo import request_info
from extapi.server.structuredlog import structlog

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
_WEBHOOKS = (
    "kubectl create clusterrole extension-server:webhooks --verb=get,list,watch"
    " --resource=mutatingwebhookconfigurations.admissionregistration.k8s.io"
    ",validatingwebhookconfigurations.admissionregistration.k8s.io && "
    "kubectl create clusterrolebinding extension-server:webhooks --clusterrole=extension-server:webhooks {who}"
)
_POLICIES = (
    "kubectl create clusterrole extension-server:policies --verb=get,list,watch"
    " --resource=mutatingadmissionpolicies.admissionregistration.k8s.io"
    ",mutatingadmissionpolicybindings.admissionregistration.k8s.io"
    ",validatingadmissionpolicies.admissionregistration.k8s.io"
    ",validatingadmissionpolicybindings.admissionregistration.k8s.io && "
    "kubectl create clusterrolebinding extension-server:policies --clusterrole=extension-server:policies {who}"
)
_LEASES = (
    "kubectl create role extension-server:leader-election -n {namespace} --verb=get,create,update"
    " --resource=leases.coordination.k8s.io && "
    "kubectl create rolebinding extension-server:leader-election -n {namespace}"
    " --role=extension-server:leader-election {who}"
)
_FIXES = {
    "/apis/authentication.k8s.io/v1/tokenreviews": _DELEGATOR,
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": _DELEGATOR,
    "/api/v1/namespaces/kube-system/configmaps": _READER,
    "/api/v1/namespaces": _NAMESPACES,
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic": _POLICIES,
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic": _POLICIES,
    "/apis/admissionregistration.k8s.io/v1/": _WEBHOOKS,
    "/apis/coordination.k8s.io/v1/": _LEASES,
}
"""What gives a right, by the beginning of the path, longer ones first: all requests that the server itself makes."""


class ClusterClient(Client):
    """A client for the server itself. Logs each missing right once, and again after it was there meanwhile."""

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
            usually_fixed_by=fix.format(who=subject_flag(str(error)), namespace=_namespace(path)),
            or_else="apply what 'extapi manifests' renders: it includes all rights that the server needs",
        )


class AuthorsClient(Client):
    """A client for authors' code. Names the missing rule in a note on each error, and logs each rule once."""

    def __init__(self, transport: Transport, *, user_agent: str) -> None:
        super().__init__(transport, user_agent=user_agent)
        self._log = structlog.get_logger("extapi.server")
        self._told: set[PolicyRule] = set()

    async def call(self, method: str, path: str, **options: Any) -> Obj:
        """See :meth:`Client.call`."""
        try:
            return await super().call(method, path, **options)
        except Forbidden as error:
            self._refused(method, path, error)
            raise

    async def watch(self, resource: Any, **options: Any) -> Watch:
        """See :meth:`Client.watch`."""
        try:
            return await super().watch(resource, **options)
        except Forbidden as error:
            self._refused("WATCH", resource.path(options.get("namespace", "")), error)
            raise

    def _refused(self, method: str, path: str, error: Forbidden) -> None:
        rule = missing_rule(method, path, error)
        if rule is None:
            return
        error.add_note(f"The server's account lacks a right in the cluster. {_declared(rule)}")
        if rule in self._told or len(self._told) >= MOST_RULES:
            return
        self._told.add(rule)
        self._log.error(
            "a right is missing in the cluster",
            reason=str(error),
            fixed_by=_declared(rule),
            rule=_yaml(rule),
        )


MOST_RULES = 1000
"""Rules that are logged."""


def missing_rule(method: str, path: str, error: Forbidden) -> PolicyRule | None:
    """The rule that would allow a refused request; None if RBAC did not refuse it.

    Admission refuses with 403, too: for a quota, or in a namespace that is being deleted. An authorizer's refusal has
    ``User "X" cannot VERB resource "R"``.

    Source: ``k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`` forbiddenMessage.
    """
    text = str(error)
    if 'User "' not in text or '" cannot ' not in text:
        return None
    watches = method == "WATCH"
    info = request_info("GET" if watches else method, unescaped_leniently(path), {})
    if not info.is_resource:
        return None
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    verb = "watch" if watches else info.verb
    # An informer lists, then watches; it needs both rights.
    verbs = ("list", "watch") if verb in {"list", "watch"} else (verb,)
    return PolicyRule(api_groups=[info.group], resources=[resource], verbs=verbs)


def _declared(rule: PolicyRule) -> str:
    lists = ", ".join(f"{name}={list(getattr(rule, name))}" for name in ("api_groups", "resources", "verbs"))
    lists = lists.replace("'", '"')
    return (
        f"Declare it with Api(needs=[PolicyRule({lists})]), then apply what 'extapi manifests' renders; "
        "'extapi dev' grants it after a restart"
    )


def _yaml(rule: PolicyRule) -> str:
    """The rule as an element of ``rules`` of a ClusterRole."""
    lists = ", ".join(f'"{each}"' for each in rule.api_groups)
    return f"- apiGroups: [{lists}]\n  resources: [{', '.join(rule.resources)}]\n  verbs: [{', '.join(rule.verbs)}]"


def _namespace(path: str) -> str:
    """The namespace in a path; a word in its place where there is none."""
    return path.partition("/namespaces/")[2].partition("/")[0] or "NAMESPACE"


def _fix(path: str) -> str:
    return next((fix for beginning, fix in _FIXES.items() if path.startswith(beginning)), "")
