"""A freeze of all writes of a kind: a ValidatingAdmissionPolicy with its binding, and the proof that kube-apiserver obeys it.

kube-apiserver asks policies about its own resources, custom ones included, and not about requests that it proxies to
extension servers. ``extapi serve`` asks the cluster's policies as well, but for freezes, which it knows by label and name. So
a freeze is about the definition's objects alone. Must not know what happens meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from extapi.admission.policies.definition import FREEZER
from extapi.client.kube import Obj, ResourceName, items_of
from extapi.clock import sleep
from extapi.console.failure import told
from extapi.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from extapi.takeover.cluster import BINDINGS, PASSING, POLICIES, Cluster
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.moved import MovedKind

MANAGER = FREEZER
"""The label app.kubernetes.io/managed-by of what is made, and the field manager of the writes."""
EXPORTER = "extapi-export"
"""The field manager of the only writes that a freeze for an export lets through."""
PREFIX = f"{FREEZER}."
PROOFS = 3
"""How many refusals in a row prove a freeze: more than one kube-apiserver may answer."""
PAUSE = 0.1
SECONDS = 60.0
"""How long kube-apiserver may take until it obeys."""
_MESSAGE = "is moving to another server, and takes no writes meanwhile: try again in some seconds"


@dataclass(frozen=True)
class Freeze:
    """The freeze of one kind.

    Args:
        cluster: The cluster.
        kind: The kind.
        exempt: The user whose writes as :data:`EXPORTER` pass; empty: nobody's do.
        settle: Seconds to wait where nothing can be tried, as there are no objects.
    """

    cluster: Cluster
    kind: MovedKind
    exempt: str = ""
    settle: float = 5.0

    @property
    def name(self) -> str:
        """The name of the policy and of the binding."""
        return PREFIX + self.kind.name

    def policy(self) -> Obj:
        """The policy: it refuses every create, update and delete, of subresources as well."""
        expression = "false"
        if self.exempt:
            # Options of a delete name no field manager.
            expression = (
                f"request.userInfo.username == {json.dumps(self.exempt)} && (request.operation == 'DELETE' || "
                f"(has(request.options.fieldManager) && request.options.fieldManager == '{EXPORTER}'))"
            )
        definition = self.kind.definition
        rule = {
            "apiGroups": [definition.group],
            "apiVersions": ["*"],
            "resources": [definition.plural, f"{definition.plural}/*"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
        }
        validation = {"expression": expression, "message": f"{self.kind.name} {_MESSAGE}", "reason": "Forbidden"}
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [validation],
        }
        return self._object("ValidatingAdmissionPolicy", spec)

    def binding(self) -> Obj:
        """The binding, which puts the policy in force everywhere."""
        return self._object(
            "ValidatingAdmissionPolicyBinding", {"policyName": self.name, "validationActions": ["Deny"]}
        )

    def _object(self, kind: str, spec: dict[str, Any]) -> Obj:
        metadata = {"name": self.name, "labels": {"app.kubernetes.io/managed-by": MANAGER}}
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}

    async def begin(self) -> str:
        """Put it in force, unless it is, and wait until writes are refused.

        Returns:
            What identifies it, as :meth:`token`.

        Raises:
            TakeoverFailure: The cluster has no policies, or does not obey this one.
        """
        await self.make()
        await self._prove()
        return await self.token()

    async def make(self) -> None:
        """Make the policy and the binding, unless they are there.

        Raises:
            TakeoverFailure: The cluster has no policies, or refuses this one.
        """
        try:
            await self._put(POLICIES, self.policy())
            await self._put(BINDINGS, self.binding())
        except NotFound as error:
            raise TakeoverFailure(
                "kube-apiserver has no ValidatingAdmissionPolicies (they came with Kubernetes 1.30), and RBAC cannot refuse "
                "what another role allows: stop all who write these objects, and give --writers-are-stopped"
            ) from error
        except ApiError as error:
            raise TakeoverFailure(f"writes of {self.kind.name} cannot be frozen: {told(error)}") from error

    async def _put(self, resource: ResourceName, obj: Obj) -> None:
        query = {"fieldManager": MANAGER}
        while True:
            try:
                await self.cluster.client.create(resource, obj, query=query)
            except AlreadyExists:
                live = await self.cluster.get(resource, self.name)
                if live is None:
                    continue
                if _same(live["spec"], obj["spec"]):
                    return
                metadata = {**obj["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
                try:
                    await self.cluster.client.update(resource, self.name, {**obj, "metadata": metadata}, query=query)
                except (Conflict, NotFound):
                    continue
            return

    async def token(self) -> str:
        """What identifies the policy in force; empty if there is none. It changes if the policy was away for a moment."""
        policy = await self.cluster.get(POLICIES, self.name)
        binding = await self.cluster.get(BINDINGS, self.name)
        if policy is None or binding is None or not _same(policy["spec"], self.policy()["spec"]):
            return ""
        return "/".join(str(each["metadata"][name]) for each in (policy, binding) for name in ("uid", "generation"))

    async def _prove(self) -> None:
        """Try writes, as dry runs that change nothing, until several in a row are refused."""
        refused = 0

        async def missing() -> str | None:
            nonlocal refused
            verdict = await self._tried()
            if verdict is None:
                await sleep(self.cluster.clock, self.settle)
                return None
            refused = refused + 1 if verdict == "" else 0
            if refused >= PROOFS:
                return None
            await sleep(self.cluster.clock, PAUSE)
            return verdict or "not yet refused by every server"

        await self.cluster.until(
            missing,
            f"writes of {self.kind.name} to be refused",
            seconds=SECONDS,
            otherwise="Run it again, or take the freeze away: kubectl delete "
            f"validatingadmissionpolicybinding,validatingadmissionpolicy {self.name}",
        )

    async def _tried(self) -> str | None:
        """Try an update that changes nothing: empty if it was refused by the freeze, None if there is no object to try."""
        client, resource = self.cluster.client, self.kind.resource
        items = items_of(await client.list(resource, query={"limit": "1"}))
        if not items:
            return None
        metadata = items[0]["metadata"]
        try:
            await client.patch(
                resource,
                metadata["name"],
                {},
                namespace=metadata.get("namespace", ""),
                query={"dryRun": "All", "fieldManager": MANAGER},
            )
        except Forbidden as error:
            return "" if self.name in error.message else error.message
        except PASSING:
            raise
        except ApiError as error:
            return error.message
        return "they are not yet"

    async def end(self) -> None:
        """Take it away, if it is there: the binding first, as a policy alone refuses nothing."""
        for resource in (BINDINGS, POLICIES):
            try:
                await self.cluster.client.delete(resource, self.name)
            except NotFound:
                continue

    async def thaw(self) -> None:
        """Take it away, and wait until kube-apiserver takes writes; it has to serve the objects.

        Raises:
            TakeoverFailure: It goes on refusing them.
        """
        await self.end()
        accepted = 0

        async def missing() -> str | None:
            nonlocal accepted
            accepted = accepted + 1 if await self._tried() != "" else 0
            return None if accepted >= PROOFS else "they are refused"

        await self.cluster.until(
            missing,
            f"writes of {self.kind.name} to be taken",
            seconds=SECONDS,
            otherwise=f"The freeze {self.name} is gone; ask kube-apiserver's log",
        )


def _same(live: Any, wanted: Any) -> bool:
    """Whether the live value says what is wanted, besides defaults that the server has filled in."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(_same(live.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and len(live) == len(wanted) and all(map(_same, live, wanted))
    return bool(live == wanted)
