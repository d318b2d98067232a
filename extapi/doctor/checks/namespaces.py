"""``namespaces.terminating``: namespaces that cannot be deleted because of an examined group. Pure.

The namespace controller lists everything in a namespace before it removes it; one APIService that is not Available blocks all
of them (k8s.io/kubernetes/pkg/controller/namespace/deletion, whose conditions are quoted).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

from extapi.doctor.duration import spell
from extapi.doctor.facts import Facts, Obj, member, objects, text
from extapi.doctor.finding import Finding, error, ok, unknown, warning
from extapi.doctor.registration import Registration, moment

CHECK = "namespaces.terminating"
PATIENCE = dt.timedelta(minutes=1)
"""Seconds; deleting a full namespace takes a while."""
_TOKENS = re.compile(r"[a-z0-9][-a-z0-9.]*(?:/v[a-z0-9]+)?")
"""Names of groups, resources and versions as the conditions write them: ``GROUP/VERSION``, ``RESOURCE.GROUP``."""


def namespaces(facts: Facts) -> Iterator[Finding]:
    """One finding per waiting namespace, or one that none waits."""
    if not facts.namespaces.found:
        yield unknown(CHECK, "namespaces", facts.namespaces.why)
        return
    waiting = False
    for each in facts.namespaces.items():
        # The built-in control plane and others may not know the field selector.
        if text(each, "status", "phase") == "Terminating":
            for finding in _stuck(each, facts):
                waiting = True
                yield finding
    if not waiting:
        yield ok(CHECK, "namespaces", "none that is being deleted waits for a group that was looked at")


def _stuck(namespace: Obj, facts: Facts) -> Iterator[Finding]:
    """The first condition that names one of the groups: the others say the same in other words."""
    name = text(namespace, "metadata", "name")
    since = moment(member(namespace, "metadata", "deletionTimestamp"))
    young = since is not None and facts.now - since < PATIENCE
    age = f" for {spell(facts.now - since)}" if since else ""
    for condition in objects(member(namespace, "status", "conditions")):
        message = text(condition, "message")
        blamed = [each for each in facts.registrations if _names(message, each)]
        if text(condition, "status") != "True" or not blamed:
            continue
        saw = f"Terminating{age}, {text(condition, 'type')}: {message}"
        broken = ", ".join(each.name for each in blamed if not each.passes)
        if broken:
            yield error(
                CHECK,
                f"Namespace {name}",
                saw=saw,
                wrong=f"it cannot be deleted while {broken} is not Available: nobody can tell what it holds there",
                do="repair it (apiservice.available); if the server is gone for good: "
                + "; ".join(f"kubectl delete apiservice {each.name}" for each in blamed if not each.passes),
            )
        elif not young:
            resources = " ".join(dict.fromkeys(each.group for each in blamed))
            yield warning(
                CHECK,
                f"Namespace {name}",
                saw=saw,
                wrong="objects of these groups are still in it: their finalizers hold them, or the controller has not tried again",
                do=f"kubectl get -n {name} its resources of {resources}, and look at metadata.finalizers",
            )
        return


def _names(message: str, each: Registration) -> bool:
    """Whether a condition's message names this group and version, or a resource of this group."""
    for token in _TOKENS.findall(message):
        group, slash, version = token.rstrip(".").partition("/")
        if (group == each.group and version == each.version) if slash else group.partition(".")[2] == each.group:
            return True
    return False
