"""The API of the control plane: its groups, admission plugins and controllers."""

from __future__ import annotations

from collections.abc import Sequence

from extapi import NAMESPACED, Api, Controller, Group
from extapi.authorization.authorizer import Authorizer
from extapi.clock import Clock
from extapi.controlplane.access import reviews
from extapi.controlplane.access.escalation import Escalation
from extapi.controlplane.access.rbac import RBAC
from extapi.controlplane.access.tokenreviews import TokenRequests, TokenReviews
from extapi.controlplane.access.tokens import Tokens
from extapi.controlplane.controllers.accounts import AccountController
from extapi.controlplane.controllers.garbage.collector import GarbageCollector
from extapi.controlplane.controllers.namespaces import NamespaceController
from extapi.controlplane.controllers.roles import RoleAggregationController
from extapi.controlplane.customresources.registration import RegistrationController
from extapi.controlplane.kinds import (
    apiextensions,
    apiregistration,
    authentication,
    authorization,
    core,
    events,
    events_v1,
    leases,
    rbac as access,
    services,
    webhookconfigurations,
)
from extapi.controlplane.kinds.parts import review
from extapi.controlplane.policies import kinds as policies
from extapi.controlplane.policies.access import ParamAccess


def control_plane_api(
    *,
    authorizer: Authorizer,
    roles: RBAC,
    tokens: Tokens,
    clock: Clock,
    root_ca: str,
    controllers: Sequence[Controller] = (),
) -> Api:
    """The API of a control plane.

    Args:
        authorizer: Answers access reviews.
        roles: Knows the rules that users have.
        tokens: Issues and verifies service account tokens.
        clock: The time.
        root_ca: The CA of the serving certificate, PEM.
        controllers: Further controllers.
    """
    return Api(
        *_groups(authorizer, roles, tokens, clock),
        admission=[Escalation(roles), ParamAccess(authorizer)],
        controllers=[
            NamespaceController(),
            AccountController(root_ca),
            RoleAggregationController(),
            GarbageCollector(),
            RegistrationController(),
            *controllers,
        ],
    )


def _groups(authorizer: Authorizer, roles: RBAC, tokens: Tokens, clock: Clock) -> list[Group]:
    """Its own groups."""
    return [
        Group(
            "",
            core.NAMESPACE,
            core.CONFIG_MAP,
            core.SECRET,
            core.service_account(TokenRequests(tokens, clock)),
            services.SERVICE,
            events.EVENT,
        ),
        Group("events.k8s.io", events_v1.EVENT),
        Group("coordination.k8s.io", leases.LEASE),
        Group(
            "rbac.authorization.k8s.io",
            access.ROLE,
            access.CLUSTER_ROLE,
            access.ROLE_BINDING,
            access.CLUSTER_ROLE_BINDING,
        ),
        Group("apiregistration.k8s.io", apiregistration.API_SERVICE),
        Group("apiextensions.k8s.io", apiextensions.CUSTOM_RESOURCE_DEFINITION),
        Group(
            "admissionregistration.k8s.io",
            webhookconfigurations.MUTATING,
            webhookconfigurations.VALIDATING,
            *policies.ALL,
        ),
        Group(
            "authentication.k8s.io",
            review(authentication.TokenReview, TokenReviews(tokens)),
            review(authentication.SelfSubjectReview, reviews.SelfSubjectReviews(clock)),
        ),
        Group(
            "authorization.k8s.io",
            review(authorization.SubjectAccessReview, reviews.SubjectAccessReviews(authorizer)),
            review(
                authorization.LocalSubjectAccessReview, reviews.LocalSubjectAccessReviews(authorizer), scope=NAMESPACED
            ),
            review(authorization.SelfSubjectAccessReview, reviews.SelfSubjectAccessReviews(authorizer)),
            review(authorization.SelfSubjectRulesReview, reviews.SelfSubjectRulesReviews(roles)),
        ),
    ]
