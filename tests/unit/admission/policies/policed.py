"""An API in memory whose writes are judged by the policies of a cluster in memory, with params of kinds of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import CLUSTER, Api, Group, Kind, Version
from extapi.admission.expressions.evaluating import Evaluator
from extapi.admission.namespaces import NamespaceLabels
from extapi.admission.policies.checks import PolicyChecks
from extapi.admission.policies.matching import PolicyMatcher
from extapi.admission.policies.params import Params
from extapi.admission.policies.source import PolicySource
from extapi.admission.policies.validating import NAME, ValidatingPolicies
from extapi.admission.policies.validations import Validations
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.client.transport import ClientRequest
from extapi.testing import InMemoryServer
from extapi.testing.memory import Namespaces
from tests.unit.client.conftest import Turning

GROUP, PLURAL = "tables.test", "tables"
REGISTRATION = "admissionregistration.k8s.io"
LIMITS = "limits.test"
START = 1_700_000_000.0

_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TABLE = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"legs": {"type": "integer"}}}}}
TABLE = Kind("Table", versions={"v1": Version(_TABLE)}, storage="v1", plural=PLURAL, status=False)


def _cluster_kind(name: str, plural: str) -> Kind:
    return Kind(name, versions={"v1": Version(_FREE)}, storage="v1", scope=CLUSTER, status=False, plural=plural)


POLICIES = Group(
    REGISTRATION,
    _cluster_kind("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    _cluster_kind("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
)
LIMIT = Kind("Limit", versions={"v1": Version(_FREE)}, storage="v1", plural="limits", status=False)
CLUSTER_API = Api(POLICIES, Group(LIMITS, LIMIT, _cluster_kind("Ceiling", "ceilings")))
LIMIT_KIND = {"apiVersion": f"{LIMITS}/v1", "kind": "Limit"}


class Permits:
    """An authorizer that allows everything, and whose answers take time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seconds = 0.0

    async def authorize(self, user: Any, attributes: Attributes) -> Decision:
        del user, attributes
        self._clock.advance(self.seconds)
        return Decision(Verdict.ALLOW)


class Policed:
    """Stop it at the end. ``follow``: whether policies are followed from the beginning."""

    def __init__(self, turning: Turning, *, follow: bool = True, cluster: Api = CLUSTER_API) -> None:
        self.turning = turning
        self.clock = Clock()
        self.clock.advance(START)
        self.cluster = InMemoryServer(cluster, clock=self.clock, lifecycle=False)
        self.params = Params(self.cluster.client, clock=self.clock, jitter=lambda: 0.0)
        self.source = PolicySource(
            NAME,
            self.cluster.client,
            self.params,
            lambda _, spec: Validations(spec),
            clock=self.clock,
            jitter=lambda: 0.0,
        )
        namespaces = Namespaces()
        labels = NamespaceLabels(namespaces, namespaces.live)
        self.permits = Permits(self.clock)
        self.checks = PolicyChecks()
        evaluator = Evaluator(self.permits, self.clock)
        matcher = PolicyMatcher(self.source, labels, self.clock)
        self.plugin = ValidatingPolicies(matcher, self.params, evaluator, self.clock, self.checks)
        self.server = InMemoryServer(Api(Group(GROUP, TABLE)), clock=self.clock, builtin=[self.plugin])
        self.cluster.start()
        self.server.start()
        if follow:
            self.follow()

    def follow(self) -> None:
        """Begin to follow policies."""
        self.source.start()
        self.until(lambda: self.source.synced)

    def put(self, plural: str, name: str, obj: Mapping[str, Any], *, known: bool = True) -> None:
        """Write a policy or binding, and wait until it is known."""
        path = f"/apis/{REGISTRATION}/v1/{plural}"
        self.cluster.request("DELETE", f"{path}/{name}")
        assert self.cluster.request("POST", path, body=obj).status == 201
        informer = self.source._bindings if "bindings" in plural else self.source._policies
        if known:
            self.until(lambda: (informer.get("", name) or {}).get("spec") == obj["spec"])

    def policy(self, name: str, *expressions: str, bound: bool = True, labels: Any = None, **spec: Any) -> None:
        """Register a policy about tables; ``bound``: with a binding that denies."""
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["*"], "resources": [PLURAL]}
        whole = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": each} for each in expressions],
            **spec,
        }
        made = registered(NAME, name, whole)
        made["metadata"]["labels"] = labels or {}
        self.put("validatingadmissionpolicies", name, made)
        if bound:
            self.bind(name)

    def bind(self, policy: str, name: str = "", **spec: Any) -> None:
        """Register a binding."""
        name = name or policy
        made = registered(f"{NAME}Binding", name, {"policyName": policy, "validationActions": ["Deny"], **spec})
        self.put("validatingadmissionpolicybindings", name, made)

    def limit(self, name: str, most: int, namespace: str = "default") -> None:
        """Make params."""
        path = f"/apis/{LIMITS}/v1/namespaces/{namespace}/limits"
        obj = {**LIMIT_KIND, "metadata": {"name": name, "labels": {"limits": "yes"}}, "most": most}
        assert self.cluster.request("POST", path, body=obj).status == 201

    def delete(self, path: str) -> None:
        """Delete an object of the cluster."""
        assert self.cluster.request("DELETE", path).status == 200

    def begin(self, name: str = "a", legs: int = 4, timeout: float = 30.0, query: str = "") -> Deferred[Any]:
        """Begin to make a table; status and body come later."""
        obj = {"apiVersion": f"{GROUP}/v1", "kind": "Table", "metadata": {"name": name}, "spec": {"legs": legs}}
        pairs = [("dryRun", query)] if query else []
        path, kind = f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}", {"content-type": "application/json"}
        asked = ClientRequest("POST", path, pairs, kind, json.dumps(obj).encode(), timeout)

        async def sent() -> tuple[int, Any]:
            answer = await self.server.server.transport().send(asked)
            return answer.status, json.loads(await answer.read())

        return Deferred.fromCoroutine(sent())

    def create(self, legs: int = 4, **options: Any) -> tuple[int, Any]:
        """Try to make a table."""
        status, body = self.wait(self.begin(legs=legs, query="All", **options))
        return status, body

    def wait(self, running: Deferred[Any]) -> Any:
        """The result, once it is there."""
        results: list[Any] = []
        running.addBoth(results.append)
        self.until(lambda: bool(results))
        return results[0]

    def until(self, condition: Any) -> None:
        """Turn the reactor, and let the clock of both servers go on, until the condition holds."""

        def turned() -> bool:
            self.clock.advance(0.001)
            return bool(condition())

        self.turning.until(turned, 60)

    def stop(self) -> None:
        """Stop both servers."""
        self.source.stop()
        self.params.stop()
        self.server.stop()
        self.cluster.stop()


def registered(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A policy or a binding."""
    return {"apiVersion": f"{REGISTRATION}/v1", "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}
