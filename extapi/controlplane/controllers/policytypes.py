"""Writes what type checking says about ValidatingAdmissionPolicies to their status.

Source: ``kubernetes/pkg/controller/validatingadmissionpolicystatus``.
"""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.threads import deferToThreadPool

from extapi import Conflict, Context, Invalid, NotFound
from extapi.admission.policies.servedtypes import ServedTypes
from extapi.admission.policies.typechecking import types_of, warnings_of
from extapi.api.types import Obj
from extapi.client.kube import APPLY_PATCH, ResourceName
from extapi.controlplane.kinds.admissionparts import GROUP

MANAGER: Final = "validatingadmissionpolicy-status"
SECONDS: Final = 5.0
"""How long one policy is checked; expressions that have not been reached have no warnings."""
POLICIES: Final = ResourceName(GROUP, "v1", "validatingadmissionpolicies")


class PolicyTypeController:
    """Checks each policy once per generation.

    Args:
        reactor: Provides the clock.
        pool: The thread pool in which expressions are checked; without one, they are in the reactor's thread.
    """

    def __init__(self, reactor: Any, pool: Any = None) -> None:
        self._reactor = reactor
        self._pool = pool

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        queue = context.queue()
        policies = context.informer(
            POLICIES.group,
            POLICIES.version,
            POLICIES.resource,
            on_change=lambda _event, policy: queue.add(policy["metadata"]["name"]),
        )

        async def check(name: str) -> None:
            policy = policies.get("", name)
            if policy is None:
                return
            generation = policy["metadata"]["generation"]
            if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
                return
            warnings = await self._warnings(policy, context)
            checking = {"expressionWarnings": warnings} if warnings else {}
            await _apply(context, policy, {"observedGeneration": generation, "typeChecking": checking})

        await policies.wait_synced()
        await queue.each(check)

    async def _warnings(self, policy: Obj, context: Context) -> list[dict[str, str]]:
        types = await types_of(policy, ServedTypes(context.client))
        end = self._reactor.seconds() + SECONDS

        def expired() -> bool:
            return bool(self._reactor.seconds() >= end)

        if self._pool is None:
            return warnings_of(policy, types, expired)
        found: list[dict[str, str]] = await deferToThreadPool(
            self._reactor, self._pool, warnings_of, policy, types, expired
        )
        return found


async def _apply(context: Context, policy: Obj, status: Obj) -> None:
    name = policy["metadata"]["name"]
    obj = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "status": status,
    }
    try:
        await context.client.call(
            "PATCH",
            POLICIES.path("", name, "status"),
            query={"fieldManager": MANAGER, "force": "true"},
            obj=obj,
            content_type=APPLY_PATCH,
        )
    except (NotFound, Conflict, Invalid):
        return  # it is gone, or has changed and will be seen again
