"""Expected values: the table of k8s.io/apiserver's requestinfo_test.go, and behaviour B1 to B7."""

from __future__ import annotations

import pytest

from extapi.http.request import RequestInfo
from extapi.listener.request import parse_query
from extapi.listener.requestinfo import NoRequestInfo, request_info


def info(method: str, target: str) -> RequestInfo:
    path, _, query = target.partition("?")
    return request_info(method, path, parse_query(query))


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/namespaces", ("list", "api", "", "v1", "", "namespaces", "", "")),
        ("GET", "/api/v1/namespaces/other", ("get", "api", "", "v1", "other", "namespaces", "", "other")),
        ("GET", "/api/v1/namespaces/other/pods", ("list", "api", "", "v1", "other", "pods", "", "")),
        ("GET", "/api/v1/namespaces/other/pods/foo", ("get", "api", "", "v1", "other", "pods", "", "foo")),
        ("HEAD", "/api/v1/namespaces/other/pods/foo", ("get", "api", "", "v1", "other", "pods", "", "foo")),
        ("GET", "/api/v1/pods", ("list", "api", "", "v1", "", "pods", "", "")),
        ("HEAD", "/api/v1/pods", ("list", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/proxy/namespaces/other/pods/foo", ("proxy", "api", "", "v1", "other", "pods", "", "foo")),
        (
            "GET",
            "/api/v1/proxy/namespaces/other/pods/foo/subpath/x",
            ("proxy", "api", "", "v1", "other", "pods", "", "foo"),
        ),
        ("GET", "/api/v1/watch/pods", ("watch", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/watch/namespaces/other/pods", ("watch", "api", "", "v1", "other", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=true", ("watch", "api", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=false", ("list", "api", "", "v1", "", "pods", "", "")),
        (
            "GET",
            "/apis/batch/v1/namespaces/other/jobs/foo/status",
            ("get", "apis", "batch", "v1", "other", "jobs", "status", "foo"),
        ),
        (
            "PUT",
            "/api/v1/namespaces/other/finalize",
            ("update", "api", "", "v1", "other", "namespaces", "finalize", "other"),
        ),
        (
            "PUT",
            "/api/v1/namespaces/other/status",
            ("update", "api", "", "v1", "other", "namespaces", "status", "other"),
        ),
        ("PATCH", "/api/v1/namespaces/other/pods/foo", ("patch", "api", "", "v1", "other", "pods", "", "foo")),
        ("DELETE", "/api/v1/namespaces/other/pods/foo", ("delete", "api", "", "v1", "other", "pods", "", "foo")),
        ("POST", "/api/v1/namespaces/other/pods", ("create", "api", "", "v1", "other", "pods", "", "")),
        ("DELETE", "/api/v1/nodes", ("deletecollection", "api", "", "v1", "", "nodes", "", "")),
        (
            "DELETE",
            "/api/v1/namespaces/other/pods",
            ("deletecollection", "api", "", "v1", "other", "pods", "", ""),
        ),
        ("OPTIONS", "/api/v1/nodes", ("", "api", "", "v1", "", "nodes", "", "")),
        ("GET", "/apis/g/v1/namespaces//probes", ("list", "apis", "g", "v1", "", "probes", "", "")),
        ("GET", "/apis/g/v1/namespaces/../probes", ("list", "apis", "g", "v1", "..", "probes", "", "")),
        ("GET", "/apis/g/v1/probes/a/", ("get", "apis", "g", "v1", "", "probes", "", "a")),
        ("GET", "/apis/g/v1/probes/a/scale/x/y", ("get", "apis", "g", "v1", "", "probes", "scale", "a")),
    ],
)
def test_resource_requests(method: str, path: str, expected: tuple[str, ...]) -> None:
    found = info(method, path)
    assert found.is_resource
    assert (
        found.verb,
        found.prefix,
        found.group,
        found.version,
        found.namespace,
        found.resource,
        found.subresource,
        found.name,
    ) == expected


@pytest.mark.parametrize(
    "path",
    ["/", "", "/healthz", "/api", "/api/v1", "/apis", "/apis/g", "/apis/g/v1", "/apis/g/v1/", "/other/a/b/c", "//"],
)
def test_other_paths(path: str) -> None:
    assert info("GET", path) == RequestInfo(verb="get", path=path)
    assert info("POST", path).verb == "post"


@pytest.mark.parametrize("path", ["/apis/g/v1/watch", "/apis/g/v1/proxy/", "/api/v1/watch"])
def test_special_verb_without_a_kind(path: str) -> None:
    with pytest.raises(NoRequestInfo, match=r"^unable to determine kind and namespace from url$"):
        info("GET", path)


def test_parts_begin_with_the_resource() -> None:
    assert info("GET", "/apis/g/v1/namespaces/ns/probes/a/b/c").parts == ("probes", "a", "b", "c")


@pytest.mark.parametrize(
    ("query", "verb"),
    [
        ("watch", "watch"),
        ("watch=", "watch"),
        ("watch=1", "watch"),
        ("watch=yes", "watch"),
        ("watch=0", "list"),
        ("watch=FALSE", "list"),
        ("watch=0&watch=1", "list"),
        ("watch=1&limit=x", "watch"),
        ("limit=x", "list"),
    ],
)
def test_watch_parameter(query: str, verb: str) -> None:
    assert info("GET", f"/api/v1/pods?{query}").verb == verb
    assert info("GET", f"/api/v1/pods/a?{query}").verb == "get"


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name==a", "a"),
        ("spec.x=1,metadata.name=a", "a"),
        ("metadata.name=b,metadata.name=a", "a"),  # terms are sorted before the first one is taken
        (f"metadata.name=a,b={'c' * 4078}", "a"),
        (f"metadata.name=a,b={'c' * 4079}", ""),  # too long to be read for somebody who is not known yet
        (r"metadata.name=a\,b", "a,b"),
        ("metadata.name!=a", ""),
        ("metadata.name=.", ""),
        ("metadata.name=..", ""),
        ("metadata.name=a/b", ""),
        ("metadata.name=a%25", ""),
        ("metadata.name", ""),
        ("metadata.name=a=b", ""),
        (r"metadata.name=a\b", ""),
        ("spec.metadata.name=a", ""),
        ("spec.x=1", ""),
        ("", ""),  # Go sorts the terms
        ("metadata.name=a,spec.x", ""),
        (r"metadata.name=a,spec.x=\\", "a"),
        ("metadata.name=a" + ",x=" * 999, "a"),
        ("metadata.name=a,x=" + "y" * 100_000, ""),
        ("metadata.name=a,x=" + r"\\\\" * 1000, "a"),
        ("metadata.name=a,x=" + r"\\\\" * 2000, ""),
    ],
)
def test_name_pinned_by_the_field_selector(selector: str, name: str) -> None:
    found = request_info("GET", "/api/v1/pods", {"fieldSelector": [selector]})
    assert (found.verb, found.name, found.field_selector) == ("list", name, selector)
    assert request_info("DELETE", "/api/v1/pods", {"fieldSelector": [selector]}).name == ""


@pytest.mark.parametrize("option", ["limit=x", "limit=", "timeoutSeconds=9223372036854775808", "timeoutSeconds=1.5"])
def test_no_name_is_pinned_if_an_option_cannot_be_decoded(option: str) -> None:
    assert info("GET", f"/api/v1/pods?{option}&fieldSelector=metadata.name%3Da").name == ""


def test_name_is_pinned_beside_good_options() -> None:
    assert info("GET", "/api/v1/pods?limit=500&timeoutSeconds=-1&fieldSelector=metadata.name%3Da").name == "a"


def test_selectors_are_recorded_for_lists_only() -> None:
    query = "?fieldSelector=a%3Db&fieldSelector=c&labelSelector=x"
    for method, path in (("GET", "/api/v1/pods"), ("DELETE", "/api/v1/pods")):
        found = info(method, path + query)
        assert (found.field_selector, found.label_selector) == ("a=b", "x")
    for method, path in (("GET", "/api/v1/pods/a"), ("GET", "/api/v1/watch/pods"), ("POST", "/api/v1/pods")):
        found = info(method, path + query)
        assert (found.field_selector, found.label_selector) == ("", "")
