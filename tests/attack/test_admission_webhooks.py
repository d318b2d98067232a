"""Admission webhooks that attack who calls them: answers without end, answers that explode, and webhooks that never answer."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from extapi.client.webhookcall import LARGEST
from extapi.codec.strictjson import MAX_DEPTH
from extapi.fielderrors import MOST_TEXT
from tests.attack.test_webhooks import ANSWERS as ENDLESS
from tests.unit.client.conftest import Turning
from tests.webhooks.admission import encoded, says
from tests.webhooks.admitted import Admitted, webhook
from tests.webhooks.answers import hang, http
from tests.webhooks.server import Answer, Certified, certified, serving

BODIES = (
    "body",
    "body-until-the-end",
    "chunks",
    "fields",
    "field",
    "reason",
    "interim",
    "interim-without-fields",
    "trailers",
)


def patch(*operations: Any) -> Answer:
    return says(patch=encoded(list(operations)), patchType="JSONPatch")


def doubling(times: int) -> Answer:
    """Each operation doubles the object."""
    grow = [{"op": "copy", "from": "/spec", "path": "/spec/a"}, {"op": "copy", "from": "/spec", "path": "/spec/b"}]
    return patch(*(grow * times))


DEPTH = MAX_DEPTH * 2 // 3
DEEP = '{"a":' * DEPTH + "{}" + "}" * DEPTH


ANSWERS: dict[str, tuple[Answer, str]] = {
    **{name: ENDLESS[name] for name in BODIES},
    "aliases": ENDLESS["aliases"],
    "depth": (lambda _: http('{"response":' + "[" * 400_000 + "]" * 400_000 + "}"), "exceeded max depth"),
    "message": (says(allowed=False, status={"message": "x" * 900_000}), "x" * 16384 + "..."),
    "uid": (says(uid="x" * 900_000), "x" * 1000),
    "operations": (patch(*([{"op": "test", "path": "/kind", "value": "Table"}] * 10_001)), "10001 operations"),
    "doubling": (doubling(40), "exceeding the limit"),
    "moving": (
        patch(
            {"op": "add", "path": "/spec/list", "value": [0] * 100_000},
            *([{"op": "add", "path": "/spec/list/0", "value": 0}] * 9_000),
        ),
        "move by more than",
    ),
    "deep-patch": (
        says(
            patch=encoded(
                f'[{{"op":"add","path":"/spec/a","value":{DEEP}}},'
                f'{{"op":"add","path":"/spec/a{"/a" * DEPTH}","value":{DEEP}}}]'.encode()
            ),
            patchType="JSONPatch",
        ),
        "nested too deeply",
    ),
    "large-object": (patch({"op": "add", "path": "/metadata/annotations", "value": {"a": "x" * 700_000}}), "Too long"),
}
"""How each attacks, and a part of the error that comes of it."""


@pytest.fixture(scope="module")
def certificates() -> Certified:
    return certified()


@pytest.fixture
def admitted() -> Iterator[Admitted]:
    turning = Turning()
    made = Admitted(turning)
    yield made
    made.stop()
    turning.close()


@pytest.fixture
def measured() -> Iterator[Callable[[], int]]:
    """The most bytes that were in use since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_attack_ends_with_an_error_in_little_memory(
    name: str,
    admitted: Admitted,
    certificates: Certified,
    tmp_path_factory: pytest.TempPathFactory,
    measured: Callable[[], int],
) -> None:
    answer, why = ANSWERS[name]
    with serving({"x": answer}, certificates.context(tmp_path_factory.mktemp("x"))) as served:
        # The longest that may be asked for: a million chunks take seconds while memory is traced.
        admitted.configure("mutating", webhook(served.url("x"), certificates.ca.pem, timeoutSeconds=30))
        status, error = admitted.create()
        admitted.callers.close()
        admitted.until(lambda: not served.open)
    assert status in (400, 422, 500), error
    assert why in error["message"]
    assert len(json.dumps(error)) < 2 * MOST_TEXT
    assert measured() < 12 * LARGEST


def test_others_are_served_while_a_webhook_hangs(
    admitted: Admitted, certificates: Certified, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with serving({"hang": hang, "x": says()}, certificates.context(tmp_path_factory.mktemp("x"))) as served:
        made = webhook(served.url("hang"), certificates.ca.pem, timeoutSeconds=1)
        made["objectSelector"] = {"matchLabels": {"hang": "yes"}}
        admitted.configure("validating", made)
        obj = {
            "apiVersion": "tables.test/v1",
            "kind": "Table",
            "metadata": {"name": "slow", "labels": {"hang": "yes"}},
        }
        slow = [admitted.begin("POST", "/apis/tables.test/v1/namespaces/default/tables", obj) for _ in range(20)]
        assert admitted.create("quick")[0] == 201
        assert not any(each.called for each in slow)
        for each in slow:
            status, error = admitted.wait(each)
            assert status == 500
            assert error["message"].endswith('?timeout=1s": context deadline exceeded')
        admitted.until(lambda: not served.open)
