"""Tokens of service accounts: claims, refusals and texts as kube-apiserver 1.36.3 gave them to the same requests."""

from __future__ import annotations

import base64
import re
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_public_key
from twisted.internet.task import Clock

from extapi import User
from extapi.authentication.authenticator import AuthenticationError
from extapi.controlplane.access.tokens import Tokens, key_id
from extapi.testing.memory import START
from tests.unit.controlplane.access.conftest import ISSUER, Cluster, finished, key_pem
from tests.unit.controlplane.access.tokencalls import (
    ACCOUNTS,
    SECRETS,
    account,
    bound,
    packed,
    parts,
    request,
    review,
    secret,
    token_of,
)

NOW = int(START)


def user_of(cluster: Cluster, token: str) -> User | None:
    return cluster.server.run(cluster.tokens.authenticate_token(token))


def refusal(cluster: Cluster, token: str) -> str:
    with pytest.raises(AuthenticationError) as refused:
        user_of(cluster, token)
    return str(refused.value)


def test_a_token_and_its_claims(cluster: Cluster) -> None:
    uid = account(cluster)
    status, made = request(cluster)
    assert status == 201
    (entry,) = made["metadata"].pop("managedFields")
    assert (entry["subresource"], "f:expirationSeconds" in entry["fieldsV1"]["f:spec"]) == ("token", True)
    assert made["metadata"] == {
        "name": "s",
        "namespace": "default",
        "uid": uid,
        "creationTimestamp": made["metadata"]["creationTimestamp"],
    }
    assert made["spec"] == {"audiences": [ISSUER], "expirationSeconds": 3600}
    header, claims = parts(made["status"]["token"])
    assert header == {"alg": "ES256", "kid": header["kid"]}
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", claims["jti"])
    iat = claims["iat"]
    assert NOW <= iat <= NOW + 5
    assert claims == {
        "aud": [ISSUER],
        "exp": iat + 3600,
        "iat": iat,
        "iss": ISSUER,
        "jti": claims["jti"],
        "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "s", "uid": uid}},
        "nbf": iat,
        "sub": "system:serviceaccount:default:s",
    }
    assert [type(claims[name]) for name in ("exp", "iat", "nbf")] == [int, int, int]
    assert user_of(cluster, made["status"]["token"]) == User(
        "system:serviceaccount:default:s",
        uid,
        ("system:serviceaccounts", "system:serviceaccounts:default"),
        {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)},
    )


def test_a_token_bound_to_a_secret(cluster: Cluster) -> None:
    account(cluster)
    uid = secret(cluster)
    for spec in (bound(), bound(version=""), bound(uid=uid)):
        token = token_of(cluster, spec)
        assert parts(token)[1]["kubernetes.io"]["secret"] == {"name": "sec", "uid": uid}
        assert user_of(cluster, token) is not None


BROKEN = "go-jose/go-jose: error in cryptographic primitive"


def test_signatures(cluster: Cluster) -> None:
    account(cluster)
    token = token_of(cluster)
    header, payload, signature = token.split(".")
    flipped = ("B" if signature[5] == "A" else "A").join((signature[:5], signature[6:]))
    assert refusal(cluster, f"{header}.{payload}.{flipped}") == BROKEN
    assert refusal(cluster, f"{header}.{payload}.") == BROKEN
    assert refusal(cluster, f"{packed({'alg': 'none'})}.{payload}.") == BROKEN
    assert refusal(cluster, f"{packed({'alg': 'HS256'})}.{payload}.{signature}") == BROKEN
    assert refusal(cluster, f"{packed({'alg': 'ES256'})}.{payload}.{signature}") == BROKEN
    wrong = f"{packed({'alg': 'ES256', 'kid': 'zz'})}.{payload}.{signature}"
    assert refusal(cluster, wrong) == "invalid signature, no keys found"
    # Signed by another key that pretends to be ours.
    claims = {**parts(token)[1], "sub": "system:serviceaccount:kube-system:admin"}
    forged = jwt.encode(claims, key_pem(), algorithm="ES256", headers={"kid": parts(token)[0]["kid"]})
    assert refusal(cluster, forged) == BROKEN
    # The public key is no secret for HMAC.
    forged = f"{packed({'alg': 'HS256', 'kid': parts(token)[0]['kid']})}.{packed(claims)}.{signature}"
    assert refusal(cluster, forged) == BROKEN


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "a.b.c.d",
        "a b",
        f".{packed({'iss': 'x'})}.",
        f".{packed({'iss': 7})}.",
        f".{packed({'iss': 'https://elsewhere'})}.x",
        f"x.{packed({'iss': ISSUER})}.x",
        f"{packed({'alg': 'ES256', 'kid': 7})}.{packed({'iss': ISSUER})}.x",
        "." + base64.urlsafe_b64encode(b"[" * 100_000).rstrip(b"=").decode() + ".",
        f".{packed({'iss': ISSUER})}é.",
        f"{packed({'alg': 'ES256'})}.{packed({'iss': ISSUER})}.\udc80",
        base64.urlsafe_b64encode(b"[" * 100_000).rstrip(b"=").decode() + f".{packed({'iss': ISSUER})}.",
    ],
)
def test_tokens_of_others_are_nobody_s(cluster: Cluster, token: str) -> None:
    assert user_of(cluster, token) is None


