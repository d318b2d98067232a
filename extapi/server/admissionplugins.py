"""The admission plugins that an extension server asks before its author's: how they are made, started and stopped.

Source: ``k8s.io/apiserver/pkg/server/plugins.go``, ``pkg/server/options/admission.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set as AbstractSet
from functools import partial
from random import Random
from typing import Any, TypeVar

from extapi.admission.expressions.evaluating import Evaluator
from extapi.admission.namespaces import NamespaceLabels, NamespaceLifecycle
from extapi.admission.policies import mutating as policies_mutating, validating as policies
from extapi.admission.policies.checks import Labels, MutationChecks, MutationLabels, PolicyChecks
from extapi.admission.policies.matching import PolicyMatcher
from extapi.admission.policies.mutating import MutatingPolicies
from extapi.admission.policies.mutations import Mutations
from extapi.admission.policies.params import Params
from extapi.admission.policies.source import PolicySource
from extapi.admission.policies.validating import ValidatingPolicies
from extapi.admission.policies.validations import Validations
from extapi.admission.rulesources import RuleSources
from extapi.admission.webhooks import mutating, validating
from extapi.admission.webhooks.asking import Asking
from extapi.admission.webhooks.counting import WebhookCalls
from extapi.admission.webhooks.source import WebhookCallers, WebhookSource
from extapi.authorization.authorizer import Authorizer
from extapi.client.informer import Informer
from extapi.client.kube import Client, ResourceName
from extapi.client.services import Resolve, by_dns
from extapi.client.webhookusers import WebhookUsers
from extapi.server.exposition import Family
from extapi.server.health import NamedCheck
from extapi.server.webhookmetrics import webhook_families

NAMESPACES = ResourceName("", "v1", "namespaces")
E = TypeVar("E")
_READYZ = frozenset({"readyz"})


class BuiltinAdmission:
    """The plugins, and what they follow in the cluster.

    Args:
        client: Reaches the cluster.
        authorizer: Decides about the checks in match conditions.
        reactor: The reactor.
        random: For delays.
        disabled: The names of plugins to leave out.
        resolve: Finds the Services of webhooks.
        users: Who to be to the webhooks of a plugin, by its name; see :mod:`extapi.server.admissionconfig`.
    """

    def __init__(
        self,
        client: Client,
        authorizer: Authorizer,
        reactor: Any,
        *,
        random: Random,
        disabled: AbstractSet[str] = frozenset(),
        resolve: Resolve = by_dns,
        users: Mapping[str, WebhookUsers] | None = None,
    ) -> None:
        self._namespaces = Informer(client, NAMESPACES, clock=reactor, jitter=random.random)
        self._callers: list[WebhookCallers] = []
        self._sources: list[WebhookSource | PolicySource[Any]] = []
        self._rules = RuleSources()
        self._params = Params(client, clock=reactor, jitter=random.random)
        self._checks = PolicyChecks()
        self._mutations = MutationChecks()
        self._calls = WebhookCalls()
        live = partial(client.get, NAMESPACES)
        labels = NamespaceLabels(self._namespaces, live)
        evaluator = Evaluator(authorizer, reactor, reactor.getThreadPool())

        def asking(name: str, kind: str) -> Asking:
            callers = WebhookCallers(resolve, reactor, (users or {}).get(name))
            self._callers.append(callers)
            source = WebhookSource(
                kind, client, callers, clock=reactor, jitter=random.random, changed=self._rules.changed
            )
            self._follow(source)
            return Asking(source, labels, evaluator, reactor, self._calls)

        def matching(name: str, compile_: Callable[[str, Mapping[str, Any]], E]) -> PolicyMatcher[E]:
            source = PolicySource(
                name, client, self._params, compile_, clock=reactor, jitter=random.random, changed=self._rules.changed
            )
            self._follow(source)
            return PolicyMatcher(source, labels, reactor)

        made: dict[str, Callable[[], Any]] = {
            "NamespaceLifecycle": lambda: NamespaceLifecycle(cache=self._namespaces, live=live, clock=reactor),
            policies_mutating.NAME: lambda: MutatingPolicies(
                matching(policies_mutating.NAME, Mutations), self._params, evaluator, reactor, self._mutations
            ),
            mutating.NAME: lambda: mutating.MutatingWebhooks(asking(mutating.NAME, "MutatingWebhookConfiguration")),
            policies.NAME: lambda: ValidatingPolicies(
                matching(policies.NAME, lambda _, spec: Validations(spec)),
                self._params,
                evaluator,
                reactor,
                self._checks,
            ),
            validating.NAME: lambda: validating.ValidatingWebhooks(
                asking(validating.NAME, "ValidatingWebhookConfiguration")
            ),
        }
        self.plugins = [self._sharing(make()) for name, make in made.items() if name not in disabled]
        """In the order in which they are asked."""

    def _sharing(self, plugin: Any) -> Any:
        """A plugin, which shares the look-up of the cluster's rules if it keeps some."""
        if not isinstance(plugin, NamespaceLifecycle):
            plugin.rules = self._rules
        return plugin

    def _follow(self, source: WebhookSource | PolicySource[Any]) -> None:
        self._sources.append(source)
        self._rules.add(source)

    def start(self) -> None:
        """Start to follow the cluster."""
        self._namespaces.start()
        for source in self._sources:
            source.start()

    def stop(self) -> None:
        """Stop, and end the connections to webhooks."""
        self._namespaces.stop()
        for source in self._sources:
            source.stop()
        self._params.stop()
        for callers in self._callers:
            callers.close()

    def families(self) -> Iterable[Family]:
        """What is measured (:meth:`extapi.server.metrics.Metrics.add`)."""
        checks = [check_family(self._checks.counts), mutation_family(self._mutations.counts)]
        return [*checks, *webhook_families(self._calls)]

    def check(self) -> NamedCheck:
        """Whether all is known of the cluster that admission needs, and is likely to be true still."""
        return NamedCheck("informer-sync", lambda: next(self._problems(), None), _READYZ)

    def _problems(self) -> Iterator[str]:
        if not self._namespaces.synced:
            yield "namespaces have not been listed yet"
        for source in self._sources:
            if not source.synced:
                yield f"{source.shown} have not been listed yet"
        for each in (self._namespaces, *self._sources):
            if why := each.problem():
                yield why


def check_family(counts: Mapping[Labels, int]) -> Family:
    """The decisions of policies, as kube-apiserver counts them."""
    return Family(
        "apiserver_validating_admission_policy_check_total",
        "counter",
        "Validation admission policy check total, labeled by policy and further identified by binding and enforcement action "
        "taken.",
        ("policy", "policy_binding", "error_type", "enforcement_action"),
        list(counts.items()),
    )


def mutation_family(counts: Mapping[MutationLabels, int]) -> Family:
    """The mutations of policies, as kube-apiserver counts them."""
    return Family(
        "apiserver_mutating_admission_policy_check_total",
        "counter",
        "Mutation admission policy check total, labeled by policy and further identified by binding.",
        ("policy", "policy_binding", "error_type"),
        list(counts.items()),
    )
