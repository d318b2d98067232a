"""Tricks that have opened doors elsewhere, each of them a change of a plain request, and requests with some of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import quote

from tests.attack.fuzz.headers import ACCEPTS
from tests.attack.fuzz.spellings import bent
from tests.attack.oracle.policy import USERS
from tests.attack.oracle.requests import Plain, allowed, plain
from tests.attack.oracle.world import GROUP, PLACES

Trick = Callable[[Random, Plain, Sequence[str]], Plain]
"""Made of dice, the request, and continue tokens of somebody else's lists."""


def _header(*pairs: tuple[str, str]) -> Trick:
    return lambda _dice, made, _tokens: replace(made, headers=(*made.headers, *pairs))


def _query(*pairs: tuple[str, str]) -> Trick:
    return lambda dice, made, _tokens: replace(
        made, query=(*made.query, *pairs) if dice.random() < 0.5 else (*pairs, *made.query)
    )


def _path(change: Callable[[Random, Plain], str]) -> Trick:
    return lambda dice, made, _tokens: replace(made, path=change(dice, made) or "/") if len(made.path) > 1 else made


def _encoded(dice: Random, made: Plain) -> str:
    at = dice.randrange(1, len(made.path))
    escape = f"%{ord(made.path[at]):02x}" if dice.random() < 0.7 else f"%25{ord(made.path[at]):02x}"
    return made.path[:at] + escape + made.path[at + 1 :]


def _elsewhere(dice: Random, made: Plain) -> str:
    """Down into what is allowed, and up out of it again."""
    other = dice.choice(PLACES)
    up = dice.choice(("..", "%2e%2e", ".%2e", "%2E.", "..%2f", "%252e%252e", "..;", "..%00"))
    steps = "/".join([up] * dice.choice((1, 2, 3, 4)))
    tail = dice.choice(
        (
            other.name,
            f"{other.plural}/{other.name}",
            f"{other.namespace}/{other.plural}/{other.name}",
            other.path.lstrip("/"),
            f"namespaces/{other.namespace}/{other.plural}",
        )
    )
    return f"{made.path}/{steps}/{tail}"


def _body(change: Callable[[Random, Plain, dict[str, Any]], None]) -> Trick:
    def changed(dice: Random, made: Plain, _tokens: Sequence[str]) -> Plain:
        if not isinstance(made.body, dict):
            return made
        body = json.loads(json.dumps(made.body))
        change(dice, made, body.setdefault("metadata", {}))
        return replace(made, body=body)

    return changed


def _otherwise(_dice: Random, _made: Plain, metadata: dict[str, Any]) -> None:
    other = _dice.choice(PLACES)
    metadata["namespace"] = other.namespace
    if _dice.random() < 0.5:
        metadata["name"] = other.name


def _moved(dice: Random, made: Plain, _tokens: Sequence[str]) -> Plain:
    """A JSON patch that renames the object."""
    if made.verb != "patch":
        return made
    path = dice.choice(("/metadata/namespace", "/metadata/name", "/metadata/uid", "/apiVersion", "/kind"))
    operations = [
        {"op": "replace", "path": path, "value": dice.choice(("a", "b", "one", "two", f"{GROUP}/v1beta1", "Other"))}
    ]
    return replace(made, body=operations, media="application/json-patch+json")


def _continued(dice: Random, made: Plain, tokens: Sequence[str]) -> Plain:
    """Goes on with what somebody else's list left."""
    return replace(made, query=(*made.query, ("continue", dice.choice(tokens)), ("limit", "5"))) if tokens else made


def _other_verb(dice: Random, made: Plain, _tokens: Sequence[str]) -> Plain:
    method = dice.choice(
        ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "PROPFIND", "SEARCH", "LIST")
    )
    return replace(made, method=method)


