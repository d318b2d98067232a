"""Headers of requests: who sends, what is accepted, and what other servers have fallen for."""

from __future__ import annotations

from random import Random

from tests.attack.fuzz import values
from tests.attack.fuzz.requests import CLIENT, NOBODY, PROXY, Headers

ACCEPTS = (
    "application/json", "*/*", "application/yaml", "application/*", "text/html", "application/vnd.kubernetes.protobuf", "",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Status;v=v1;g=", "application/json;as=Table;v=v9;g=meta.k8s.io", "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf,application/json;q=0.5", "application/json;q=0", "application/json;q=1e400",
    "application/json;q=-1", "application/json;q=nan", "application/cbor", "text/*;q=0.1, application/json;pretty=1",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", ",", ";", "a/b/c", '"', "application/json;charset=utf-16",
)  # fmt: skip

AGENTS = ("kubectl/v1.36.0", "curl/8", "Mozilla/5.0", "", "x" * 300, "a\tb", "\u00e9/1", "/", "Wget/1")


def accept(dice: Random) -> str:
    """A value of Accept."""
    kind = dice.random()
    if kind < 0.8:
        return dice.choice(ACCEPTS)
    if kind < 0.9:
        return ", ".join(dice.choice(ACCEPTS) for _ in range(dice.choice((2, 3, 70))))
    size = dice.choice((10, 300, 5000))
    return dice.choice((",", ";", "a/b,", "application/json;q=0.1,", "a/b;c=d", '"', "*/*;", "/")) * size


def identity(dice: Random) -> tuple[str, Headers]:
    """The peer that sends, and its headers that say who it is."""
    kind = dice.random()
    if kind < 0.93:
        return PROXY, [("X-Remote-User", "fuzzer"), ("X-Remote-Group", "system:masters")]
    if kind < 0.95:
        headers: Headers = [
            (name, values.text(dice))
            for name in dice.choices(
                ("X-Remote-User", "X-Remote-Group", "X-Remote-Extra-%41", "x-remote-uid", "X-Remote-Extra-"), k=3
            )
        ]
        return PROXY, headers
    if kind < 0.97:
        return CLIENT, []
    token = dice.choice(("good", "bad", "", " good", "good good", "\u00e9", "x" * 5000, values.text(dice)))
    return dice.choice((NOBODY, CLIENT)), [
        ("Authorization", dice.choice(("Bearer ", "bearer ", "Basic ", "", "Bearer")) + token)
    ]


def odd_headers(dice: Random) -> Headers:
    """Headers that some server somewhere gives a meaning."""
    return dice.choice(
        (
            [("Impersonate-User", dice.choice(("jane", "", "system:serviceaccount:a:b", "system:anonymous", values.text(dice))))],
            [("Impersonate-Group", values.text(dice))],
            [("Impersonate-User", "jane"), ("Impersonate-Extra-" + dice.choice(("a", "%41", "%", "%zz")), values.text(dice)), ("Impersonate-Uid", "1")],
            [("Connection", dice.choice(("close", "keep-alive", "Upgrade", "X-Remote-User", "close, X-Remote-User", ",,,", "")))],
            [("Connection", "Upgrade"), ("Upgrade", dice.choice(("websocket", "SPDY/3.1", "h2c", "TLS/1.2", "")))],
            [("Expect", dice.choice(("100-continue", "100-Continue", "x", "")))],
            [(dice.choice(("If-Match", "If-None-Match")), dice.choice(("*", '"x"', 'W/"x"', "", "x, y", '"' * 99)))],
            [("If-Modified-Since", dice.choice(("Thu, 01 Jan 1970 00:00:00 GMT", "x")))],
            [("Accept-Encoding", dice.choice(("gzip", "gzip;q=0", "*", "br, gzip;q=1e9", "gzip, gzip")))],
            [("Range", "bytes=0-1")],
            [("X-HTTP-Method-Override", "DELETE"), ("X-HTTP-Method", "DELETE")],
            [("Audit-ID", values.text(dice))],
            [("Host", dice.choice(("evil", "", "a b", "[::1]:99999")))],
            [("X-Forwarded-For", "1.1.1.1"), ("Forwarded", "for=x")],
            [("Content-Encoding", "gzip")],
            [("Cookie", "a=b"), ("Origin", "http://evil"), ("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.Z29vZA, x")],
            [(f"X-Many-{number}", "1") for number in range(dice.choice((50, 200)))],
            [("X-Long", "a" * dice.choice((8000, 70_000)))],
        )
    )  # fmt: skip
