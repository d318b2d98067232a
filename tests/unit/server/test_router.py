"""Which code answers: behaviour C1 to C5, C21, J38, and what was observed on 1.36.3."""

from __future__ import annotations

import platform

import pytest

from extapi import Api, Group, Kind, Object, Version
from extapi.server.router import version_info
from extapi.testing import InMemoryServer, serve
from tests.unit.server.cluster import ACCOUNTS, REVIEWS, account, namespace
from tests.unit.verbs.sample import GROUP, SHELVES, V1, WIDGETS, Shop, failure, shelf

NOT_FOUND = {"message": "the server could not find the requested resource", "reason": "NotFound", "details": {}}


@pytest.mark.parametrize("path", ["/", "/index.html"])
def test_the_index(shop_served: Shop, path: str) -> None:
    """Behaviour C3: sorted, without duplicates."""
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
    """Behaviour C2, M6."""
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
    """Behaviour C4, J38: nor is anything in the wrong scope."""
    answer = shop_served.request("GET", path)
    assert answer.status == 404
    assert failure(answer) == NOT_FOUND


def test_an_unknown_subresource_names_the_object(shop_served: Shop) -> None:
    """Behaviour J38."""
    answer = shop_served.request("GET", f"{WIDGETS}/w/scale")
    assert failure(answer)["message"] == 'widgets.shop.example.com "w" not found'


@pytest.mark.parametrize(("method", "verb"), [("OPTIONS", ""), ("BREW", "")])
def test_other_methods_are_405(shop_served: Shop, method: str, verb: str) -> None:
    """Behaviour E6; observed on 1.36.3: an empty verb."""
    answer = shop_served.request(method, WIDGETS)
    assert answer.status == 405
    assert failure(answer) == {
        "message": f'{verb} is not supported on resources of kind "widgets.shop.example.com"',
        "reason": "MethodNotAllowed",
        "details": {"group": GROUP, "kind": "widgets"},
    }


@pytest.mark.parametrize("path", ["/version", "/openapi/v2"])
def test_other_methods_on_documents_are_405(shop_served: Shop, path: str) -> None:
    """Behaviour C4."""
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
    """Behaviour K1; observed on 1.36.3."""
    answer = shop_served.request(method, f"{WIDGETS}/{name}", body={})
    assert answer.status == 400
    assert failure(answer)["message"].startswith("Name parameter invalid: ")
    assert failure(answer)["message"].endswith(why)


def test_the_version(shop_served: Shop) -> None:
    """Behaviour C21."""
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
    """Behaviour G16, J43: on every request."""
    path = f"/apis/{GROUP}/v1beta1/shelves"
    warning = '299 - "shop.example.com/v1beta1 Shelf is deprecated; use shop.example.com/v1 Shelf"'
    assert shop_served.request("POST", path, body=shelf(version="v1beta1")).headers["warning"] == warning
    assert shop_served.request("GET", f"{path}/s").headers["warning"] == warning
    assert shop_served.request("GET", f"{path}/missing").headers["warning"] == warning
    # Also of what is not there and not allowed, but for paths that no kind serves.
    for method, below, status in (
        ("GET", "/s/nope", 404),
        ("POST", "/s/nope", 404),
        ("OPTIONS", "/s", 405),
        ("HEAD", "/x", 404),
    ):
        answer = shop_served.request(method, f"{path}{below}")
        assert (answer.status, answer.headers["warning"]) == (status, warning), (method, below)
    nowhere = f"/apis/{GROUP}/v1beta1/namespaces/default/shelves"
    assert "warning" not in shop_served.request("GET", nowhere).headers
    assert "warning" not in shop_served.request("GET", f"{SHELVES}/s").headers


def test_the_version_has_no_head(shop_served: Shop) -> None:
    """As 1.36.3 answers; its documents and checks have one."""
    for path in ("/version", "/version/"):
        assert shop_served.request("HEAD", path).status == 405
        assert shop_served.request("GET", path).status == 200
    for path in ("/apis", "/openapi/v2", "/healthz", "/"):
        assert shop_served.request("HEAD", path).status == 200


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
    """Behaviour J43: the author's words; else better versions only."""
    with serve(Api(Group("a.example.com", Kind("Thing", storage="v1", versions=versions)))) as server:
        answer = server.request("GET", "/apis/a.example.com/v1/things")
    assert answer.headers["warning"] == f'299 - "{text}"'


def test_the_index_names_the_core_group(cluster_served: InMemoryServer) -> None:
    paths = cluster_served.request("GET", "/").json()["paths"]
    assert paths[:5] == ["/api", "/api/v1", "/apis", "/apis/authentication.k8s.io", "/apis/authentication.k8s.io/v1"]
    assert "/openapi/v3/api/v1" in paths


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2",
        "/api/v2/namespaces",
        "/apis/v1",
        "/apis//v1",
        "/apis//v1/namespaces",
        "/api/v1/gadgets",
        "/api/v1/namespaces/default/namespaces",
        "/api/v1/namespaces/other/namespaces/default",
        "/api/v1/serviceaccounts/default",
        f"{ACCOUNTS}/x/gadgets",
    ],
)
def test_what_the_core_group_does_not_have_is_404(cluster_served: InMemoryServer, path: str) -> None:
    answer = cluster_served.request("GET", path)
    assert answer.status == 404
    assert failure(answer) == NOT_FOUND