def signed(cluster: Cluster, claims: dict[str, Any]) -> str:
    """Any claims with the right signature."""
    key = cluster.tokens._key
    return jwt.encode(claims, key, algorithm="ES256")


def test_times(cluster: Cluster) -> None:
    account(cluster)
    claims = parts(token_of(cluster))[1]
    token = signed(cluster, claims)
    # Clocks may differ by a minute.
    cluster.clock.advance(claims["exp"] + 60 - cluster.clock.seconds())
    assert user_of(cluster, token) is not None
    cluster.clock.advance(1)
    assert refusal(cluster, token) == "service account token has expired"
    now = int(cluster.clock.seconds())
    claims["exp"] = now + 9999
    assert user_of(cluster, signed(cluster, {**claims, "nbf": now + 60, "iat": now + 60})) is not None
    assert refusal(cluster, signed(cluster, {**claims, "nbf": now + 70})) == "service account token is not valid yet"
    assert refusal(cluster, signed(cluster, {**claims, "iat": now + 70})) == (
        "service account token is issued in the future"
    )


def test_claims_that_are_none(cluster: Cluster) -> None:
    account(cluster)
    claims = parts(token_of(cluster))[1]
    assert refusal(cluster, signed(cluster, {**claims, "kubernetes.io": 7})).startswith("the claims cannot be read: ")
    assert refusal(cluster, signed(cluster, {"iss": ISSUER})) == 'serviceaccounts "" not found'
    assert user_of(cluster, signed(cluster, {**claims, "aud": ISSUER})) is not None
    # Without audiences it is for the issuer's own server.
    del claims["aud"], claims["jti"]
    user = user_of(cluster, signed(cluster, claims))
    assert user is not None
    assert user.extra == {}


def test_the_account_has_to_be_the_same(cluster: Cluster) -> None:
    old = account(cluster)
    token = token_of(cluster)
    cluster.send("DELETE", f"{ACCOUNTS}/s")
    assert refusal(cluster, token) == 'serviceaccounts "s" not found'
    new = account(cluster)
    assert refusal(cluster, token) == f"service account UID ({new}) does not match claim ({old})"
    assert review(cluster, token)["error"] == (
        f"[invalid bearer token, service account UID ({new}) does not match claim ({old})]"
    )


def test_an_account_that_is_being_deleted(cluster: Cluster) -> None:
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s", "finalizers": ["a.b/c"]}}
    cluster.send("POST", ACCOUNTS, body)
    token = token_of(cluster)
    cluster.send("DELETE", f"{ACCOUNTS}/s")
    assert user_of(cluster, token) is not None
    cluster.server.advance(61)
    assert refusal(cluster, token) == "service account default/s has been deleted"


def test_the_secret_has_to_be_the_same(cluster: Cluster) -> None:
    account(cluster)
    old = secret(cluster)
    token = token_of(cluster, bound())
    cluster.send("DELETE", f"{SECRETS}/sec")
    assert refusal(cluster, token) == "service account token has been invalidated"
    new = secret(cluster, finalizers=["a.b/c"])
    assert refusal(cluster, token) == f"secret UID ({new}) does not match service account secret ref claim ({old})"
    token = token_of(cluster, bound())
    cluster.send("DELETE", f"{SECRETS}/sec")
    assert user_of(cluster, token) is not None
    cluster.server.advance(61)
    assert refusal(cluster, token) == "service account token has been invalidated"


@pytest.mark.parametrize("kind", ["pod", "node"])
def test_what_does_not_exist_here_binds_no_token(cluster: Cluster, kind: str) -> None:
    account(cluster)
    claims = parts(token_of(cluster))[1]
    claims["kubernetes.io"][kind] = {"name": "a", "uid": "b"}
    assert refusal(cluster, signed(cluster, claims)) == "service account token has been invalidated"


def test_an_account_counts_before_the_informer_hears_of_it(cluster: Cluster) -> None:
    account(cluster)
    assert cluster.tokens._accounts is not None
    cluster.tokens._accounts.stop()
    cluster.send("DELETE", f"{ACCOUNTS}/s")
    uid = account(cluster)
    user = user_of(cluster, token_of(cluster))
    assert user is not None
    assert user.uid == uid


def test_before_the_start_nothing_is_known() -> None:
    tokens = Tokens(key_pem(), ISSUER, Clock())
    with pytest.raises(AuthenticationError, match="not known yet"):
        finished(tokens.authenticate_token(jwt.encode({"iss": ISSUER}, tokens._key, algorithm="ES256")))


def test_the_name_of_a_key() -> None:
    """The pair was taken from a kube-apiserver: its public key, and the kid in its tokens."""
    pem = (
        b"-----BEGIN PUBLIC KEY-----\n"
        b"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5u8QatmLa3g3R5uNSrmL3Dn1ybMa\n"
        b"yGx9AZiTop0ZRaL32j8gHQN69ht0Fm+NJW1kGjOdUAr+N4X4qZgfRbd0Qw==\n"
        b"-----END PUBLIC KEY-----\n"
    )
    assert key_id(load_pem_public_key(pem)) == "NJGm0i6dbMSNPR2iX8d3b_o9QVyfqeFVx7w10OJbTc4"


@pytest.mark.parametrize("kind", ["rsa", "p384", "text"])
def test_another_key_is_refused(kind: str) -> None:
    if kind == "text":
        pem = b"x"
    else:
        key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP384R1())
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ValueError, match=r"P-256|PEM"):
        Tokens(pem, ISSUER, Clock())
