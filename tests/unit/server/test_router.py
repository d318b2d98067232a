"""Which code answers: spec C1 to C5, C21, J38, and what was observed on 1.36.3."""

from __future__ import annotations

import pytest

from extapi import Api, Group, Kind, Object, Version
from extapi.testing import serve
from tests.unit.verbs.sample import GROUP, SHELVES, V1, WIDGETS, Shop, failure, shelf

NOT_FOUND = {"message": "the server could not find the requested resource", "reason": "NotFound", "details": {}}


@pytest.mark.parametrize("path", ["/", "/index.html"])
def test_the_index(shop_served: Shop, path: str) -> None:
    """C3: sorted, without duplicates."""
    answer = shop_served.request("GET", path)
    assert answer.status == 200
    paths = answer.json()["paths"]
    assert paths == sorted(set(paths))
    assert {
        "/apis",
        f"/apis/{GROUP}",
        V1,
        "/healthz",
        "/healthz/ping",
        "/openapi/v2",
        "/openapi/v3",
        "/version",
    } <= set(paths)
    assert answer.body.startswith(b"{\n  ")


def test_an_unknown_path_is_404_with_the_index(shop_served: Shop) -> None:
    """C2, M6."""
    answer = shop_served.request("GET", "/nope")
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/json"
    assert "/apis" in answer.json()["paths"]


@pytest.mark.parametrize(
    "path",
    [
        f"{V1}/gadgets",
        f"/apis/{GROUP}/v9/widgets",
        "/apis/x.example.com/v1/widgets",
        "/api/v1/namespaces/default/widgets",
        f"{V1}/namespaces/default/shelves",
        f"{V1}/widgets/w",
        f"{V1}/namespaces/default",
    ],
)
def test_what_is_not_served_is_404(shop_served: Shop, path: str) -> None:
    """C4, J38: nor is anything in the wrong scope."""
    answer = shop_served.request("GET", path)
    assert answer.status == 404
    assert failure(answer) == NOT_FOUND


def test_an_unknown_subresource_names_the_object(shop_served: Shop) -> None:
    """J38."""
    answer = shop_served.request("GET", f"{WIDGETS}/w/scale")
    assert failure(answer)["message"] == 'widgets.shop.example.com "w" not found'


@pytest.mark.parametrize(("method", "verb"), [("OPTIONS", ""), ("BREW", "")])
def test_other_methods_are_405(shop_served: Shop, method: str, verb: str) -> None:
    """E6; observed on 1.36.3: an empty verb."""
    answer = shop_served.request(method, WIDGETS)
    assert answer.status == 405
    assert failure(answer) == {
        "message": f'{verb} is not supported on resources of kind "widgets.shop.example.com"',
        "reason": "MethodNotAllowed",
        "details": {"group": GROUP, "kind": "widgets"},
    }


@pytest.mark.parametrize("path", ["/version", "/openapi/v2"])
def test_other_methods_on_documents_are_405(shop_served: Shop, path: str) -> None:
    """C4."""
    answer = shop_served.request("POST", path)
    assert answer.status == 405
    assert failure(answer) == {
        "message": "the server does not allow this method on the requested resource",
        "reason": "MethodNotAllowed",
        "details": {},
    }


def test_a_trailing_slash_and_segments_after_a_subresource_do_not_matter(shop_served: Shop) -> None:
    """Observed on 1.36.3."""
    created = shop_served.create()
    assert shop_served.request("GET", f"{WIDGETS}/w/").json() == created
    assert shop_served.request("GET", f"{WIDGETS}/w/status/x/y").json() == created
    assert shop_served.request("GET", "/version/").status == 200


@pytest.mark.parametrize(
    ("name", "why"),
    [("%2e%2e", "may not be '..'"), ("%2e", "may not be '.'"), ("a%25b", "may not contain '%'")],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_name_that_no_path_can_have_is_400(shop_served: Shop, method: str, name: str, why: str) -> None:
    """K1; observed on 1.36.3."""
    answer = shop_served.request(method, f"{WIDGETS}/{name}", body={})
    assert answer.status == 400
    assert failure(answer)["message"].startswith("Name parameter invalid: ")
    assert failure(answer)["message"].endswith(why)


def test_the_version(shop_served: Shop) -> None:
    """C21."""
    answer = shop_served.request("GET", "/version")
    assert answer.body.startswith(b"{\n  ")
    version = answer.json()
    assert set(version) == {
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    }
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")


def test_a_deprecated_version_warns_of_itself(shop_served: Shop) -> None:
    """G16, J43: on every request."""
    path = f"/apis/{GROUP}/v1beta1/shelves"
    warning = '299 - "shop.example.com/v1beta1 Shelf is deprecated; use shop.example.com/v1 Shelf"'
    assert shop_served.request("POST", path, body=shelf(version="v1beta1")).headers["warning"] == warning
    assert shop_served.request("GET", f"{path}/s").headers["warning"] == warning
    assert shop_served.request("GET", f"{path}/missing").headers["warning"] == warning
    assert "warning" not in shop_served.request("GET", f"{SHELVES}/s").headers


class Thing(Object):
    pass


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ({"v1": Version(Thing, deprecated="use paper")}, "use paper"),
        ({"v1": Version(Thing, deprecated=True)}, "a.example.com/v1 Thing is deprecated"),
        (
            {"v1": Version(Thing, deprecated=True), "v1beta1": Version(Thing)},
            "a.example.com/v1 Thing is deprecated",
        ),
    ],
)
def test_what_a_deprecation_says(versions: dict[str, Version], text: str) -> None:
    """J43: the author's words; else better versions only."""
    with serve(Api(Group("a.example.com", Kind("Thing", storage="v1", versions=versions)))) as server:
        answer = server.request("GET", "/apis/a.example.com/v1/things")
    assert answer.headers["warning"] == f'299 - "{text}"'