def test_objects_of_the_core_group(cluster_served: InMemoryServer) -> None:
    """Their apiVersion is just the version; a namespace is found at its own path, and lists and watches show it."""
    made = cluster_served.request("POST", "/api/v1/namespaces", body=namespace("blue"))
    assert made.status == 201
    assert (made.json()["apiVersion"], made.json()["metadata"]["name"]) == ("v1", "blue")
    found = cluster_served.request("GET", "/api/v1/namespaces/blue").json()
    assert (found["apiVersion"], found["kind"]) == ("v1", "Namespace")
    listed = cluster_served.request("GET", "/api/v1/namespaces").json()
    item = {name: value for name, value in found.items() if name not in {"apiVersion", "kind"}}
    assert (listed["apiVersion"], listed["kind"], listed["items"]) == ("v1", "NamespaceList", [item])
    for path in ("/api/v1/namespaces", "/api/v1/watch/namespaces", "/api/v1/watch/namespaces/blue"):
        stream = cluster_served.watch(path, {"resourceVersion": "0"})
        assert stream.events == [("ADDED", found)]
        stream.close()


def test_deleting_in_the_core_group(cluster_served: InMemoryServer) -> None:
    """The Status names no group; what is missing is called by its bare resource."""
    made = cluster_served.request("POST", "/api/v1/namespaces", body=namespace("blue")).json()
    gone = cluster_served.request("DELETE", "/api/v1/namespaces/blue").json()
    assert gone["details"] == {"name": "blue", "kind": "namespaces", "uid": made["metadata"]["uid"]}
    assert failure(cluster_served.request("GET", "/api/v1/namespaces/blue")) == {
        "message": 'namespaces "blue" not found',
        "reason": "NotFound",
        "details": {"name": "blue", "kind": "namespaces"},
    }


def test_parts_of_a_namespace(cluster_served: InMemoryServer) -> None:
    cluster_served.request("POST", "/api/v1/namespaces", body=namespace("blue", spec={"finalizers": ["kubernetes"]}))
    emptied = namespace("blue", spec={"finalizers": []}, status={"phase": "Terminating"})
    answer = cluster_served.request("PUT", "/api/v1/namespaces/blue/finalize", body=emptied)
    assert answer.status == 200
    assert answer.json()["spec"]["finalizers"] == []
    assert "status" not in answer.json()
    marked = cluster_served.request("PUT", "/api/v1/namespaces/blue/status", body=emptied).json()
    assert marked["status"] == {"phase": "Terminating"}


def test_a_wrong_uid_is_told_with_the_key_that_kubernetes_has(cluster_served: InMemoryServer) -> None:
    """Behaviour E39: without a group there is no segment for it."""
    uid = cluster_served.request("POST", ACCOUNTS, body=account("bot")).json()["metadata"]["uid"]
    other = {**account("bot"), "metadata": {"name": "bot", "uid": "x"}}
    answer = cluster_served.request("PUT", f"{ACCOUNTS}/bot", body=other)
    assert answer.json()["message"] == (
        'Operation cannot be fulfilled on serviceaccounts "bot": StorageError: invalid object, Code: 4, '
        "Key: /registry/serviceaccounts/default/bot, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: x, UID in object meta: {uid}"
    )


def test_what_answers_itself(cluster_served: InMemoryServer) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "secret"}}
    answer = cluster_served.request("POST", REVIEWS, body=review)
    assert answer.status == 201
    assert answer.json()["status"] == {"authenticated": True}


def test_a_subresource_that_speaks_a_kind_of_another_group(cluster_served: InMemoryServer) -> None:
    cluster_served.request("POST", ACCOUNTS, body=account("bot"))
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["me"]}}
    answer = cluster_served.request("POST", f"{ACCOUNTS}/bot/token", body=body)
    assert answer.status == 201
    made = answer.json()
    assert (made["apiVersion"], made["kind"]) == ("authentication.k8s.io/v1", "TokenRequest")
    assert made["status"]["token"] == "default/bot"
    missing = cluster_served.request("POST", f"{ACCOUNTS}/nobody/token", body=body)
    assert failure(missing)["message"] == 'serviceaccounts "nobody" not found'
    # What is in the path is checked as for any other verb.
    assert cluster_served.request("POST", f"{ACCOUNTS}/%25/token", body=body).status == 400


NOT_ALLOWED = {
    "message": "the server does not allow this method on the requested resource",
    "reason": "MethodNotAllowed",
    "details": {},
}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", REVIEWS),
        ("DELETE", "/api/v1/namespaces"),
        ("GET", f"{ACCOUNTS}/default/token"),
        ("POST", f"{ACCOUNTS}/default"),
        ("POST", "/api"),
        ("POST", "/api/v1"),
    ],
)
def test_what_kubernetes_own_kinds_do_not_allow(cluster_served: InMemoryServer, method: str, path: str) -> None:
    """As 1.36.3 answers; custom resources have another text (behaviour C21)."""
    answer = cluster_served.request(method, path)
    assert answer.status == 405
    assert failure(answer) == NOT_ALLOWED


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_what_has_no_verb_for_one_object_has_no_path_for_it(cluster_served: InMemoryServer, method: str) -> None:
    """As 1.36.3 answers for tokenreviews/a."""
    answer = cluster_served.request(method, f"{REVIEWS}/a")
    assert answer.status == 404
    assert failure(answer) == NOT_FOUND


def test_kubernetes_and_our_own_version() -> None:
    info = version_info()
    assert (info["major"], info["minor"]) == ("1", "36")
    assert info["gitVersion"].startswith("v1.36.0+extapi-")
    assert info["goVersion"].startswith("python3.")


@pytest.mark.parametrize(("machine", "name"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("riscv64", "riscv64")])
def test_the_platform_is_called_as_go_calls_it(monkeypatch: pytest.MonkeyPatch, machine: str, name: str) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert version_info()["platform"] == f"linux/{name}"
