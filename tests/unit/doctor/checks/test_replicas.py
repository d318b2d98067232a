"""What servers on one store say of one another, in the words of the health check itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from extapi.doctor.checks.replicas import CHECK
from extapi.doctor.finding import Severity
from extapi.http.request import RequestInfo
from extapi.server.health import Health, NamedCheck
from tests.unit.client.building import call
from tests.unit.doctor.healthy import REFERENCE, found, one, served
from tests.unit.server.test_replicas import NEW, OLD, Fleet, Server


def readiness(server: Server) -> str:
    replicas = server.replicas
    check = NamedCheck("replicas", replicas.check, note=replicas.note, told=replicas.told)
    health = Health([check], lambda *_: None)
    asked = call(info=RequestInfo("get", "/readyz"))
    asked.query = {"verbose": [""]}
    answer = health.answer(asked, "/readyz")
    assert answer is not None
    assert isinstance(answer.body, bytes)
    return answer.body.decode()


def test_servers_that_do_not_go_together() -> None:
    fleet = Fleet()
    old, new = fleet.server("old-7f", OLD), fleet.server("new-9a", NEW)
    finding = one(CHECK, served={REFERENCE: [replace(served()[REFERENCE][0], readiness=readiness(new))]})
    assert finding.severity is Severity.ERROR
    assert finding.subjects == ("Service shop/server",)
    assert "in v2, which old-7f cannot read" in finding.saw
    finding = one(CHECK, served={REFERENCE: [replace(served()[REFERENCE][0], readiness=readiness(old))]})
    assert (finding.severity, finding.saw) == (Severity.OK, "127.0.0.1:8443 is one of 1 on this store")


@pytest.mark.parametrize("readiness", ["", "ok", "[+]storage ok\nreadyz check passed\n", "<html>"])
def test_a_server_whose_store_is_its_own(readiness: str) -> None:
    assert not found(CHECK, served={REFERENCE: [replace(served()[REFERENCE][0], readiness=readiness)]})
