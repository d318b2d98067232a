"""TokenRequests and TokenReviews: refusals and texts as kube-apiserver 1.36.3 gave them to the same requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.controlplane.access.conftest import ISSUER, Cluster
from tests.unit.controlplane.access.tokencalls import (
    account,
    bound,
    parts,
    request,
    review,
    secret,
    token_of,
)


def test_audiences_and_time_as_asked(cluster: Cluster) -> None:
    account(cluster)
    _, made = request(cluster, {"audiences": ["a", "b"], "expirationSeconds": 601}, {"name": "s", "labels": {"a": "b"}})
    _, claims = parts(made["status"]["token"])
    assert claims["aud"] == ["a", "b"]
    assert claims["exp"] - claims["iat"] == 601
    assert made["metadata"]["labels"] == {"a": "b"}
    assert made["status"]["expirationTimestamp"] == "2023-11-14T22:23:21Z"


@pytest.mark.parametrize(
    ("spec", "metadata", "status", "text"),
    [
        (
            {"expirationSeconds": 599},
            {},
            422,
            (
                'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: '
                "may not specify a duration less than 10 minutes"
            ),
        ),
        (
            {"expirationSeconds": (1 << 32) + 1},
            {},
            422,
            (
                'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: '
                "may not specify a duration larger than 2^32 seconds"
            ),
        ),
        (bound("none"), {}, 404, 'secrets "none" not found'),
        (bound(""), {}, 400, "Name parameter required."),
        (
            bound(uid="x"),
            {},
            409,
            (
                'Operation cannot be fulfilled on Secret "sec": the UID in the bound object reference (x) does not match the UID '
                "in record. The object might have been deleted and then recreated"
            ),
        ),
        (bound("none", "Pod"), {}, 404, 'pods "none" not found'),
        (bound("none", "Node"), {}, 404, 'nodes "none" not found'),
        (bound("c", "ConfigMap"), {}, 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
        (bound("c", "Deployment", "apps/v1"), {}, 400, "cannot bind token to object of type apps/v1, Kind=Deployment"),
        (bound("c", "Secret", "apps/v1"), {}, 400, "cannot bind token to object of type apps/v1, Kind=Secret"),
        ({"boundObjectRef": {"name": "sec"}}, {}, 400, "cannot bind token to object of type /, Kind="),
        (bound(".."), {}, 404, 'secrets ".." not found'),
        (bound("../x"), {}, 404, 'secrets "../x" not found'),
        (
            {},
            {"name": "other"},
            422,
            (
                'TokenRequest.authentication.k8s.io "s" is invalid: metadata.name: Invalid value: "other": '
                "must match the service account name if specified"
            ),
        ),
    ],
)
def test_what_gets_no_token(cluster: Cluster, spec: Any, metadata: Any, status: int, text: str) -> None:
    account(cluster)
    secret(cluster)
    got, made = request(cluster, spec, metadata)
    assert (got, made["message"]) == (status, text)


def test_the_longest_and_the_shortest_time(cluster: Cluster) -> None:
    account(cluster)
    assert [request(cluster, {"expirationSeconds": each})[0] for each in (600, 1 << 32)] == [201, 201]


def test_a_request_for_another_account(cluster: Cluster) -> None:
    uid = account(cluster)
    assert request(cluster, name="missing")[1]["message"] == 'serviceaccounts "missing" not found'
    assert request(cluster, metadata={"uid": uid})[0] == 201
    status, made = request(cluster, metadata={"uid": "other"})
    assert (status, made["message"]) == (
        409,
        (
            'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "s": the UID in the token request (other) '
            f"does not match the UID of the service account ({uid})"
        ),
    )


def test_a_review_of_a_good_token(cluster: Cluster) -> None:
    uid = account(cluster)
    token = token_of(cluster)
    user = {
        "username": "system:serviceaccount:default:s",
        "uid": uid,
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={parts(token)[1]['jti']}"]},
    }
    assert review(cluster, token) == {"authenticated": True, "user": user, "audiences": [ISSUER]}
    # What follows a space does not belong to the token, as in a header.
    assert review(cluster, f"{token} x")["authenticated"] is True
    other = token_of(cluster, {"audiences": ["a", "b"]})
    assert review(cluster, other, audiences=["b", "a", "c"])["audiences"] == ["b", "a"]


def test_a_review_of_a_bad_token(cluster: Cluster) -> None:
    account(cluster)
    token = token_of(cluster)
    assert review(cluster, token, audiences=["x"]).get("error") == (
        f'[invalid bearer token, token audiences ["{ISSUER}"] is invalid for the target audiences ["x"]]'
    )
    other = token_of(cluster, {"audiences": ["a", "b"]})
    found = review(cluster, other)
    assert found.get("error") == (
        f'[invalid bearer token, token audiences ["a" "b"] is invalid for the target audiences ["{ISSUER}"]]'
    )
    assert not found.get("authenticated")
    assert review(cluster, "x").get("error") == "invalid bearer token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": ""}}
    answer = cluster.send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
    assert (answer.status, answer.json()["message"]) == (400, "token is required for TokenReview in authentication")
