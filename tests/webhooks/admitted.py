"""An API in memory whose writes are shown to admission webhooks over the network; their configurations are in a cluster in memory."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import CLUSTER, Api, Group, Kind, Version
from extapi.admission.expressions.evaluating import Evaluator
from extapi.admission.namespaces import NamespaceLabels
from extapi.admission.webhooks.asking import Asking
from extapi.admission.webhooks.mutating import MutatingWebhooks
from extapi.admission.webhooks.source import WebhookCallers, WebhookSource
from extapi.admission.webhooks.validating import ValidatingWebhooks
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.client.services import by_dns
from extapi.client.transport import ClientRequest
from extapi.client.webhookusers import WebhookUsers
from extapi.testing import InMemoryServer
from extapi.testing.memory import Namespaces
from tests.unit.client.conftest import Turning

GROUP, PLURAL = "tables.test", "tables"
REGISTRATION = "admissionregistration.k8s.io"
CONFIGURATIONS = {"mutating": "MutatingWebhookConfiguration", "validating": "ValidatingWebhookConfiguration"}
START = 1_700_000_000.0

_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TABLE = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"legs": {"type": "integer"}}}}}
TABLE = Kind(
    "Table", versions={"v1": Version(_TABLE), "v2": Version(_TABLE)}, storage="v1", plural=PLURAL, status=False
)
CLUSTER_API = Api(
    Group(
        REGISTRATION,
        *(
            Kind(kind, versions={"v1": Version(_FREE)}, storage="v1", scope=CLUSTER, status=False)
            for kind in CONFIGURATIONS.values()
        ),
    )
)


class Permits:
    """An authorizer that allows the verb get, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Attributes]] = []

    async def authorize(self, user: Any, attributes: Attributes) -> Decision:
        self.asked.append((user.name, attributes))
        return Decision(Verdict.ALLOW if attributes.verb == "get" else Verdict.NO_OPINION, "because")


class Admitted:
    """Stop it at the end. ``follow``: whether the configurations are followed from the beginning."""

    def __init__(
        self,
        turning: Turning,
        *,
        api: Api | None = None,
        follow: bool = True,
        cluster: Api = CLUSTER_API,
        users: WebhookUsers | None = None,
    ) -> None:
        self.turning = turning
        self.clock = Clock()
        self.clock.advance(START)
        self.cluster = InMemoryServer(cluster, clock=self.clock, lifecycle=False)
        self.callers = WebhookCallers(by_dns, turning.reactor, users)
        self.permits = Permits()
        self.plugins: list[Any] = []
        self.sources: dict[str, WebhookSource] = {}
        self.namespaces = Namespaces()
        for name, made in (("mutating", MutatingWebhooks), ("validating", ValidatingWebhooks)):
            source = WebhookSource(
                CONFIGURATIONS[name], self.cluster.client, self.callers, clock=self.clock, jitter=lambda: 0.0
            )
            labels = NamespaceLabels(self.namespaces, self.namespaces.live)
            asking = Asking(source, labels, Evaluator(self.permits, self.clock), self.clock)
            self.sources[name] = source
            self.plugins.append(made(asking))
        self.server = InMemoryServer(api or Api(Group(GROUP, TABLE)), clock=self.clock, builtin=self.plugins)
        self.cluster.start()
        self.server.start()
        if follow:
            self.follow()

    def follow(self) -> None:
        for source in self.sources.values():
            source.start()
        self.until(lambda: all(source.synced for source in self.sources.values()))

    def configure(self, kind: str, *webhooks: Mapping[str, Any], name: str = "all") -> None:
        """Register webhooks, in place of those of that name, and wait until they are known."""
        path = f"/apis/{REGISTRATION}/v1/{kind}webhookconfigurations"
        made = {
            "apiVersion": f"{REGISTRATION}/v1",
            "kind": CONFIGURATIONS[kind],
            "metadata": {"name": name},
            "webhooks": list(webhooks),
        }
        self.cluster.request("DELETE", f"{path}/{name}")
        assert self.cluster.request("POST", path, body=made).status == 201
        source = self.sources[kind]
        self.until(lambda: source._informer.get("", name) is not None)
        found = source._informer.get("", name)
        self.until(lambda: (source._informer.get("", name) or {}).get("webhooks") == made["webhooks"], found)

    def begin(self, method: str, path: str, body: Any = None, *, timeout: float = 30.0) -> Deferred[tuple[int, Any]]:
        """Send a request; status and body come later."""
        path, _, query = path.partition("?")
        pairs = [tuple(each.split("=", 1)) for each in query.split("&") if each]
        content = None if body is None else json.dumps(body).encode()
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        asked = ClientRequest(method, path, pairs, {"content-type": kind}, content, timeout)  # type: ignore[arg-type]

        async def sent() -> tuple[int, Any]:
            answer = await self.server.server.transport().send(asked)
            return answer.status, json.loads(await answer.read())

        return Deferred.fromCoroutine(sent())

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body."""
        status, answer = self.wait(self.begin(method, path, body))
        return status, answer

    def create(self, name: str = "a", version: str = "v1", query: str = "", **metadata: Any) -> tuple[int, Any]:
        obj = {
            "apiVersion": f"{GROUP}/{version}",
            "kind": "Table",
            "metadata": {"name": name, **metadata},
            "spec": {"legs": 4},
        }
        return self.request("POST", f"{path(version)}{query}", obj)

    def wait(self, running: Deferred[Any]) -> Any:
        results: list[Any] = []
        running.addBoth(results.append)
        self.until(lambda: bool(results))
        if not isinstance(results[0], tuple):
            results[0].raiseException()
        return results[0]

    def until(self, condition: Any, _: Any = None) -> None:
        """Turn the reactor, and let the clock of both servers go on, until the condition holds."""

        def turned() -> bool:
            self.clock.advance(0.001)
            return bool(condition())

        self.turning.until(turned, 60)

    def stop(self) -> None:
        for source in self.sources.values():
            source.stop()
        self.server.stop()
        self.cluster.stop()
        self.callers.close()
        self.turning.reactor.iterate(0.01)


def path(version: str = "v1", name: str = "") -> str:
    """The path of tables, or of one."""
    found = f"/apis/{GROUP}/{version}/namespaces/default/{PLURAL}"
    return f"{found}/{name}" if name else found


def webhook(url: str, ca: bytes, name: str = "w.test", **members: Any) -> dict[str, Any]:
    """A webhook that is asked about all writes of tables."""
    rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["*"], "resources": [PLURAL]}
    return {
        "name": name,
        "clientConfig": {"url": url, "caBundle": base64.b64encode(ca).decode()},
        "rules": [{**rule, **members.pop("rule", {})}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **members,
    }
