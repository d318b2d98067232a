"""Reviews about access: answers as kube-apiserver 1.36.3 gave them to the same objects."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from extapi import User
from extapi.api.protocols import RESTRequest
from extapi.api.requestselectors import Selectors
from extapi.authorization.authorizer import Attributes, AuthorizationError, Decision, Verdict
from extapi.controlplane.access import reviews
from extapi.controlplane.access.rbac import GROUP
from extapi.errors import BadRequest, Invalid
from tests.unit.controlplane.access.conftest import Cluster, finished, person, rule

BOB = User("bob", groups=("system:authenticated",))
PODS = {"verb": "get", "resource": "pods"}
ONE = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
NOBODY = 'spec.user: Invalid value: "": at least one of user or group must be specified'
FIELDS, LABELS = "spec.resourceAttributes.fieldSelector", "spec.resourceAttributes.labelSelector"
KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


class Answering:
    """An authorizer that remembers what it was asked."""

    def __init__(self, answer: Decision | AuthorizationError | None = None) -> None:
        self.answer = answer or Decision(Verdict.NO_OPINION)
        self.asked: list[tuple[User, Attributes]] = []

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        self.asked.append((user, attributes))
        if isinstance(self.answer, AuthorizationError):
            raise self.answer
        return self.answer


def review(
    spec: dict[str, Any],
    *,
    by: type[reviews.SubjectAccessReviews] = reviews.SubjectAccessReviews,
    authorizer: Answering | None = None,
    metadata: dict[str, Any] | None = None,
    namespace: str = "",
) -> dict[str, Any]:
    """The review as it comes back."""
    sent = {"metadata": metadata or {}, "spec": spec}
    asked = RESTRequest(BOB, "v1", namespace)
    made: dict[str, Any] = finished(by(authorizer or Answering()).create(asked, sent))
    assert made["spec"] == spec
    return made


def selecting(**selectors: Any) -> dict[str, Any]:
    return {"user": "x", "resourceAttributes": {"verb": "list", "resource": "pods", **selectors}}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Decision(Verdict.ALLOW, "because"), {"allowed": True, "reason": "because"}),
        (Decision(Verdict.ALLOW), {"allowed": True}),
        (Decision(Verdict.NO_OPINION), {"allowed": False}),
        (Decision(Verdict.NO_OPINION, "no"), {"allowed": False, "reason": "no"}),
        (Decision(Verdict.DENY, "never"), {"allowed": False, "denied": True, "reason": "never"}),
        (AuthorizationError("broken"), {"allowed": False, "evaluationError": "broken"}),
    ],
)
def test_the_status_is_the_decision(answer: Decision | AuthorizationError, status: dict[str, Any]) -> None:
    made = review({"user": "x", "resourceAttributes": PODS}, authorizer=Answering(answer))
    assert made["status"] == status


def test_what_the_authorizer_is_asked() -> None:
    authorizer = Answering()
    resource = {
        "namespace": "n",
        "verb": "get",
        "group": "g",
        "version": "v2",
        "resource": "r",
        "subresource": "s",
        "name": "a",
    }
    who = {"user": "x", "uid": "7", "groups": ["a", "b"], "extra": {"k": ["v"], "e": None}}
    review({**who, "resourceAttributes": resource}, authorizer=authorizer)
    review({"groups": ["a"], "nonResourceAttributes": {"verb": "get", "path": "/x"}}, authorizer=authorizer)
    review({"user": "x", "resourceAttributes": {}}, authorizer=authorizer)
    assert authorizer.asked == [
        (
            User("x", "7", ("a", "b"), {"k": ("v",), "e": ()}),
            Attributes(
                "get", is_resource=True, group="g", version="v2", namespace="n", resource="r", subresource="s", name="a"
            ),
        ),
        (User("", groups=("a",)), Attributes("get", "/x")),
        (User("x"), Attributes("", is_resource=True, version="*")),
    ]


def test_a_review_of_oneself() -> None:
    authorizer = Answering()
    review({"resourceAttributes": PODS}, by=reviews.SelfSubjectAccessReviews, authorizer=authorizer)
    attributes = Attributes("get", is_resource=True, version="*", resource="pods")
    assert authorizer.asked == [(BOB, attributes)]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, f"[spec.resourceAttributes: Invalid value: null: {ONE}, {NOBODY}]"),
        ({"resourceAttributes": PODS}, NOBODY),
        (
            {"user": "x", "resourceAttributes": PODS, "nonResourceAttributes": {"path": "/x", "verb": "get"}},
            (
                'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: '
                "cannot be specified in combination with resourceAttributes"
            ),
        ),
        (
            selecting(fieldSelector={}),
            f"{FIELDS}.requirements: Required value: when {FIELDS} is specified, requirements or rawSelector is required",
        ),
        (
            selecting(labelSelector={}),
            f"{LABELS}.requirements: Required value: when {LABELS} is specified, requirements or rawSelector is required",
        ),
        (
            selecting(
                fieldSelector={"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}
            ),
            f'{FIELDS}.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
        ),
        (
            selecting(
                fieldSelector={
                    "requirements": [
                        {"key": "", "operator": "In", "values": []},
                        {"key": "a", "operator": "Exists", "values": ["b"]},
                        {"key": "a", "operator": "NotIn", "values": ["b", "c"]},
                        {"key": "a", "operator": "", "values": ["b"]},
                    ]
                }
            ),
            (
                f"[{FIELDS}.requirements[0].key: Required value: must be specified, "
                f"{FIELDS}.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', "
                f"{FIELDS}.requirements[1].values: Forbidden: "
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist']"
            ),
        ),
        (
            selecting(
                labelSelector={
                    "requirements": [
                        {"key": "a b", "operator": "In", "values": []},
                        {"key": "a", "operator": "Exists", "values": ["b"]},
                        {"key": "", "operator": "NotIn", "values": ["-"]},
                        {"key": "a", "operator": "", "values": ["b"]},
                    ]
                }
            ),
            (
                f"[{LABELS}.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', "
                f'{LABELS}.requirements[0].key: Invalid value: "a b": {KEY}, '
                f"{LABELS}.requirements[1].values: Forbidden: "
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist', "
                f'{LABELS}.requirements[2].key: Invalid value: "": name part must be non-empty, '
                f'{LABELS}.requirements[2].key: Invalid value: "": {KEY}, '
                f'{LABELS}.requirements[2].values[0]: Invalid value: "-": {VALUE}]'
            ),
        ),
    ],
)
def test_what_is_no_question(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(Invalid) as refused:
        review(spec)
    assert refused.value.message == f'.authorization.k8s.io "" is invalid: {text}'
    assert refused.value.status()["details"]["group"] == "authorization.k8s.io"
    assert refused.value.status()["details"].keys() == {"group", "causes"}


def test_metadata_has_to_be_empty() -> None:
    spec = {"user": "x", "resourceAttributes": PODS}
    review(spec, metadata={"managedFields": [{}], "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {}})
    for by in (reviews.SubjectAccessReviews, reviews.SelfSubjectAccessReviews):
        with pytest.raises(Invalid, match="must be empty") as refused:
            review(
                {"resourceAttributes": PODS, **({} if by is not reviews.SubjectAccessReviews else spec)},
                by=by,
                metadata={"name": "q"},
            )
        assert refused.value.message == (
            '.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"q"}: must be empty'
        )


@pytest.mark.parametrize(
    ("spec", "metadata", "text"),
    [
        (
            {"user": "x", "resourceAttributes": PODS},
            {},
            'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
        ),
        (
            {"user": "x", "resourceAttributes": {**PODS, "namespace": "other"}},
            {},
            'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
        ),
        (
            {"user": "x", "nonResourceAttributes": {"verb": "get", "path": "/"}},
            {},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request',
        ),
        ({"resourceAttributes": {**PODS, "namespace": "default"}}, {}, NOBODY),
        (
            {"user": "x", "resourceAttributes": {**PODS, "namespace": "default"}},
            {"name": "q", "namespace": "default"},
            'metadata: Invalid value: {"name":"q","namespace":"default"}: must be empty except for namespace',
        ),
    ],
)
def test_what_is_no_local_question(spec: dict[str, Any], metadata: dict[str, Any], text: str) -> None:
    with pytest.raises(Invalid) as refused:
        review(spec, by=reviews.LocalSubjectAccessReviews, metadata=metadata, namespace="default")
    assert refused.value.message == f'.authorization.k8s.io "" is invalid: {text}'


def test_a_local_question() -> None:
    authorizer = Answering()
    spec = {"user": "x", "resourceAttributes": {**PODS, "namespace": "default"}}
    review(
        spec,
        by=reviews.LocalSubjectAccessReviews,
        metadata={"namespace": "default"},
        namespace="default",
        authorizer=authorizer,
    )
    attributes = Attributes("get", is_resource=True, version="*", namespace="default", resource="pods")
    assert authorizer.asked == [(User("x"), attributes)]


def required(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.parametrize(
    ("selectors", "passed", "ignored"),
    [
        ({"fieldSelector": {"rawSelector": "a=b"}, "labelSelector": {"rawSelector": "c=d"}}, ("a=b", "c=d"), ""),
        ({"fieldSelector": {"rawSelector": "a!!b"}}, ("", ""), f"{FIELDS} ignored"),
        ({"labelSelector": {"rawSelector": "a!!b"}}, ("", ""), f"{LABELS} ignored"),
        (
            {"fieldSelector": {"requirements": [required("a", "In", "b"), required("a", "Foo", "b")]}},
            ("a=b", ""),
            f"{FIELDS} partially ignored",
        ),
        ({"fieldSelector": {"requirements": [required("a", "Exists")]}}, ("", ""), f"{FIELDS} ignored"),
        (
            {"fieldSelector": {"requirements": [required("a", "NotIn", "b", "c"), required("a", "NotIn", "b,=\\")]}},
            ("a!=b\\,\\=\\\\", ""),
            f"{FIELDS} partially ignored",
        ),
        (
            {"labelSelector": {"requirements": [required("a", "In", "b"), required("a", "Foo", "b")]}},
            ("", "a in (b)"),
            f"{LABELS} partially ignored",
        ),
        (
            {
                "labelSelector": {
                    "requirements": [
                        required("a", "In", "b", "c"),
                        required("d", "NotIn", "e"),
                        required("f", "Exists"),
                        required("g", "DoesNotExist"),
                    ]
                }
            },
            ("", "a in (b,c),d notin (e),f,!g"),
            "",
        ),
        ({"labelSelector": {"requirements": [required("a", "Gt", "1")]}}, ("", ""), f"{LABELS} ignored"),
    ],
)
def test_selectors(selectors: dict[str, Any], passed: tuple[str, str], ignored: str) -> None:
    """What cannot be said is left out, which makes the question a broader one."""
    authorizer = Answering()
    made = review(selecting(**selectors), authorizer=authorizer)
    ((_, attributes),) = authorizer.asked
    asked = attributes.selectors or Selectors()
    assert (asked.fields_text, asked.labels_text) == passed
    assert made["status"].get("evaluationError", "") == (f"{ignored} due to parse error" if ignored else "")


def test_several_errors_of_an_evaluation() -> None:
    selectors = {"fieldSelector": {"rawSelector": "a!!b"}, "labelSelector": {"rawSelector": "a!!b"}}
    made = review(selecting(**selectors), authorizer=Answering(AuthorizationError("broken")))
    assert made["status"]["evaluationError"] == (
        f"broken; {FIELDS} ignored due to parse error; {LABELS} ignored due to parse error"
    )


def test_the_rules_of_oneself(cluster: Cluster) -> None:
    rules = [
        rule(["get", "list"], [""], ["pods", "*/log"]),
        rule(["get"], [""], ["secrets"], ["a"]),
        {"verbs": ["get"], "nonResourceURLs": ["/x/*"]},
    ]
    cluster.role("r", rules)
    cluster.bind("b", "r", person("bob"))
    cluster.bind("c", "nope", person("bob"))
    cluster.bind("d", "nope", person("bob"), namespace="default")
    serving = reviews.SelfSubjectRulesReviews(cluster.rbac)
    sent = {"metadata": {}, "spec": {"namespace": "default"}}
    assert finished(serving.create(RESTRequest(BOB, "v1"), sent)) == {
        "metadata": {},
        "spec": {},
        "status": {
            "resourceRules": rules[:2],
            "nonResourceRules": rules[2:],
            "incomplete": False,
            "evaluationError": '[clusterrole.rbac.authorization.k8s.io "nope" not found, '
            'role.rbac.authorization.k8s.io "nope" not found]',
        },
    }
    nobody = finished(serving.create(RESTRequest(User("eve"), "v1"), sent))
    assert nobody["status"] == {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    with pytest.raises(BadRequest, match=r"^no namespace on request$"):
        finished(serving.create(RESTRequest(BOB, "v1"), {"metadata": {}}))


def test_who_one_is() -> None:
    clock = Clock()
    clock.advance(1_700_000_000)
    user = User("bob", "7", ("a", "b"), {"k": ("v",)})
    sent = {"metadata": {"name": "q", "labels": {"a": "b"}}}
    assert finished(reviews.SelfSubjectReviews(clock).create(RESTRequest(user, "v1"), sent)) == {
        "metadata": {"creationTimestamp": "2023-11-14T22:13:20Z"},
        "status": {"userInfo": {"username": "bob", "uid": "7", "groups": ["a", "b"], "extra": {"k": ["v"]}}},
    }
    assert reviews.user_info(User("x")) == {"username": "x"}


def test_over_the_wire(cluster: Cluster) -> None:
    """The same through the server, with the types of the kinds."""
    cluster.role("r", [rule(["get"], [""], ["pods"]), rule(["create"], ["authorization.k8s.io"], ["*"])])
    cluster.bind("b", "r", {"kind": "Group", "name": "system:authenticated", "apiGroup": GROUP})
    path = "/apis/authorization.k8s.io/v1"
    head = {"apiVersion": "authorization.k8s.io/v1"}
    because = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "system:authenticated"'

    def ask(kind: str, where: str, spec: dict[str, Any]) -> tuple[int, Any]:
        answer = cluster.send("POST", f"{path}{where}/{kind.lower()}s", {**head, "kind": kind, "spec": spec}, user=BOB)
        return answer.status, answer.json()

    status, made = ask("SelfSubjectAccessReview", "", {"resourceAttributes": PODS})
    assert (status, made["status"]) == (201, {"allowed": True, "reason": because})
    (entry,) = made["metadata"].pop("managedFields")
    # As 1.36.3: nobody manages the spec itself, without which there is no review.
    assert entry["fieldsV1"] == {"f:spec": {"f:resourceAttributes": {".": {}, **{f"f:{name}": {} for name in PODS}}}}
    assert made["metadata"] == {}
    spec = {"groups": ["system:authenticated"], "resourceAttributes": {**PODS, "namespace": "default"}}
    status, made = ask("LocalSubjectAccessReview", "/namespaces/default", spec)
    assert (status, made["status"], made["spec"]) == (201, {"allowed": True, "reason": because}, spec)
    status, made = ask(
        "SubjectAccessReview", "", {"user": "x", "groups": ["system:masters"], "resourceAttributes": PODS}
    )
    assert (status, made["status"]) == (201, {"allowed": True})
    status, made = ask("SubjectAccessReview", "", {"user": "x", "resourceAttributes": PODS})
    assert (status, made["status"]) == (201, {"allowed": False})
    status, made = ask("SubjectAccessReview", "", {})
    assert (status, made["message"][:35]) == (422, '.authorization.k8s.io "" is invalid')
    status, made = ask("SelfSubjectRulesReview", "", {"namespace": "default"})
    first = made["status"]["resourceRules"][0]
    assert (status, first["verbs"], first["apiGroups"], first["resources"]) == (201, ["get"], [""], ["pods"])
    assert made["status"]["nonResourceRules"] == []  # the clients of other languages want the list


def test_no_more_than_a_hundred_problems_are_told(cluster: Cluster) -> None:
    """A review of three megabytes is answered as fast as others are."""
    wrong = {"key": "", "operator": "In"}
    spec = {"user": "x", "resourceAttributes": {**PODS, "labelSelector": {"requirements": [wrong] * 40_000}}}
    head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    answer = cluster.send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {**head, "spec": spec})
    assert answer.status == 422, answer.body[:600]
    assert len(answer.json()["details"]["causes"]) == 100


def test_reviews_have_no_table(cluster: Cluster) -> None:
    """As in kube-apiserver 1.36.3: 406, or the next form that is accepted."""
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    refused = cluster.server.request("POST", path, headers={"Accept": table}, body=body)
    assert refused.status == 406
    found = cluster.server.request("POST", path, headers={"Accept": f"{table},application/json"}, body=body)
    assert (found.status, found.json()["kind"]) == (201, "SelfSubjectAccessReview")
    assert cluster.server.request("GET", "/api/v1/secrets", headers={"Accept": table}).json()["kind"] == "Table"
