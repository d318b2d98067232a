from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from extapi.doctor.examination import APISERVICES, Scope, gather
from tests.unit.doctor.healthy import api_service
from tests.unit.doctor.test_cluster import at, serving, whole


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
        facts = gather(at(server), Scope(groups=frozenset({"g599.example.com"})))
    assert [each.group for each in facts.registrations] == ["g599.example.com"]
