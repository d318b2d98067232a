"""An etcd whose database is full: what a write is told, what a server and the doctor say, and how it heals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extapi.clock import sleep
from extapi.doctor.checks.etcds import etcds
from extapi.doctor.etcd import read_etcd
from extapi.doctor.finding import Severity
from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import StoreRefused
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.keys import KeyLayout
from extapi.storetool.status import lines, status_of
from extapi.storetool.stores import NamedStore
from extapi.testing.stories import refusal
from extapi.watch.refusals import refused_write
from tests.etcds import Etcd, etcd, http_apart
from tests.unit.doctor.healthy import HEALTHY

pytestmark = pytest.mark.kubernetes


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Etcd]:
    with etcd(tmp_path, tls=True, arguments=["--quota-backend-bytes=1000000"]) as member:
        yield member


async def fill(reactor: Any, member: Etcd) -> StoreRefused:
    """Write until nothing fits; the alarm is noticed without anybody asking."""
    store = EtcdBackend(reactor, member.options("/small"))
    await store.open()
    made = await store.commit(b"/registry/g/things/n/kept", b'{"apiVersion":"g/v1"}', expected=0)
    error: StoreRefused | None = None
    number = 0
    while error is None:
        number += 1
        try:
            await store.commit(b"/large/%d" % number, bytes(300_000), expected=0)
        except StoreRefused as refused:
            error = refused
    while store.note() != "alarm NOSPACE":
        await sleep(reactor, 0.01)
    assert store.check() is None  # all can be read, and deleted
    assert await store.revision() > made
    assert await store.commit(b"/large/1", None, expected=made + 1) > made
    await store.close()
    return error


def test_a_full_database_is_named_everywhere(small: Etcd) -> None:
    options = small.options("/small")
    with private_reactor() as reactor:
        error = drive(reactor, fill(reactor, small))
        status = drive(reactor, status_of(NamedStore("etcd:", options), reactor))
    # kube-apiserver passes on what etcd says, in a Status without a reason: an error that it does not know.
    layout = KeyLayout("g", "things", namespaced=True)
    answer = refused_write(error, layout, "create")
    assert answer is not None
    assert (answer.code, answer.reason, str(answer)) == (500, "", "etcdserver: mvcc: database space exceeded")
    assert [member.alarms for member in status.members] == [["NOSPACE"]]
    assert [(each.resource, each.objects) for each in status.resources] == [("things.g", 1)]
    assert any(line.startswith(small.url) and line.endswith("NOSPACE") for line in lines(status))

    facts, stored = read_etcd(options, seconds=5)
    found = {each.check: each for each in etcds(replace(HEALTHY, etcd=facts))}
    assert found["etcd.alarms"].severity is Severity.ERROR
    assert (found["etcd.alarms"].saw, "etcdctl alarm disarm" in found["etcd.alarms"].do) == ("alarm NOSPACE", True)
    assert found["etcd.size"].severity is Severity.WARNING
    assert found["etcd.members"].severity is found["etcd.version"].severity is Severity.OK
    assert found["etcd.latency"].saw.startswith("a linearizable read takes ")
    assert found["etcd.http"].severity is Severity.WARNING
    assert found["etcd.compaction"].saw.startswith("revision ")
    assert {subject.partition(" ")[0] for subject, _ in facts.certificates} == {
        "--etcd-cafile",
        "--etcd-certfile",
        small.url,
    }
    assert (stored.failure, stored.complete) == ("", True)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("version", ["3.5", "3.6", "3.7"])
def test_nothing_is_before_grpc_unless_http_shares_its_tls(tmp_path: Path, version: str, tls: bool) -> None:
    """With both on one port of TLS, etcd logs that this "is not recommended for production"; it is the default."""
    with etcd(tmp_path, tls=tls, version=version, arguments=[http_apart()] if tls else []) as member:
        facts, _ = read_etcd(member.options("/nothing"), seconds=1)
        assert (facts.members[0].failure, facts.members[0].read_failure) == ("", "")
        found = {each.check: each.severity for each in etcds(replace(HEALTHY, etcd=facts))}
        assert found["etcd.http"] is Severity.OK


def test_the_doctor_makes_no_store_and_names_what_it_cannot_reach(small: Etcd) -> None:
    facts, stored = read_etcd(small.options("/nothing"), seconds=5)
    assert "etcd has no store of extapi there: /nothing/mark is missing" in facts.store_failure
    assert stored.failure == facts.store_failure
    assert facts.members[0].failure == ""

    async def tale(reactor: Any) -> None:
        store = EtcdBackend(reactor, small.options("/nothing", create=False))
        assert "is missing" in str(await refusal(store.revision(), Exception))
        await store.close()

    with private_reactor() as reactor:
        drive(reactor, tale(reactor))
    away = small.options("/nothing", servers=("https://127.0.0.1:1",))
    facts, _ = read_etcd(away, seconds=1)
    assert "refused" in facts.members[0].failure
    assert {each.check for each in etcds(replace(HEALTHY, etcd=facts))} >= {"etcd.members", "etcd.alarms"}
    facts, _ = read_etcd(small.options("/nothing", cafile=small.directory / "none"), seconds=1)
    assert "--etcd-cafile" in facts.failure
