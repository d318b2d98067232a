"""Asks etcd about itself and about the store in it. Writes nothing, not even the mark of a new store."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from twisted.internet.base import BlockingResolver

from extapi.doctor.etcdfacts import EtcdFacts, EtcdMemberFacts
from extapi.doctor.facts import StoredVersions
from extapi.doctor.store import RECORDS, VersionedValue
from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Compacted, Unavailable, UnusableStore
from extapi.storage.etcd.endpoints import EtcdOptions
from extapi.storage.etcd.hpackpackage import require_hpack
from extapi.storage.keys import CORE, resource_prefix
from extapi.storage.url import ETCD, open_backend

if TYPE_CHECKING:
    from extapi.storage.etcd.survey import MemberReport

_PAGE = 500


def read_etcd(options: EtcdOptions, *, seconds: float) -> tuple[EtcdFacts, StoredVersions]:
    """What etcd says, and which versions of objects the store there has.

    Args:
        options: How it is reached.
        seconds: How long objects are counted.
    """
    name = f"{ETCD}{options.prefix}"
    with private_reactor() as reactor:
        # There is no thread that would look names up; nothing else waits meanwhile.
        reactor.installResolver(BlockingResolver())
        try:
            found = drive(reactor, _members(reactor, options), timeout=60.0)
        except (UnusableStore, TimeoutError) as error:
            return EtcdFacts((), failure=str(error)), StoredVersions(name, failure=str(error))
        try:
            revision, oldest, stored = drive(
                reactor, _store(reactor, replace(options, create=False), name, seconds), timeout=seconds + 30.0
            )
        except (UnusableStore, Unavailable, Compacted, msgspec.MsgspecError, TimeoutError) as error:
            return replace(found, store_failure=str(error)), StoredVersions(name, failure=str(error))
    return replace(found, revision=revision, oldest=oldest), stored


async def _members(reactor: Any, options: EtcdOptions) -> EtcdFacts:
    require_hpack()
    from extapi.storage.etcd.survey import own_certificates, survey  # noqa: PLC0415 - an extra that only etcd needs

    certificates = own_certificates(options)
    reports = await survey(reactor, options)
    certificates += [(each.endpoint, each.certificate_ends) for each in reports if each.certificate_ends is not None]
    return EtcdFacts([_facts(each) for each in reports], certificates)


def _facts(report: MemberReport) -> EtcdMemberFacts:
    return EtcdMemberFacts(
        report.endpoint,
        report.failure,
        report.version,
        report.supported,
        report.hidden,
        report.leader,
        report.learner,
        report.size,
        report.in_use,
        report.quota,
        report.alarms,
        report.seconds,
        report.read_failure,
        report.through_http,
    )


async def _store(reactor: Any, options: EtcdOptions, name: str, seconds: float) -> tuple[int, int, StoredVersions]:
    backend = open_backend(ETCD, reactor, options)
    try:
        revision, oldest = await backend.revision(), await backend.oldest()
        recorded: dict[tuple[str, str], list[str]] = {}
        page = await backend.page(RECORDS.encode(), at=revision, after=b"", limit=0)
        for key, value, _ in page.entries:
            group, _, plural = key.decode().removeprefix(RECORDS).rpartition("/")
            recorded["" if group == CORE else group, plural] = msgspec.json.decode(value, type=list[str])
        deadline = time.monotonic() + seconds
        counts: dict[tuple[str, str], Counter[str]] = {kind: Counter() for kind in recorded}
        complete = True
        for kind, counted in counts.items():
            after, more = b"", True
            while more and complete:
                page = await backend.page(resource_prefix(*kind), at=revision, after=after, limit=_PAGE)
                counted.update(
                    msgspec.json.decode(value, type=VersionedValue).api_version.rpartition("/")[2]
                    for _, value, _ in page.entries
                )
                more = page.more
                after = page.entries[-1].key if page.entries else after
                complete = time.monotonic() <= deadline
        return revision, oldest, StoredVersions(name, recorded, counts, complete)
    finally:
        await backend.close()
