"""The questions about webhooks: where they are registered, and how requests that call them fare. Nothing is changed.

Webhooks are called by lists of custom resources in each version, and by writes with ``dryRun=All``, through kube-apiserver: so they
are called as for everybody else, over the same network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from extapi.admission.matching.rules import Subject
from extapi.client.authority import authority
from extapi.doctor.clusterreader import ClusterReader
from extapi.doctor.facts import HookCall, HookFacts, Obj, Reading, Served, member, objects, text
from extapi.doctor.handshake import shake_hands
from extapi.doctor.hookreading import about, admission_of, conversion_of
from extapi.doctor.hooks import HookURL, RegisteredHook
from extapi.doctor.parallel import in_parallel

WORKERS = 8
MOST_KINDS = 20
"""Kinds of the groups in question that are called about."""
SYSTEM = "kube-system"
_CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class _Kind(NamedTuple):
    """A custom resource to call about."""

    group: str
    plural: str
    kind: str
    namespaced: bool
    versions: tuple[str, ...]
    """The served ones, the storage version first."""
    converted: bool


@dataclass(frozen=True)
class HookExamination:
    """Asks about the webhooks of some groups, or of all.

    Attributes:
        cluster: Where they are.
        groups: Those in question; empty: all, of which none is called.
        seconds: For one handshake.
    """

    cluster: ClusterReader
    groups: frozenset[str]
    seconds: float

    def registered(self) -> HookFacts:
        """The webhooks themselves, the namespaces of their servers, and what they are called about."""
        lists = self._lists()
        definitions = [each for each in lists["definitions"].items() if self._asked(text(each, "spec", "group"))]
        found = [hook for each in definitions if (hook := conversion_of(each)) is not None]
        for kind in _CONFIGURATIONS:
            found += [hook for each in lists[kind].items() for hook in admission_of(each, kind)]
        hooks = about(found, self.groups)
        places = {each.service.namespace for each in hooks if each.service is not None}
        return HookFacts(
            lists=list(lists.values()),
            hooks=hooks,
            namespaces=self._namespaces(sorted(places | {SYSTEM})) if hooks else {},
            definitions=frozenset(
                (text(each, "spec", "group"), text(version, "name"))
                for each in definitions
                for version in objects(member(each, "spec", "versions"))
            ),
            stored={text(each, "metadata", "name"): _stored(each) for each in definitions},
            calls=self._calls([_kind(each) for each in definitions[:MOST_KINDS]], hooks) if self.groups else (),
        )

    def served(self, facts: HookFacts) -> HookFacts:
        """The same, with the certificates at the addresses of URLs."""
        urls = {each.url: each.url for each in facts.hooks if each.url is not None}
        return replace(facts, served=in_parallel(urls, self._shake, workers=WORKERS))

    def _asked(self, group: str) -> bool:
        return not self.groups or group in self.groups

    def _lists(self) -> dict[str, Reading]:
        paths = {"definitions": (_DEFINITIONS, "list on customresourcedefinitions.apiextensions.k8s.io")}
        for kind in _CONFIGURATIONS:
            resource = f"{kind.lower()}s"
            path = f"/apis/admissionregistration.k8s.io/v1/{resource}"
            paths[kind] = (path, f"list on {resource}.admissionregistration.k8s.io")
        return in_parallel(paths, lambda asked: self.cluster.get(*asked), workers=WORKERS)

    def _namespaces(self, names: Sequence[str]) -> Mapping[str, Reading]:
        asked = {name: name for name in names}
        return in_parallel(
            asked, lambda name: self.cluster.get(f"/api/v1/namespaces/{name}", "get on namespaces"), workers=WORKERS
        )

    def _shake(self, url: HookURL) -> list[Served]:
        left = self.cluster.left()
        if left <= 0:
            return [Served(authority(url.host, url.port), given=False, over=True)]
        return [shake_hands(url.host, url.port, server_name=url.host, seconds=min(self.seconds, left))]

    def _calls(self, kinds: Sequence[_Kind], hooks: Sequence[RegisteredHook]) -> Sequence[HookCall]:
        asked = {each: each for each in kinds if each.versions}
        each = in_parallel(asked, lambda kind: list(self._called(kind, hooks)), workers=WORKERS)
        return [call for calls in each.values() for call in calls]

    def _called(self, kind: _Kind, hooks: Sequence[RegisteredHook]) -> Iterator[HookCall]:
        """Lists in each version, then a write in the storage version that is not kept."""
        one: Obj = {}
        name = f"{kind.plural}.{kind.group}"
        for version in kind.versions:
            path = f"/apis/{kind.group}/{version}/{kind.plural}"
            reading = self.cluster.get(path, f"list on {name}", query={"limit": "1"})
            items = reading.items()
            one = one or (items[0] if items else {})
            converts = kind.converted and version != kind.versions[0] and bool(items or not reading.found)
            yield HookCall(f"list {name} in {version}", converts, admits=False, reading=reading)
        if any(_matches(hook, kind, kind.versions[0]) for hook in hooks):
            yield self._write(kind, name, one)

    def _write(self, kind: _Kind, name: str, one: Obj) -> HookCall:
        version = kind.versions[0]
        namespace = text(one, "metadata", "namespace") or "default"
        path = (
            f"/apis/{kind.group}/{version}"
            + (f"/namespaces/{namespace}" if kind.namespaced else "")
            + f"/{kind.plural}"
        )
        if one:
            reading = self.cluster.dry_run(
                "PATCH",
                f"{path}/{text(one, 'metadata', 'name')}",
                f"patch on {name}",
                {},
                "application/merge-patch+json",
            )
            return HookCall(f"patch {name} in {version} (dry run, no change)", False, admits=True, reading=reading)
        metadata = {"generateName": "extapi-doctor-"}
        obj = {"apiVersion": f"{kind.group}/{version}", "kind": kind.kind, "metadata": metadata}
        reading = self.cluster.dry_run("POST", path, f"create on {name}", obj, "application/json")
        return HookCall(f"create {name} in {version} (dry run)", False, admits=True, reading=reading)


def _kind(definition: Obj) -> _Kind:
    versions = [each for each in objects(member(definition, "spec", "versions")) if each.get("served") is True]
    versions.sort(key=lambda each: each.get("storage") is not True)
    return _Kind(
        group=text(definition, "spec", "group"),
        plural=text(definition, "spec", "names", "plural"),
        kind=text(definition, "spec", "names", "kind"),
        namespaced=text(definition, "spec", "scope") == "Namespaced",
        versions=tuple(text(each, "name") for each in versions),
        converted=text(definition, "spec", "conversion", "strategy") == "Webhook",
    )


def _stored(definition: Obj) -> tuple[str, Sequence[str]]:
    """The storage version, and what is on record."""
    versions = objects(member(definition, "spec", "versions"))
    storage = next((text(each, "name") for each in versions if each.get("storage") is True), "")
    recorded = member(definition, "status", "storedVersions")
    return storage, [str(each) for each in recorded] if isinstance(recorded, list) else []


def _matches(hook: RegisteredHook, kind: _Kind, version: str) -> bool:
    subjects = [Subject(each, kind.group, version, kind.plural, "", kind.namespaced) for each in ("CREATE", "UPDATE")]
    return hook.dry and any(rule.matches(subject, version) for rule in hook.rules for subject in subjects)
