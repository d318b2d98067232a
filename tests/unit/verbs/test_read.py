"""GET of objects and lists: behaviour E23 to E36, K12, K13, M10, M13."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from extapi.client.transport import ClientRequest
from extapi.http.response import PIECE
from tests.unit.verbs.sample import ALPHAS, GROUP, SHELVES, V1, WIDGETS, Shop, failure, shelf, widget

ALL = f"{V1}/widgets"


@pytest.fixture
def shop_served(shop_anywhere: Shop) -> Shop:
    """Each story here is told on a cache that is behind, too."""
    return shop_anywhere


def names(listed: Any) -> list[str]:
    return [item["metadata"]["name"] for item in listed.json()["items"]]


def five(shop_served: Shop) -> int:
    """Five widgets, and the revision at which all are there."""
    for name in "abcde":
        last = shop_served.create(name, labels={"vowel": "yes" if name in "ae" else "no"})
    return int(last["metadata"]["resourceVersion"])


@pytest.mark.parametrize("selector", ["", "vowel=yes"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_limit_may_be_any_int64(shop_served: Shop, selector: str, exact: bool) -> None:
    """``metav1.ListOptions.limit`` is an int64; reading one more than it, to see whether there are more, overflowed."""
    revision = five(shop_served)
    query = {"limit": str(2**63 - 1), "labelSelector": selector}
    if exact:
        query |= {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
    listed = shop_served.request("GET", WIDGETS, query)
    assert listed.status == 200
    assert names(listed) == list("ae" if selector else "abcde")


def test_a_missing_object_is_404(shop_served: Shop) -> None:
    """Behaviour E1, M5."""
    answer = shop_served.request("GET", f"{WIDGETS}/x")
    assert answer.status == 404
    assert failure(answer) == {
        "message": 'widgets.shop.example.com "x" not found',
        "reason": "NotFound",
        "details": {"name": "x", "group": GROUP, "kind": "widgets"},
    }


@pytest.mark.parametrize("revision", ["", "0", "1"])
def test_an_object_is_read_at_least_as_new_as_asked(shop_served: Shop, revision: str) -> None:
    """Behaviour E24."""
    created = shop_served.create()
    if revision:
        shop_served.advance()  # a cache that is behind would rightly have nothing
    assert shop_served.request("GET", f"{WIDGETS}/w", {"resourceVersion": revision}).json() == created


@pytest.mark.parametrize("path", [WIDGETS, f"{WIDGETS}/w"])
def test_a_revision_of_the_future_is_504(shop_served: Shop, path: str) -> None:
    """Behaviour E24, M10: after at most three seconds."""
    current = int(shop_served.create()["metadata"]["resourceVersion"])
    before = shop_served.server.clock.seconds()
    answer = shop_served.request("GET", path, {"resourceVersion": str(current + 999)})
    assert answer.status == 504
    assert answer.headers["retry-after"] == "1"
    assert failure(answer) == {
        "message": f"Timeout: Too large resource version: {current + 999}, current: {current}",
        "reason": "Timeout",
        "details": {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
    }
    assert 3 <= shop_served.server.clock.seconds() - before < 3.2


def test_an_exact_list_of_the_future_is_504(shop_served: Shop) -> None:
    """Behaviour E29."""
    current = int(shop_served.create()["metadata"]["resourceVersion"])
    query = {"resourceVersion": str(current + 9), "resourceVersionMatch": "Exact"}
    answer = shop_served.request("GET", WIDGETS, query)
    assert answer.status == 504
    assert f"Too large resource version: {current + 9}, current: {current}" in failure(answer)["message"]


@pytest.mark.parametrize("text", ["abc", "-5"])
def test_a_revision_that_is_no_number(shop_served: Shop, text: str) -> None:
    """Behaviour E25, but for 500 where kube-apiserver does not list: whoever sends it is wrong, not the server."""
    shop_served.create()
    why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
    for path, more in (
        (f"{WIDGETS}/w", {}),
        (WIDGETS, {}),
        (WIDGETS, {"watch": "1"}),
        (f"{WIDGETS}/w", {"watch": "1"}),
    ):
        answer = shop_served.request("GET", path, {"resourceVersion": text, **more})
        assert (answer.status, failure(answer)["message"]) == (400, f"invalid resource version: {why}")


def test_export_is_gone(shop_served: Shop) -> None:
    """Behaviour E23."""
    shop_served.create()
    answer = shop_served.request("GET", f"{WIDGETS}/w", {"export": "true"})
    assert answer.status == 400
    assert failure(answer)["message"] == "the export parameter, deprecated since v1.14, is no longer supported"
    assert shop_served.request("GET", f"{WIDGETS}/w", {"export": "false", "unknown": "x"}).status == 200


def test_a_list_has_everything(shop_served: Shop) -> None:
    """Behaviour E26 with the empty continue observed on 1.36.3."""
    revision = five(shop_served)
    answer = shop_served.request("GET", WIDGETS)
    assert answer.status == 200
    assert answer.body.endswith(b"}\n")
    listed = answer.json()
    assert list(listed) == ["apiVersion", "items", "kind", "metadata"]  # behaviour M18
    assert names(answer) == list("abcde")
    assert listed["items"][0] == shop_served.get("a")
    assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", f"{GROUP}/v1")
    assert listed["metadata"] == {"continue": "", "resourceVersion": str(revision)}


def test_an_empty_list_has_items(shop_served: Shop) -> None:
    """Behaviour E26, E36: also where the namespace does not exist."""
    shop_served.server.namespaces.missing.add("default")
    answer = shop_served.request("GET", WIDGETS)
    assert answer.status == 200
    assert answer.json()["items"] == []


def test_a_list_is_of_one_namespace_or_of_all(shop_served: Shop) -> None:
    shop_served.create("b")
    shop_served.request("POST", WIDGETS.replace("default", "another"), body=widget("a"))
    shop_served.request("POST", WIDGETS.replace("default", "other"), body=widget("c"))
    assert names(shop_served.request("GET", WIDGETS)) == ["b"]
    assert names(shop_served.request("GET", ALL)) == ["a", "b", "c"]
    assert names(shop_served.request("GET", f"{V1}/namespaces//widgets")) == ["a", "b", "c"]


def test_a_cluster_scoped_list(shop_served: Shop) -> None:
    for name in "ba":
        shop_served.request("POST", SHELVES, body=shelf(name))
    answer = shop_served.request("GET", SHELVES)
    assert names(answer) == ["a", "b"]
    assert answer.json()["kind"] == "ShelfList"


def test_a_list_in_another_version(shop_served: Shop) -> None:
    shop_served.create(spec={"size": 3})
    listed = shop_served.request("GET", ALPHAS).json()
    assert listed["apiVersion"] == f"{GROUP}/v1alpha1"
    assert [item["spec"] for item in listed["items"]] == [{"inches": "3in"}]


def test_pages_are_of_one_revision(shop_served: Shop) -> None:
    """Behaviour E30, E31, K16, M13; within a namespace kube-apiserver puts a slash in front."""
    revision = five(shop_served)
    first = shop_served.request("GET", WIDGETS, {"limit": "2"}).json()
    token = first["metadata"]["continue"]
    assert first["metadata"] == {"continue": token, "remainingItemCount": 3, "resourceVersion": str(revision)}
    decoded = msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    assert decoded == {"v": "meta.k8s.io/v1", "rv": revision, "start": "/b\0"}
    shop_served.create("bb")
    shop_served.request("DELETE", f"{WIDGETS}/d")
    second = shop_served.request("GET", WIDGETS, {"limit": "2", "continue": token})
    assert names(second) == ["c", "d"]
    assert second.json()["metadata"]["resourceVersion"] == str(revision)
    assert second.json()["metadata"]["remainingItemCount"] == 1
    last = shop_served.request("GET", WIDGETS, {"limit": "2", "continue": second.json()["metadata"]["continue"]})
    assert names(last) == ["e"]
    assert last.json()["metadata"] == {"continue": "", "resourceVersion": str(revision)}


def test_pages_are_filled_where_there_are_selectors(shop_served: Shop) -> None:
    """Behaviour E31: and nothing is said about how many remain."""
    five(shop_served)
    first = shop_served.request("GET", WIDGETS, {"limit": "1", "labelSelector": "vowel=yes"})
    assert names(first) == ["a"]
    assert "remainingItemCount" not in first.json()["metadata"]
    query = {"limit": "5", "labelSelector": "vowel=yes", "continue": first.json()["metadata"]["continue"]}
    last = shop_served.request("GET", WIDGETS, query)
    assert names(last) == ["e"]
    assert last.json()["metadata"]["continue"] == ""


def test_a_page_across_namespaces_goes_on_in_the_right_one(shop_served: Shop) -> None:
    for namespace in ("n1", "n2"):
        for name in "ab":
            shop_served.request("POST", WIDGETS.replace("default", namespace), body=widget(name))
    seen: list[tuple[str, str]] = []
    token = ""
    for _ in range(4):
        page = shop_served.request("GET", ALL, {"limit": "1", "continue": token}).json()
        seen += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
        token = page["metadata"]["continue"]
    assert token == ""
    assert seen == [("n1", "a"), ("n1", "b"), ("n2", "a"), ("n2", "b")]


def compact(shop_served: Shop) -> None:
    async def now() -> None:
        backend = shop_served.server.backend
        await backend.compact(await backend.revision(), expected=await backend.oldest())

    shop_served.server.run(now())
    shop_served.advance(600)
    shop_served.server.run(now())


def test_a_token_that_is_too_old_is_410_with_another(shop_served: Shop) -> None:
    """Behaviour E29: the new token goes on with whatever is there now."""
    five(shop_served)
    token = shop_served.request("GET", WIDGETS, {"limit": "2"}).json()["metadata"]["continue"]
    shop_served.create("cc")
    shop_served.request("DELETE", f"{WIDGETS}/d")
    compact(shop_served)
    answer = shop_served.request("GET", WIDGETS, {"limit": "2", "continue": token})
    assert answer.status == 410
    status = answer.json()
    assert status["reason"] == "Expired"
    assert status["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    )
    rest = shop_served.request("GET", WIDGETS, {"limit": "2", "continue": status["metadata"]["continue"]})
    assert names(rest) == ["c", "cc"]
    end = shop_served.request("GET", WIDGETS, {"limit": "2", "continue": rest.json()["metadata"]["continue"]})
    assert names(end) == ["e"]


def test_an_exact_revision_that_is_too_old_is_410(shop_served: Shop) -> None:
    """Behaviour E29."""
    revision = five(shop_served)
    shop_served.create("f")
    compact(shop_served)
    query = {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
    answer = shop_served.request("GET", WIDGETS, query)
    assert answer.status == 410
    assert failure(answer) == {
        "message": "The resourceVersion for the provided list is too old.",
        "reason": "Expired",
    }


def test_an_exact_list_is_of_that_revision(shop_served: Shop) -> None:
    """Behaviour E28, K13."""
    revision = five(shop_served)
    shop_served.create("f")
    shop_served.request("DELETE", f"{WIDGETS}/a")
    exact = shop_served.request("GET", WIDGETS, {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"})
    assert names(exact) == list("abcde")
    assert exact.json()["metadata"]["resourceVersion"] == str(revision)
    legacy = shop_served.request("GET", WIDGETS, {"resourceVersion": str(revision), "limit": "3"})
    assert names(legacy) == list("abc")
    assert legacy.json()["metadata"]["remainingItemCount"] == 2
    newer = {"resourceVersion": str(revision), "resourceVersionMatch": "NotOlderThan", "limit": "9"}
    shop_served.advance()  # until then a cache that is behind would rightly be older
    assert names(shop_served.request("GET", WIDGETS, newer)) == list("bcdef")
    assert names(shop_served.request("GET", WIDGETS, {"resourceVersion": str(revision)})) == list("bcdef")


def test_any_revision_ignores_the_limit(shop_served: Shop) -> None:
    """Behaviour E28."""
    five(shop_served)
    shop_served.advance()  # until then a cache that is behind would rightly have less
    answer = shop_served.request("GET", WIDGETS, {"resourceVersion": "0", "limit": "2"})
    assert names(answer) == list("abcde")


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        (
            {"resourceVersionMatch": "Exact"},
            422,
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            {"resourceVersionMatch": "x", "resourceVersion": "1"},
            422,
            'resourceVersionMatch: Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            422,
            'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        ({"sendInitialEvents": "true"}, 422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        ({"limit": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"continue": "x"}, 400, "continue key is not valid"),
        ({"continue": "x", "resourceVersion": "5"}, 400, "continue key is not valid"),
        (
            {"continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "resourceVersion": "5"},
            400,
            "specifying resource version is not allowed when using continue",
        ),
        ({"labelSelector": "a in", "resourceVersionMatch": "x"}, 400, "unable to parse requirement: "),
        ({"labelSelector": "a in"}, 400, "unable to parse requirement: "),
        ({"fieldSelector": "abc"}, 400, "invalid selector: 'abc'; can't understand 'abc'"),
        ({"fieldSelector": "spec.size=1"}, 400, "field label not supported: spec.size"),
    ],
)
def test_bad_options(shop_served: Shop, query: dict[str, str], status: int, text: str) -> None:
    """Behaviour E27, E30, E32 to E34."""
    answer = shop_served.request("GET", WIDGETS, query)
    assert answer.status == status
    assert text in failure(answer)["message"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("vowel=yes", "ae"),
        ("vowel!=yes", "bcd"),
        ("vowel in (yes,no),other", ""),
        ("!vowel", ""),
        ("vowel notin (yes)", "bcd"),
    ],
)
def test_label_selectors(shop_served: Shop, selector: str, expected: str) -> None:
    """Behaviour E33."""
    five(shop_served)
    assert names(shop_served.request("GET", WIDGETS, {"labelSelector": selector})) == list(expected)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=b", "b"),
        ("metadata.name!=b", "acde"),
        ("metadata.namespace=default,metadata.name==c", "c"),
        ("metadata.namespace=x", ""),
        ("metadata.name=x", ""),
    ],
)
def test_field_selectors(shop_served: Shop, selector: str, expected: str) -> None:
    """Behaviour E34, J45."""
    five(shop_served)
    assert names(shop_served.request("GET", WIDGETS, {"fieldSelector": selector})) == list(expected)


def test_cluster_scoped_objects_have_no_namespace_to_select(shop_served: Shop) -> None:
    """Behaviour J45."""
    assert shop_served.request("GET", SHELVES, {"fieldSelector": "metadata.name=s"}).status == 200
    answer = shop_served.request("GET", SHELVES, {"fieldSelector": "metadata.namespace=x"})
    assert failure(answer)["message"] == "field label not supported: metadata.namespace"


@pytest.mark.parametrize(
    "sizes", [[10_000] * 30, [200_000] * 6, [10_000, 10_000, 40_000, 40_000], [1, 200_000, 1], [90_000, 90_000]]
)
def test_a_large_list_comes_whole(shop_served: Shop, sizes: list[int]) -> None:
    """It leaves in pieces, however the sizes of its objects differ."""
    for number, size in enumerate(sizes):
        shop_served.create(f"w{number:02}", annotations={"a": "x" * size})
    listed = shop_served.request("GET", WIDGETS)
    assert [len(item["metadata"]["annotations"]["a"]) for item in listed.json()["items"]] == sizes


def test_pieces_are_of_bounded_size(shop_served: Shop) -> None:
    for number in range(30):
        shop_served.create(f"w{number:02}", annotations={"a": "x" * (number * 1000)})
    request = ClientRequest("GET", WIDGETS)
    reply = shop_served.server.run(shop_served.server.server.transport().send(request))
    body = reply._response.body
    assert not callable(body)
    pieces = [bytes(piece) for piece in body if isinstance(piece, bytes)]
    assert len(pieces) > 4
    assert max(map(len, pieces)) <= PIECE
    assert reply._response.length == sum(map(len, pieces))


def test_head_is_a_get(shop_served: Shop) -> None:
    """Observed on 1.36.3; the listener leaves the body out."""
    shop_served.create()
    assert shop_served.request("HEAD", WIDGETS).status == 200
    assert shop_served.request("HEAD", f"{WIDGETS}/w").status == 200
