"""Every option of a query with every value that may be taken wrongly: no answer is a failure of the server."""

from __future__ import annotations

import json

import pytest

from extapi.client.transport import ClientRequest
from extapi.testing import InMemoryServer
from tests.unit.verbs.sample import WIDGETS, Shop, widget

NUMBERS = ["", "-5", "-1", "0", "00", "+1", " 1", "1.5", "1e3", "0x10", "1_0", "NaN", str(-(1 << 63)), str(-(1 << 63) - 1),
           str((1 << 63) - 1), str(1 << 63), str((1 << 64) - 1), str(1 << 64), "9" * 30, "9" * 5000, "-" + "9" * 5000,
           "\u0663", "\uff11"]  # fmt: skip
WORDS = ["a", "null", "true", "TRUE", "%", "%zz", "\0", "\u00e9", "x" * 5000, "{}", "[]", "All", "Exact", "NotOlderThan",
         "Orphan", "Strict", "1s", "-1s", "9" * 30 + "h"]  # fmt: skip
SELECTORS = ["a=b", "a==b", "!a", "a in (b)", "a in (", "a in b)", "=", "==", "!=", "!", ",", ",,", "(", ")", "\\", "a=b\\",
             "metadata.name=", "metadata.name=..", "metadata.name=\0", "metadata.name=x,metadata.name=y", "a>1", "a>9" * 3000,
             "a notin ()", "((((((", "a=b," * 3000]  # fmt: skip
TOKENS = ["eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTUsInN0YXJ0IjoiYSJ9",
          "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLiJ9", "W10", "bnVsbA", "MQ", "eyJydiI6MWU5OTl9"]  # fmt: skip
VALUES = [*NUMBERS, *WORDS, *SELECTORS, *TOKENS]
OPTIONS = ["resourceVersion", "resourceVersionMatch", "limit", "continue", "timeoutSeconds", "timeout", "watch",
           "allowWatchBookmarks", "sendInitialEvents", "labelSelector", "fieldSelector", "pretty", "dryRun", "fieldManager",
           "fieldValidation", "gracePeriodSeconds", "orphanDependents", "propagationPolicy", "force", "includeObject",
           "ignoreStoreReadErrorWithClusterBreakingPotential", "export"]  # fmt: skip
BESIDES: list[dict[str, str]] = [
    {},
    {"resourceVersion": "0"},
    {"labelSelector": "!a"},
    {"resourceVersionMatch": "Exact", "limit": "1"},
    {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
]


def status(server: InMemoryServer, method: str, path: str, query: dict[str, str], body: object = None) -> int:
    """Of an answer whose body is not read: it may be a watch."""
    data = None if body is None else json.dumps(body).encode()
    request = ClientRequest(method, path, query=tuple(query.items()), body=data)
    reply = server.run(server.server.transport().send(request))
    reply.close()
    return reply.status


@pytest.mark.parametrize("option", OPTIONS)
def test_options_with_values_that_are_none(shop_served: Shop, option: str) -> None:
    server = shop_served.server
    shop_served.create("a")
    one = f"{WIDGETS}/a"
    for value in VALUES:
        asked: list[tuple[str, str, dict[str, str], object]] = [
            ("GET", one, {option: value}, None),
            ("GET", WIDGETS, {"watch": "1", option: value}, None),
        ]
        asked += [("GET", WIDGETS, {**besides, option: value}, None) for besides in BESIDES]
        for verb, target, obj in (("POST", WIDGETS, widget("new")), ("PUT", one, widget("a")), ("DELETE", one, None),
                                   ("DELETE", WIDGETS, None)):  # fmt: skip
            asked.append((verb, target, {"dryRun": "All", option: value}, obj))
        for method, path, query, body in asked:
            if option == "dryRun" and method != "GET":
                continue
            code = status(server, method, path, query, body)
            # 504: the revision of a number of 64 bits may come yet.
            assert code < 500 or (code == 504 and option == "resourceVersion"), (method, path, query, code)
