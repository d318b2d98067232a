"""``apiservice.registered``: whether the cluster knows the groups in question, and the versions of ``--app``. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from extapi.doctor.facts import ExpectedGroup, Facts
from extapi.doctor.finding import Finding, error, ok, unknown, warning

CHECK = "apiservice.registered"


def versions(facts: Facts) -> Iterator[Finding]:
    """One finding per version of the app, and one per group that is missing altogether."""
    if not facts.registrations and not facts.groups:
        yield unknown(CHECK, "the cluster", "no APIService has a Service: there are no extension servers to look at")
    told = {each.group for each in facts.registrations} | {group.name for group in facts.expected}
    for name in sorted(facts.groups - told):
        yield error(
            CHECK,
            f"group {name}",
            saw="there is no APIService of this group",
            wrong="kube-apiserver answers 404 for it",
            do="kubectl get apiservices shows the groups that there are; extapi manifests MODULE:NAME renders APIServices",
        )
    for group in facts.expected:
        yield from _missing(facts, group)
        for each in facts.registrations:
            if each.group == group.name and each.version not in group.versions:
                yield warning(
                    CHECK,
                    each.subject,
                    saw=f"it registers {each.version}; the app has {', '.join(group.versions)}",
                    wrong="clients find a version in discovery that the app does not serve",
                    do=f"kubectl delete apiservice {each.name}, if no other server serves that version",
                )


def _missing(facts: Facts, group: ExpectedGroup) -> Iterator[Finding]:
    known = {each.version: each for each in facts.registrations if each.group == group.name}
    for version in group.versions:
        name = f"{version}.{group.name}"
        if version not in known:
            yield error(
                CHECK,
                f"APIService {name}",
                saw=f"the app serves {group.name}/{version}; there is no such APIService",
                wrong="kube-apiserver answers 404 for this version",
                do=f"create the APIService {name}: extapi manifests MODULE:NAME renders it",
            )
        elif known[version].service is None and _by_webhooks(facts, group.name, version):
            yield ok(CHECK, f"APIService {name}", "custom resources of the cluster, with webhooks")
        elif known[version].service is None:
            yield error(
                CHECK,
                f"APIService {name}",
                saw="it has no spec.service: kube-apiserver answers for it itself",
                wrong="no request for this version reaches the server; a CustomResourceDefinition of the same group and "
                "version makes such an APIService",
                do=f"save the objects of these CustomResourceDefinitions, which are lost with them (kubectl get crds shows those "
                f"of {group.name}); delete them, then create the APIService {name} with spec.service",
            )
        else:
            yield ok(CHECK, f"APIService {name}", "registered, as the app has it")


def _by_webhooks(facts: Facts, group: str, version: str) -> bool:
    """Whether a CustomResourceDefinition serves the version, and webhooks are registered for the group."""
    return (group, version) in facts.hooks.definitions and any(group in each.groups for each in facts.hooks.hooks)
