"""All stored kinds of the control plane in one API, without the control plane."""

from typing import Any

from extapi import Api, Group
from extapi.controlplane.kinds import (
    apiregistration,
    core,
    events,
    events_v1,
    leases,
    rbac,
    services,
    webhookconfigurations,
)
from extapi.controlplane.policies import kinds as policies


class NoTokens:
    """Answers for the subresource token; nobody asks here."""

    async def create(self, asked: Any, obj: Any) -> Any:
        return obj


def stored_kinds() -> Api:
    return Api(
        Group(
            "",
            core.NAMESPACE,
            core.CONFIG_MAP,
            core.SECRET,
            core.service_account(NoTokens()),
            services.SERVICE,
            events.EVENT,
        ),
        Group("events.k8s.io", events_v1.EVENT),
        Group("coordination.k8s.io", leases.LEASE),
        Group("rbac.authorization.k8s.io", rbac.ROLE, rbac.CLUSTER_ROLE, rbac.ROLE_BINDING, rbac.CLUSTER_ROLE_BINDING),
        Group("apiregistration.k8s.io", apiregistration.API_SERVICE),
        Group(
            "admissionregistration.k8s.io",
            webhookconfigurations.MUTATING,
            webhookconfigurations.VALIDATING,
            *policies.ALL,
        ),
    )
