"""An API in memory whose objects are changed by the MutatingAdmissionPolicies of a cluster in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.task import Clock

from extapi import CLUSTER, Api, Group, Kind, Version
from extapi.admission.expressions.evaluating import Evaluator
from extapi.admission.namespaces import NamespaceLabels
from extapi.admission.policies.checks import MutationChecks
from extapi.admission.policies.matching import PolicyMatcher
from extapi.admission.policies.mutating import NAME, MutatingPolicies
from extapi.admission.policies.mutations import Mutations
from extapi.admission.policies.params import Params
from extapi.admission.policies.source import PolicySource
from extapi.testing import InMemoryServer
from extapi.testing.memory import Namespaces
from tests.unit.admission.policies.policed import REGISTRATION, START, Permits, registered
from tests.unit.client.conftest import Turning

GROUP, PLURAL = "tables.test", "tables"
_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXTS = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
_SPEC = {
    "type": "object",
    "properties": {
        "legs": {"type": "integer", "default": 4},
        "tags": _TEXTS,
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
TABLE = Kind(
    "Table",
    versions={each: Version({"type": "object", "properties": {"spec": _SPEC}}) for each in ("v1", "v2")},
    storage="v1",
    plural=PLURAL,
    status=False,
)


def _cluster_kind(name: str, plural: str) -> Kind:
    return Kind(name, versions={"v1": Version(_FREE)}, storage="v1", scope=CLUSTER, status=False, plural=plural)


CLUSTER_API = Api(
    Group(
        REGISTRATION,
        _cluster_kind(NAME, "mutatingadmissionpolicies"),
        _cluster_kind(f"{NAME}Binding", "mutatingadmissionpolicybindings"),
    )
)


def apply(text: str) -> dict[str, Any]:
    """A mutation by an object."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def patch(text: str) -> dict[str, Any]:
    """A mutation by a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


class Mutated:
    """Stop it at the end."""

    def __init__(self, turning: Turning) -> None:
        self.turning = turning
        self.clock = Clock()
        self.clock.advance(START)
        self.cluster = InMemoryServer(CLUSTER_API, clock=self.clock, lifecycle=False)
        client = self.cluster.client
        self.params = Params(client, clock=self.clock, jitter=lambda: 0.0)
        self.source = PolicySource(NAME, client, self.params, Mutations, clock=self.clock, jitter=lambda: 0.0)
        namespaces = Namespaces()
        labels = NamespaceLabels(namespaces, namespaces.live)
        self.permits = Permits(self.clock)
        matcher = PolicyMatcher(self.source, labels, self.clock)
        self.checks = MutationChecks()
        evaluator = Evaluator(self.permits, self.clock)
        self.plugin = MutatingPolicies(matcher, self.params, evaluator, self.clock, self.checks)
        self.server = InMemoryServer(Api(Group(GROUP, TABLE)), clock=self.clock, builtin=[self.plugin])
        self.cluster.start()
        self.server.start()
        self.source.start()
        self.until(lambda: self.source.synced)

    def policy(self, name: str, *mutations: Mapping[str, Any], versions: str = "*", **spec: Any) -> None:
        """Register a policy about tables, with a binding."""
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": [versions], "resources": [PLURAL]}
        whole = {"matchConstraints": {"resourceRules": [rule]}, "mutations": list(mutations), **spec}
        self._put("mutatingadmissionpolicies", registered(NAME, name, whole))
        self._put("mutatingadmissionpolicybindings", registered(f"{NAME}Binding", name, {"policyName": name}))

    def _put(self, plural: str, obj: Mapping[str, Any]) -> None:
        name = obj["metadata"]["name"]
        assert self.cluster.request("POST", f"/apis/{REGISTRATION}/v1/{plural}", body=obj).status == 201
        informer = self.source._bindings if "bindings" in plural else self.source._policies
        self.until(lambda: informer.get("", name) is not None)

    def create(self, version: str = "v1", name: str = "a", **spec: Any) -> tuple[int, Any]:
        """Make a table; status and body."""
        obj = {"apiVersion": f"{GROUP}/{version}", "kind": "Table", "metadata": {"name": name}, "spec": spec}
        return self.send("POST", "", obj, version)

    def send(self, method: str, rest: str, obj: Any = None, version: str = "v1") -> tuple[int, Any]:
        """One request; status and body."""
        path = f"/apis/{GROUP}/{version}/namespaces/default/{PLURAL}{rest}"
        answer = self.server.request(method, path, body=obj)
        return answer.status, answer.json()

    def until(self, condition: Any) -> None:
        """Turn the reactor, and let the clock go on, until the condition holds."""

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
