"""``etcd.*``: the etcd that a server's objects are in. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

from extapi.doctor.duration import spell
from extapi.doctor.etcdfacts import EtcdFacts, EtcdMemberFacts
from extapi.doctor.facts import Facts
from extapi.doctor.finding import Finding, error, ok, unknown, warning
from extapi.storage.etcd.alarms import MEANING

MEMBERS, VERSION, ALARMS, SIZE = "etcd.members", "etcd.version", "etcd.alarms", "etcd.size"
LATENCY, HTTP, COMPACTION, CERTIFICATES = "etcd.latency", "etcd.http", "etcd.compaction", "etcd.certificates"
FULL: Final = 0.8
"""The part of the quota that is in use from which on it is told."""
SLOW, TOO_SLOW = 0.1, 1.0
"""Seconds of a linearizable read; etcd's own log calls more than 0.1 slow (``--warning-apply-duration``)."""
KEPT: Final = 2_000_000
"""Revisions that are kept although servers compact every five minutes: more than 3,000 writes a second."""
SOON: Final = dt.timedelta(days=14)
_HIDDEN: Final = "this etcd tells its size and its alarms to root alone"
_AS_ROOT: Final = (
    "run the doctor with root as --etcd-username; or ask etcd: etcdctl endpoint status, etcdctl alarm list"
)


def etcds(facts: Facts) -> Iterator[Finding]:
    """Judge each member, then the store; nothing if the store is elsewhere."""
    found = facts.etcd
    if found is None:
        return
    if found.failure:
        yield error(MEMBERS, "etcd", saw=found.failure, wrong="etcd cannot be asked", do="correct the flag or the file")
        return
    yield from _members(found)
    for each in found.members:
        if not each.failure:
            yield _version(each)
            yield _size(each)
            yield _latency(each)
            yield _http(each)
    yield _alarms(found)
    yield _compaction(found)
    yield from _certificates(found, facts.now)


def _members(found: EtcdFacts) -> Iterator[Finding]:
    there = [each for each in found.members if not each.failure]
    for each in found.members:
        do = "look at the log of this member, and at --etcd-servers"
        if each.failure and there:
            wrong = "this member is down, or cannot be reached from here; with one more, etcd may lose its quorum"
            yield warning(MEMBERS, each.endpoint, saw=each.failure, wrong=wrong, do=do)
        elif each.failure:
            yield error(MEMBERS, each.endpoint, saw=each.failure, wrong="no member can be reached from here", do=do)
        elif not each.leader:
            wrong = "without a leader it answers nothing: too few members run, or it is cut off from them"
            yield error(MEMBERS, each.endpoint, saw="it knows no leader", wrong=wrong, do=do)
        elif each.learner:
            wrong = "a learner refuses most requests"
            do = "etcdctl member promote, or take it from --etcd-servers"
            yield warning(MEMBERS, each.endpoint, saw="it is a learner", wrong=wrong, do=do)
        else:
            yield ok(MEMBERS, each.endpoint, f"etcd {each.version}")


def _version(each: EtcdMemberFacts) -> Finding:
    if each.supported:
        return ok(VERSION, each.endpoint, f"etcd {each.version}")
    return error(
        VERSION,
        each.endpoint,
        saw=f"etcd {each.version}",
        wrong="its watch progress cannot be relied on: extapi serve refuses to start",
        do="upgrade to 3.5.13 or newer; of 3.4, 3.4.31 or newer will do",
    )


def _alarms(found: EtcdFacts) -> Finding:
    raised = sorted({alarm for each in found.members for alarm in each.alarms})
    if not any(not each.failure for each in found.members):
        return unknown(ALARMS, "etcd", "no member can be reached from here")
    if not raised and any(each.hidden for each in found.members):
        return unknown(ALARMS, "etcd", _HIDDEN, do=_AS_ROOT)
    if not raised:
        return ok(ALARMS, "etcd", "no alarm is raised")
    wrong, _, do = MEANING.get(raised[0], "etcd has raised an alarm; see its log").partition("; ")
    return error(ALARMS, "etcd", saw=f"alarm {', '.join(raised)}", wrong=wrong, do=do)


def _size(each: EtcdMemberFacts) -> Finding:
    if each.hidden:
        return unknown(SIZE, each.endpoint, _HIDDEN, do=_AS_ROOT)
    saw = f"{_mb(each.in_use)} in use, a file of {_mb(each.size)}, "
    if not each.quota:
        return ok(
            SIZE, each.endpoint, saw + "a quota that etcd does not tell before 3.6 (2 GiB unless --quota-backend-bytes)"
        )
    saw += f"a quota of {_mb(each.quota)}"
    if each.size < FULL * each.quota:
        return ok(SIZE, each.endpoint, saw)
    do = "etcdctl defrag, one member at a time" if each.in_use < FULL * each.quota else "delete what is not needed"
    wrong = "when the file is as large as the quota, etcd refuses all writes (alarm NOSPACE)"
    return warning(SIZE, each.endpoint, saw=saw, wrong=wrong, do=f"{do}; or raise --quota-backend-bytes")


def _latency(each: EtcdMemberFacts) -> Finding:
    if each.seconds is None:
        why = f"a linearizable read failed: {each.read_failure}"
        return error(
            LATENCY,
            each.endpoint,
            saw=why,
            wrong="servers cannot read here",
            do="look at the log of etcd, and at its quorum",
        )
    saw = f"a linearizable read takes {each.seconds * 1000:.1f} ms from here"
    if each.seconds < SLOW:
        return ok(LATENCY, each.endpoint, saw)
    wrong = "every read without resourceVersion and every write takes at least as long"
    do = "look at etcd's disks (etcd_disk_wal_fsync_duration_seconds) and its network"
    return (error if each.seconds >= TOO_SLOW else warning)(LATENCY, each.endpoint, saw=saw, wrong=wrong, do=do)


def _http(each: EtcdMemberFacts) -> Finding:
    if not each.through_http:
        return ok(HTTP, each.endpoint, "gRPC is served without an HTTP server before it")
    return warning(
        HTTP,
        each.endpoint,
        saw="gRPC is served by an HTTP server, since HTTP shares the port and its TLS",
        wrong="etcd needs half as much CPU again per request, or more, and advises against it in production (etcd issue 15402)",
        do="start etcd with --listen-client-http-urls=http://127.0.0.1:2378; /health and /metrics are there then",
    )


def _compaction(found: EtcdFacts) -> Finding:
    if not found.revision:
        return unknown(COMPACTION, "the store in etcd", found.store_failure)
    kept = found.revision - found.oldest
    saw = f"revision {found.revision}, compacted to {found.oldest}: {kept} revisions are kept"
    if kept < KEPT:
        return ok(COMPACTION, "the store in etcd", saw)
    return warning(
        COMPACTION,
        "the store in etcd",
        saw=saw,
        wrong="nobody compacts this etcd, so that its database grows",
        do="let a server run with an --etcd-compaction-interval that is not 0; once: extapi storage compact etcd:",
    )


def _certificates(found: EtcdFacts, now: dt.datetime) -> Iterator[Finding]:
    for subject, end in found.certificates:
        left = end - now
        do = "replace it; servers read the files again for each connection"
        if left <= dt.timedelta():
            saw = f"it ended {spell(-left)} ago"
            yield error(CERTIFICATES, subject, saw=saw, wrong="etcd cannot be reached with it", do=do)
        elif left < SOON:
            yield warning(CERTIFICATES, subject, saw=f"it ends in {spell(left)}", wrong="it ends soon", do=do)
        else:
            yield ok(CERTIFICATES, subject, f"it is valid for {spell(left)}")


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
