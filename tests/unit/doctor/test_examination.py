from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from extapi.client.operatorclient import Operator
from extapi.doctor.checks import judge
from extapi.doctor.clusterreader import ClusterReader
from extapi.doctor.examination import APISERVICES, ExaminationScope, gather
from tests.answering import serving, whole
from tests.unit.doctor.healthy import NAME, REFERENCE, api_service, service
from tests.unit.doctor.test_clusterreader import at, configured


def test_no_api_service_is_overlooked_where_there_are_many() -> None:
    """A server that gives them in pages, as kube-apiserver does where it is asked for a limit."""
    everything = [api_service(group=f"g{number}.example.com") for number in range(600)]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        path = urlsplit(handler.path)
        if path.path != APISERVICES:
            return whole(404, b"{}")(handler)
        limit = int(parse_qs(path.query).get("limit", ["1000"])[0])
        return whole(200, json.dumps({"items": everything[:limit]}).encode())(handler)

    with serving(answer) as server:
        facts = gather(at(server), ExaminationScope(groups=frozenset({"g599.example.com"})))
    assert [each.group for each in facts.registrations] == ["g599.example.com"]


def test_what_has_not_been_asked_when_the_time_is_over_is_unknown() -> None:
    """The clock jumps past the end while the server's discovery is asked for: what comes after that is not asked."""
    now = [0.0]
    asked: list[str] = []
    external = service(type="ExternalName", externalName="127.0.0.1", selector=None)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        path = urlsplit(handler.path).path
        asked.append(path)
        now[0] = 61.0 if path == "/apis/shop.example.com/v1" else 58.0
        found = {
            APISERVICES: {"items": [api_service()]},
            "/api/v1/namespaces/shop/services/server": external,
            "/openapi/v3": {"paths": {"apis/shop.example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/x"}}},
            "/apis/shop.example.com/v1": {"kind": "APIResourceList", "resources": [{"name": "wares"}]},
        }
        whole(200, json.dumps(found.get(path, {})).encode())(handler)

    with serving(answer) as server:
        cluster = ClusterReader(Operator(configured(server)), seconds=200, total=60, timer=lambda: now[0])
        facts = gather(cluster, ExaminationScope())
    assert asked[-1] == "/apis/shop.example.com/v1"
    assert facts.documents[NAME].over
    (served,) = facts.served[REFERENCE]
    assert (served.address, served.over) == ("127.0.0.1:443", True)
    unknown = {each.check for each in judge(facts) if "the time for the whole run is over" in each.wrong}
    assert unknown == {"certificate.chain", "discovery.answer"}
