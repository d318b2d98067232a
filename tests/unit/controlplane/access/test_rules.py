"""What rules allow and cover: cases of Kubernetes' own rules for it, and texts as kube-apiserver 1.36.3 printed them."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import pytest

from extapi.authorization.authorizer import Attributes
from extapi.controlplane.access.rules import FULL_AUTHORITY, AccessRule, missing, printed, quoted, rules_of


def resource(verb: str, group: str, name: str, subresource: str = "", called: str = "") -> Attributes:
    return Attributes(verb, is_resource=True, group=group, resource=name, subresource=subresource, name=called)


PODS = AccessRule(("get",), ("",), ("pods",))


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        (PODS, resource("get", "", "pods"), True),
        (PODS, resource("list", "", "pods"), False),
        (PODS, resource("get", "apps", "pods"), False),
        (PODS, resource("get", "", "nodes"), False),
        (PODS, resource("get", "", "pods", "log"), False),
        (AccessRule(("*",), ("*",), ("*",)), resource("frob", "x", "y", "z"), True),
        (AccessRule(("*",), ("*",), ("pods/log",)), resource("get", "", "pods", "log"), True),
        (AccessRule(("*",), ("*",), ("pods/log",)), resource("get", "", "pods"), False),
        (AccessRule(("*",), ("*",), ("*/log",)), resource("get", "", "anything", "log"), True),
        (AccessRule(("*",), ("*",), ("*/log",)), resource("get", "", "log"), False),
        (AccessRule(("*",), ("*",), ("pods/*",)), resource("get", "", "pods", "log"), False),
        (AccessRule(("get",), ("",), ("pods",), ("a", "b")), resource("get", "", "pods", called="b"), True),
        (AccessRule(("get",), ("",), ("pods",), ("a", "b")), resource("get", "", "pods", called="c"), False),
        (AccessRule(("get",), ("",), ("pods",), ("a", "b")), resource("get", "", "pods"), False),
        (AccessRule(("get",), non_resource_urls=("/x",)), Attributes("get", "/x"), True),
        (AccessRule(("get",), non_resource_urls=("/x",)), Attributes("get", "/x/y"), False),
        (AccessRule(("get",), non_resource_urls=("/x/*",)), Attributes("get", "/x/y/z"), True),
        (AccessRule(("get",), non_resource_urls=("/x/*",)), Attributes("get", "/x"), False),
        (AccessRule(("get",), non_resource_urls=("/x*",)), Attributes("get", "/xyz"), True),
        (AccessRule(("get",), non_resource_urls=("*",)), Attributes("get", "/"), True),
        (AccessRule(("get",), non_resource_urls=("/*/x",)), Attributes("get", "/a/x"), False),
        (AccessRule(("post",), non_resource_urls=("*",)), Attributes("get", "/"), False),
        (AccessRule(("*",), ("*",), ("*",)), Attributes("get", "/"), False),
        (AccessRule(("*",), non_resource_urls=("*",)), resource("get", "", "pods"), False),
    ],
)
def test_what_a_rule_allows(rule: AccessRule, asked: Attributes, allowed: bool) -> None:
    assert rule.allows(asked) is allowed


@pytest.mark.parametrize(
    ("owned", "wanted", "lacking"),
    [
        ([PODS], [PODS], ""),
        ([], [PODS], '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'),
        # Several rules together cover what none does alone.
        ([PODS, AccessRule(("list",), ("",), ("pods",))], [AccessRule(("get", "list"), ("",), ("pods",))], ""),
        ([AccessRule(("*",), ("*",), ("*",))], [AccessRule(("get",), ("a", "b"), ("c", "d/e"), ("n",))], ""),
        ([PODS], [AccessRule(("*",), ("",), ("pods",))], '{APIGroups:[""], Resources:["pods"], Verbs:["*"]}'),
        ([AccessRule(("get",), ("",), ("*/log",))], [AccessRule(("get",), ("",), ("pods/log",))], ""),
        (
            [AccessRule(("get",), ("",), ("*/log",))],
            [AccessRule(("get",), ("",), ("pods",))],
            '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
        ),
        # Names: a rule for some covers no rule for all.
        ([PODS], [AccessRule(("get",), ("",), ("pods",), ("a",))], ""),
        (
            [AccessRule(("get",), ("",), ("pods",), ("a",))],
            [PODS],
            '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
        ),
        (
            [AccessRule(("get",), ("",), ("pods",), ("a",))],
            [AccessRule(("get",), ("",), ("pods",), ("a", "b"))],
            '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
        ),
        # What follows was printed by kube-apiserver for a user with pods and */log (get, list) and get on /x/*.
        (
            [AccessRule(("get", "list"), ("",), ("pods", "*/log")), AccessRule(("get",), non_resource_urls=("/x/*",))],
            [AccessRule(("get", "watch", "delete"), ("", "apps"), ("pods", "pods/log", "x/log"))],
            (
                '{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}\n'
                '{APIGroups:[""], Resources:["pods/log"], Verbs:["watch" "delete"]}\n'
                '{APIGroups:[""], Resources:["x/log"], Verbs:["watch" "delete"]}\n'
                '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "watch" "delete"]}\n'
                '{APIGroups:["apps"], Resources:["pods/log"], Verbs:["get" "watch" "delete"]}\n'
                '{APIGroups:["apps"], Resources:["x/log"], Verbs:["get" "watch" "delete"]}'
            ),
        ),
        (
            [AccessRule(("get", "list"), ("",), ("pods", "*/log")), AccessRule(("get",), non_resource_urls=("/x/*",))],
            [AccessRule(("get", "post"), non_resource_urls=("/x/y", "/z", "/x/*", "/x"))],
            (
                '{NonResourceURLs:["/x"], Verbs:["get"]}\n'
                '{NonResourceURLs:["/x"], Verbs:["post"]}\n'
                '{NonResourceURLs:["/x/*"], Verbs:["post"]}\n'
                '{NonResourceURLs:["/x/y"], Verbs:["post"]}\n'
                '{NonResourceURLs:["/z"], Verbs:["get"]}\n'
                '{NonResourceURLs:["/z"], Verbs:["post"]}'
            ),
        ),
        (
            [PODS],
            [AccessRule(("*",), ("*",), ("*",)), AccessRule(("get",), ("*",), ("*",))],
            '{APIGroups:["*"], Resources:["*"], Verbs:["*" "get"]}',
        ),
    ],
)
def test_what_rules_lack_of_others(owned: list[AccessRule], wanted: list[AccessRule], lacking: str) -> None:
    assert printed(missing(owned, wanted)) == lacking


def test_full_authority_covers_everything() -> None:
    wanted = [AccessRule(("a",), ("b",), ("c/d",), ("e",)), AccessRule(("get",), non_resource_urls=("/x/*",))]
    assert missing(FULL_AUTHORITY, [*wanted, *FULL_AUTHORITY]) == []


def test_the_size_of_a_rule_is_the_number_of_its_parts() -> None:
    for rule in (
        AccessRule(("a", "b"), ("c",), ("d", "e", "f"), ("g", "h")),
        AccessRule(("a", "b"), ("c",), ("d", "e", "f")),
        AccessRule(("a", "b"), non_resource_urls=("c", "d")),
        AccessRule(("a",), (), ("b",)),
    ):
        assert rule.size() == len(list(rule.parts()))


def test_comparing_has_a_limit() -> None:
    owned = [AccessRule(("get",), ("",), (f"r{number}",)) for number in range(1000)]
    wanted = [AccessRule(("list",), ("",), tuple(f"r{number}" for number in range(1001)))]
    with pytest.raises(OverflowError):
        missing(owned, wanted)
    assert len(missing(owned[:900], wanted)) == 1001


def test_rules_of_a_role() -> None:
    role = {
        "rules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": None},
        ]
    }
    assert rules_of(role) == (
        AccessRule(("get",), ("",), ("pods",), ("a",)),
        AccessRule(("get",), non_resource_urls=("/x",)),
    )
    assert rules_of({"rules": None}) == ()


def test_texts_are_quoted_as_go_does() -> None:
    assert quoted(['q"x', "a"]) == '["q\\"x" "a"]'
    assert quoted([]) == "[]"


@pytest.mark.parametrize("field", ["resources", "non_resource_urls", "verbs", "resource_names"])
def test_long_rules_are_not_compared_word_by_word_for_minutes(field: str) -> None:
    """One rule may have as many words as a body of 3 MB: the server has to answer others meanwhile."""
    words = tuple(f"/{number}x*" for number in range(100_000))
    rule = AccessRule(("get",), ("",), ("pods",))
    owned, wanted = (replace(rule, **{field: (last, *words)}) for last in ("a", "b"))
    began = process_time()
    with pytest.raises(OverflowError):
        missing([owned], [wanted])
    assert process_time() - began < 2


def test_many_rules_are_not_compared_one_by_one_for_seconds() -> None:
    owned = [AccessRule(("get",), ("",), (f"r{number}",)) for number in range(1000)]
    wanted = [AccessRule(("list",), ("",), (f"r{number}",)) for number in range(30_000)]
    began = process_time()
    with pytest.raises(OverflowError):
        missing(owned, wanted)
    assert process_time() - began < 2


def test_who_may_do_everything_may_grant_large_roles() -> None:
    wanted = [AccessRule(("get",), ("",), (f"r{number}",)) for number in range(20_000)]
    assert missing(FULL_AUTHORITY, wanted) == []
