"""``storage.versions``: whether a server can read everything that is in its store. Pure.

A server that cannot convert a stored version refuses to start (:mod:`extapi.registry.storedversions`). From outside only the
version of new objects is visible, as ``storageVersionHash`` in discovery. Of custom resources kube-apiserver keeps a record,
``status.storedVersions``, and nothing that is on it can be dropped from the definition.
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.doctor.facts import ExpectedGroup, ExpectedKind, Facts, StoredVersions, objects, text
from extapi.doctor.finding import Finding, error, ok, unknown, warning
from extapi.server.discovery import storage_version_hash

CHECK = "storage.versions"


def stored_versions(facts: Facts) -> Iterator[Finding]:
    """Judge by the store if it can be read, by discovery if the app is known."""
    for group in facts.expected:
        for kind in group.kinds:
            yield from _new_objects(facts, group, kind)
    yield from _definitions(facts)
    if facts.stored is None and facts.hooks.stored and not any(each.service for each in facts.registrations):
        return  # there is no other store
    if facts.stored is None:
        yield unknown(
            CHECK,
            "the server's store",
            "kube-apiserver does not know in which versions objects are stored; the store itself does",
            do="where the file is: extapi doctor --storage sqlite:///PATH or etcd: with the server's flags (read only; the server may run)",
        )
    elif facts.stored.failure:
        yield unknown(CHECK, facts.stored.url, facts.stored.failure)
    else:
        yield from _store(facts, facts.stored)


def _definitions(facts: Facts) -> Iterator[Finding]:
    """Custom resources of the groups in question; without one, all have others to look after them."""
    for name, (storage, recorded) in facts.hooks.stored.items() if facts.groups else ():
        subject, saw = f"CustomResourceDefinition {name}", f"status.storedVersions is {', '.join(recorded)}"
        old = [version for version in recorded if version != storage]
        if not old:
            yield ok(CHECK, subject, saw)
            continue
        yield warning(
            CHECK,
            subject,
            saw=f"{saw}; new objects are stored in {storage}",
            wrong=f"objects may still be stored in {', '.join(old)}, which cannot be dropped from spec.versions",
            do=f"extapi migrate {name} stores all anew and corrects status.storedVersions",
        )


def _store(facts: Facts, stored: StoredVersions) -> Iterator[Finding]:
    if not stored.recorded:
        yield ok(CHECK, stored.url, "it holds no objects")
    known = {(group.name, kind.plural): kind.versions for group in facts.expected for kind in group.kinds}
    for (group, plural), versions in stored.recorded.items():
        subject = f"{plural}.{group}" if group else plural
        served = known.get((group, plural))
        if served is None and not facts.expected:
            served = [each.version for each in facts.registrations if each.group == group]
        counts = stored.counts.get((group, plural), {})
        saw = "stored: " + (", ".join(f"{count} in {version}" for version, count in counts.items()) or "none")
        saw += f"; on record: {', '.join(versions)}" + ("" if stored.complete else " (not all were counted)")
        if not served:
            yield warning(
                CHECK,
                subject,
                saw=saw,
                wrong="nothing serves this kind: its objects cannot be reached",
                do="serve the kind again, or name the server's own store",
            )
            continue
        lost = [version for version in {*versions, *counts} if version not in served and counts.get(version)]
        if lost:
            yield error(
                CHECK,
                subject,
                saw=saw,
                wrong=f"{', '.join(sorted(lost))} is not served any more: extapi serve refuses to start on this store"
                + ("" if facts.expected else ", unless the app has it with served=False (--app tells)"),
                do="declare these versions again (served=False is enough), read and rewrite the objects (kubectl get, "
                "kubectl replace), then drop the versions",
            )
        else:
            yield ok(CHECK, subject, saw)


def _new_objects(facts: Facts, group: ExpectedGroup, kind: ExpectedKind) -> Iterator[Finding]:
    """Whether the running server stores new objects in the storage version of the app."""
    if not kind.storage:
        return
    found: set[str] = set()
    for each in facts.registrations:
        reading = facts.discovery.get(each.name)
        if each.group == group.name and reading is not None and reading.found:
            found |= {
                text(one, "storageVersionHash")
                for one in objects(reading.obj().get("resources"))
                if text(one, "name") == kind.plural
            }
    found.discard("")
    if not found:
        return
    known = {storage_version_hash(group.name, version, kind.name): version for version in kind.versions}
    told = ", ".join(sorted(known.get(one, "a version that the app does not have") for one in found))
    subject = f"{kind.plural}.{group.name}"
    if told == kind.storage:
        yield ok(CHECK, subject, f"new objects are stored in {told}, as the app says")
    else:
        yield warning(
            CHECK,
            subject,
            saw=f"new objects are stored in {told}; the app says {kind.storage}",
            wrong="the running server is of another version of the app, or several servers disagree",
            do="deploy the app again, or name the app that runs with --app",
        )
