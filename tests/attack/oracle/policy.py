"""Who may do what, as RBAC says it, and who somebody is; written anew, from the documentation of Kubernetes.

Nothing of extapi is imported: what it makes of a request must not decide about itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MASTERS = "system:masters"


@dataclass(frozen=True)
class Rule:
    """A rule, and where it is in force: in ``namespaces``, or everywhere (``*``). No ``names``: all."""

    verbs: tuple[str, ...]
    resources: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ("*",)
    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ("oracle.example.com",)
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Identity:
    """A user and the groups it is in."""

    name: str
    groups: tuple[str, ...] = ()


THINGS = ("things",)

USERS: Mapping[str, tuple[Rule, ...]] = {
    "u-get-one": (Rule(("get",), THINGS, ("a",), ("one",)),),
    "u-list-a": (Rule(("list",), THINGS, ("a",)),),
    "u-watch-a": (Rule(("watch",), THINGS, ("a",)),),
    "u-status": (Rule(("get", "update", "patch"), ("things/status",), ("a",)),),
    "u-update": (Rule(("update",), THINGS, ("a",)),),
    "u-create": (Rule(("create",), THINGS, ("a",)),),
    "u-delete-one": (Rule(("delete",), THINGS, ("a",), ("one",)),),
    "u-collection": (Rule(("deletecollection",), THINGS, ("b",)),),
    "u-patch-two": (Rule(("patch",), THINGS, ("b",), ("two",)),),
    "u-list-all": (Rule(("list",), THINGS),),
    "u-others": (Rule(("get", "list", "watch", "create", "update", "patch", "delete"), ("others",), ("b",)),),
    "u-global": (Rule(("get",), ("globals",), ("*",), ("one",)),),
    "u-vault": (Rule(("get",), ("vaults",), ("a",)),),
    "u-vaults": (Rule(("list",), ("vaults",)),),
    "u-notes": (Rule(("get", "patch"), ("things/notes",), ("a",), ("one",)),),
    "u-act": (Rule(("create",), ("things/act",), ("a",), ("two",)),),
    "u-pinned": (Rule(("list", "watch", "get"), THINGS, ("a",), ("one",)),),
    "u-paths": (Rule(("get",), paths=("/version", "/openapi/*")),),
    "u-discovery": (Rule(("get",), paths=("/apis", "/apis/*")),),
    "u-nothing": (),
    "i-user": (Rule(("impersonate",), ("users",), names=("u-get-one",), groups=("",)),),
    "i-group": (
        Rule(("impersonate",), ("users",), names=("u-nothing",), groups=("",)),
        Rule(("impersonate",), ("groups",), names=("dev",), groups=("",)),
    ),
    "i-account": (Rule(("impersonate",), ("serviceaccounts",), ("a",), ("robot",), ("",)),),
    "system:serviceaccount:a:robot": (Rule(("get",), THINGS, ("b",), ("one",)),),
    "cert-user": (Rule(("get",), ("others",), ("a",)),),
    "token-user": (Rule(("get",), ("others",), ("a",), ("two",)),),
}
"""Each may very little."""

GROUPS: Mapping[str, tuple[Rule, ...]] = {"dev": (Rule(("get",), THINGS, ("b",)),)}


def _rules(who: Identity) -> list[Rule]:
    return [*USERS.get(who.name, ()), *(rule for group in who.groups for rule in GROUPS.get(group, ()))]


def may(who: Identity, verb: str, group: str, resource: str, namespace: str, name: str) -> bool:
    """``resource`` with its subresource (``things/status``). An empty namespace is all of them, or none."""
    if MASTERS in who.groups:
        return True
    return any(
        verb in rule.verbs
        and group in rule.groups
        and resource in rule.resources
        and ("*" in rule.namespaces or (namespace and namespace in rule.namespaces))
        and (not rule.names or name in rule.names)
        for rule in _rules(who)
    )


def may_path(who: Identity, verb: str, path: str) -> bool:
    """For paths of no resource."""
    if MASTERS in who.groups or path in ("/healthz", "/livez", "/readyz"):
        return True
    return any(
        verb in rule.verbs and (path == allowed or (allowed.endswith("*") and path.startswith(allowed[:-1])))
        for rule in _rules(who)
        for allowed in rule.paths
    )


def identify(peer: str, headers: Sequence[tuple[str, str]]) -> Identity | None:
    """Who sends, before impersonation; None: nobody whom the server may serve (401)."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value.strip())
    user = next(iter(values.get("x-remote-user", ())), "")
    if peer == "proxy" and user:
        return Identity(user, (*[group for group in values.get("x-remote-group", ()) if group], "system:authenticated"))
    if peer == "client":
        return Identity("cert-user", ("cert-group", "system:authenticated"))
    words = next(iter(values.get("authorization", ())), "").split(" ")
    if len(words) > 1 and words[0].lower() == "bearer" and words[1]:
        return Identity("token-user", ("system:authenticated",)) if words[1] == "good" else None
    return Identity("system:anonymous", ("system:unauthenticated",)) if peer == "nobody" else None


def acting(who: Identity | None, headers: Sequence[tuple[str, str]]) -> Identity | None:
    """As whom, after impersonation; None: it is not allowed, or means nothing."""
    if who is None:
        return None
    wanted = [(name.lower(), value.strip()) for name, value in headers if name.lower().startswith("impersonate-")]
    if not wanted:
        return who
    user = next((value for name, value in wanted if name == "impersonate-user"), "")
    groups = tuple(value for name, value in wanted if name == "impersonate-group")
    if not user:
        relevant = [
            name
            for name, value in wanted
            if (name in ("impersonate-group", "impersonate-uid") and value) or name.startswith("impersonate-extra-")
        ]
        return None if relevant or groups else who
    account = user.split(":")
    if len(account) == 4 and account[:2] == ["system", "serviceaccount"] and all(account):
        allowed = may(who, "impersonate", "", "serviceaccounts", account[2], account[3])
        implied: tuple[str, ...] = ("system:serviceaccounts", f"system:serviceaccounts:{account[2]}")
    else:
        allowed, implied = may(who, "impersonate", "", "users", "", user), ()
    allowed = allowed and all(may(who, "impersonate", "", "groups", "", group) for group in groups)
    if any((name == "impersonate-uid" and value) or name.startswith("impersonate-extra-") for name, value in wanted):
        allowed = allowed and MASTERS in who.groups
    return Identity(user, (*(groups or implied), "system:authenticated")) if allowed else None
