"""The Lease by which the pods behind a Service elect a leader, as their flags say: which it is, and the rights to it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from extapi.api.definition import Api
from extapi.doctor.accounts import deployments_behind
from extapi.doctor.facts import LeaseRights, Obj, Right, ServiceFacts, member, objects

GROUP, RESOURCE = "coordination.k8s.io", "leases"
_FLAG = "--leader-elect"


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is known of the Api. ``group``: its first; ``elects``: whether it has controllers that one process runs."""

    group: str
    elects: bool


def candidates_of(api: Api) -> Candidates:
    """What an Api says of its election."""
    group = next((each.name for each in api.groups if each.name), "")
    return Candidates(group, elects=not all(getattr(each, "each_process", False) for each in api.controllers))


def lease_rights(namespace: str, facts: ServiceFacts, api: Candidates | None) -> LeaseRights:
    """The rights that the account of the pods needs for their Lease; none if they elect nobody.

    Args:
        namespace: That of the Service.
        facts: The Service, and its pods or the Deployments that make them.
        api: What ``--app`` says; None: without it, whether there are controllers is not known.
    """
    flags = next(_commands(facts), [])
    asked = _value(flags, _FLAG, alone="true").lower()
    if asked in {"false", "f", "0"}:
        return LeaseRights()
    shared = _value(flags, "--storage") == "etcd:"
    certain = asked != "" or (api is not None and api.elects)
    if not (asked or (shared and (api is None or api.elects))):
        return LeaseRights()
    where = _value(flags, f"{_FLAG}-resource-namespace") or namespace
    name = _value(flags, f"{_FLAG}-resource-name") or (api.group if api is not None else "")
    rights = [Right("create", GROUP, RESOURCE, where)]
    if name:
        # A Role may name the Lease; whether it does is not seen by who does not know the name.
        rights = [Right(verb, GROUP, RESOURCE, where, name) for verb in ("get", "update")] + rights
    return LeaseRights(tuple(rights), certain)


def _commands(facts: ServiceFacts) -> Iterator[list[str]]:
    """The command lines of the first pod's containers that run an extension server, or of the first Deployment's."""
    specs = [member(each, "spec") for each in (facts.pods.items() if facts.pods else ())]
    specs += [member(each, "spec", "template", "spec") for each in deployments_behind(facts)]
    for spec in specs:
        for container in objects(member(spec, "containers")):
            words = [str(each) for part in ("command", "args") for each in _list(container, part)]
            if "serve" in words:
                yield words


def _list(container: Obj, part: str) -> Sequence[object]:
    found = container.get(part)
    return found if isinstance(found, list) else ()


def _value(words: Sequence[str], flag: str, alone: str = "") -> str:
    """What a flag says; the last one counts. ``alone``: what it says without a value, if it needs none."""
    found = ""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == flag:
            found = alone or following
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found