def _selected(dice: Random, made: Plain, _tokens: Sequence[str]) -> Plain:
    name, other = dice.choice(("one", "two")), dice.choice(("a", "b"))
    text = dice.choice(
        (
            f"metadata.name={name}", f"metadata.name=={name}", f"metadata.name!={name}", f"metadata.name={name},metadata.namespace={other}",
            f"metadata.namespace={other}", f"metadata.name={name},metadata.name!=x", f"metadata.name=\\{name}", f"metadata.name={name}\\", "metadata.name=",
            f"metadata.name={name},", f",metadata.name={name}", f"metadata.name={name},spec.color=red", f"spec.color=red,metadata.name={name}",
            f"metadata.name=../{name}", f"metadata.name={name}/..", f" metadata.name={name}", f"metadata.name={name}%2500", f"metadata.name!=x,metadata.name={name}",
            f"metadata.name={name},metadata.name=two",
        )
    )  # fmt: skip
    pair = (
        "fieldSelector",
        text if dice.random() < 0.3 and "%" in text else quote(text, safe="%" if "%25" in text else ""),
    )
    return replace(made, query=(*made.query, pair) if dice.random() < 0.6 else (pair, *made.query))


TRICKS: dict[str, Trick] = {
    "one character encoded": _path(_encoded),
    "up and elsewhere": _path(_elsewhere),
    "bent": _path(lambda dice, made: bent(dice, made.path)),
    "trailing slash": _path(lambda dice, made: made.path + dice.choice(("/", "//", "/.", "/%2f", "%2f"))),
    "watch": _path(lambda _, made: made.path.replace("/v1/", "/v1/watch/", 1)),
    "proxy": _path(lambda _, made: made.path.replace("/v1/", "/v1/proxy/", 1)),
    "watch twice": _path(lambda _, made: made.path.replace("/v1/", "/v1/watch/watch/", 1)),
    "another version": _path(lambda _, made: made.path.replace("/v1/", "/v1beta1/", 1)),
    "another namespace": _path(
        lambda dice, made: made.path.replace(
            f"/namespaces/{made.place.namespace}/", f"/namespaces/{dice.choice('abc')}/", 1
        )
    ),
    "no namespace": _path(lambda _, made: made.path.replace(f"/namespaces/{made.place.namespace}/", "/", 1)),
    "two namespaces": _path(
        lambda dice, made: made.path.replace("/namespaces/", f"/namespaces/{dice.choice('abc')}/namespaces/", 1)
    ),
    "an empty namespace": _path(
        lambda _, made: made.path.replace(f"/namespaces/{made.place.namespace}/", "/namespaces//", 1)
    ),
    "empty segments": _path(lambda dice, made: made.path.replace("/", "//", dice.choice((1, 3, 9)))),
    "capitals": _path(
        lambda dice, made: dice.choice(
            (made.path.upper(), made.path.replace("things", "Things"), made.path.replace("/apis/", "/APIS/"))
        )
    ),
    "another subresource": _path(
        lambda dice, made: (
            f"{made.path}/{dice.choice(('status', 'notes', 'act', 'status/x', 'scale', 'proxy', 'status/status', ''))}"
        )
    ),
    "no subresource": _path(lambda _, made: made.path.removesuffix(f"/{made.subresource}")),
    "absolute": _path(
        lambda dice, made: dice.choice(("http://localhost", "https://evil", "http://x@y", "HTTP://a:1")) + made.path
    ),
    "encoded slash": _path(
        lambda dice, made: (
            made.path.replace("/", "%2f", dice.choice((-1, 2)))
            if dice.random() < 0.5
            else made.path[::-1].replace("/", "f2%", 1)[::-1]
        )
    ),
    "pinned": _selected,
    "continued": _continued,
    "another method": _other_verb,
    "watch on": _query(("watch", "true"), ("timeoutSeconds", "1")),
    "watch off and on": _query(("watch", "false"), ("watch", "true"), ("timeoutSeconds", "1")),
    "watch of nothing": _query(("watch", ""), ("timeoutSeconds", "1")),
    "a dry run": _query(("dryRun", "All")),
    "old": _query(("resourceVersion", "1")),
    "cached": _query(("resourceVersion", "0")),
    "exactly": _query(("resourceVersionMatch", "Exact"), ("resourceVersion", "0")),
    "a name in the query": _query(("name", "one"), ("namespace", "a")),
    "paged": _query(("limit", "1")),
    "a bad limit": _query(("limit", "x")),
    "labels": _query(("labelSelector", "app%3Dx")),
    "objects in rows": lambda dice, made, tokens: _query(("includeObject", dice.choice(("Object", "Metadata"))))(
        dice, replace(made, headers=(*made.headers, ("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"))), tokens
    ),
    "accept": lambda dice, made, _: replace(made, headers=(*made.headers, ("Accept", dice.choice(ACCEPTS)))),
    "the body says otherwise": _body(_otherwise),
    "moved by a patch": _moved,
    "masters": _header(("X-Remote-Group", "system:masters")),
    "masters twice": _header(("X-REMOTE-USER", "admin"), ("x-remote-group", "system:masters")),
    "another user before": lambda dice, made, _: replace(
        made, headers=(("X-Remote-User", dice.choice(list(USERS))), *made.headers)
    ),
    "another user behind": lambda dice, made, _: replace(
        made,
        headers=(
            *made.headers,
            (
                dice.choice(("X-Remote-User", "x-remote-USER", "X-Remote-User ", "X_Remote_User")).strip(),
                dice.choice(list(USERS)),
            ),
        ),
    ),
    "underscores": _header(("X_Remote_User", "u-list-all"), ("X_Remote_Group", "system:masters")),
    "nominated": _header(("Connection", "close, X-Remote-User, X-Remote-Group")),
    "overridden": _header(
        ("X-HTTP-Method-Override", "GET"), ("X-Original-URL", "/version"), ("X-Rewrite-URL", "/version")
    ),
    "forwarded": _header(
        ("X-Forwarded-User", "admin"),
        ("X-Forwarded-Groups", "system:masters"),
        ("X-Forwarded-Client-Cert", 'Subject="CN=front-proxy-client"'),
    ),
    "token": lambda dice, made, _: replace(
        made,
        headers=(
            *made.headers,
            (
                "Authorization",
                dice.choice(
                    ("Bearer good", "bearer good", "Bearer  good", "Bearer bad", "Basic Z29vZA==", "Bearer in-memory")
                ),
            ),
        ),
    ),
    "loopback": _header(("X-Loopback", "in-memory"), ("X-Remote-Extra-Loopback", "in-memory")),
    "as": lambda dice, made, _: replace(
        made,
        headers=(
            *made.headers,
            (
                dice.choice(("Impersonate-User", "impersonate-USER")),
                dice.choice(
                    (
                        "u-get-one",
                        "u-list-all",
                        "u-nothing",
                        "",
                        "system:serviceaccount:a:robot",
                        "system:serviceaccount:b:robot",
                        "system:anonymous",
                        "admin",
                    )
                ),
            ),
        ),
    ),
    "as a group": lambda dice, made, _: replace(
        made,
        headers=(
            *made.headers,
            ("Impersonate-User", "u-nothing"),
            ("Impersonate-Group", dice.choice(("dev", "system:masters", "", "DEV"))),
        ),
    ),
    "as a group alone": lambda dice, made, _: replace(
        made, headers=(*made.headers, ("Impersonate-Group", dice.choice(("dev", "system:masters"))))
    ),
    "as somebody with more": _header(
        ("Impersonate-User", "u-get-one"), ("Impersonate-Uid", "1"), ("Impersonate-Extra-scopes", "x")
    ),
    "as two": _header(("Impersonate-User", "u-get-one"), ("Impersonate-User", "u-list-all")),
}


def odd(dice: Random, tokens: Sequence[str]) -> Plain:
    """A request with one to three tricks. Half of them begin with one that is allowed."""
    made = allowed(dice) if dice.random() < 0.5 else plain(dice)
    if dice.random() < 0.08:
        made = replace(
            made,
            path=dice.choice(
                (
                    "/version",
                    "/version/",
                    "/apis",
                    f"/apis/{GROUP}",
                    f"/apis/{GROUP}/v1",
                    "/openapi/v2",
                    "/openapi/v3",
                    f"/openapi/v3/apis/{GROUP}/v1",
                    "/",
                    "/api",
                    "/readyz",
                    "/healthz/../version",
                    "/healthz/%2e%2e/version",
                    "/healthz*",
                    "/openapi/../version",
                    "/version%2f",
                )
            ),
            method="GET",
            body=None,
            media="",
        )
    names = list(TRICKS)
    for _ in range(dice.choice((1, 1, 2, 3))):
        name = dice.choice(names)
        made = TRICKS[name](dice, made, tokens)
        made = replace(made, tricks=(*made.tricks, name))
    return made
