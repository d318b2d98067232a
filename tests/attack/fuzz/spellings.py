"""Spellings of paths, selectors, query values and headers: right ones, and those that readers of them disagree on."""

from __future__ import annotations

from random import Random
from urllib.parse import quote

from tests.attack.fuzz import values
from tests.attack.fuzz.bodies import NAMES

METHODS = (
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "LIST",
    "PROPFIND",
    "get",
    "SEARCH",
    "CONNECT",
    "M-SEARCH",
)

JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def escaped(dice: Random, value: str) -> str:
    """A part of a query; mostly escaped as it should be."""
    data = value.encode("utf-8", "surrogatepass")
    kind = dice.random()
    if kind < 0.93:
        return quote(data, safe="")
    if kind < 0.96:
        return "".join(f"%{byte:02{dice.choice('xX')}}" for byte in data)
    if kind < 0.98:
        return quote(data, safe=",=()!;/:@$'*+[]\\")
    return quote(data, safe="") + dice.choice(("%", "%zz", "%ff", "+", ";", "%00", "%u0041"))


def bent(dice: Random, path: str) -> str:
    """The path with something of it encoded, doubled, or in another case."""
    for _ in range(dice.choice((1, 1, 2))):
        at = dice.randrange(1, len(path) + 1)
        kind = dice.randrange(12)
        if kind == 0:
            path += "/"
        elif kind == 1:
            path = path[:at] + "/" + path[at:]
        elif kind == 2:
            path = path[:at] + dice.choice(
                ("%2f", "%2F", "%5c", "%2e", "%252f", "%00", "%0a", "%", "%c3", "%ff", ";x=y", "/./", "/../", "//")
            )
        elif kind == 3 and at < len(path):
            path = f"{path[:at]}%{ord(path[at]) & 255:02x}{path[at + 1 :]}"
        elif kind == 4:
            path = path.upper()
        elif kind == 5:
            path = path.replace(
                "/apis/", dice.choice(("/api/", "/APIS/", "//apis/", "/apis//", "/apis/../apis/", "/./apis/")), 1
            )
        elif kind == 6:
            path = path.replace(
                "/namespaces/",
                dice.choice(("/watch/namespaces/", "/proxy/namespaces/", "/namespaces/a/namespaces/", "/")),
                1,
            )
        elif kind == 7:
            path += dice.choice(
                ("/status", "/status/x", "/scale", "/notes/", "/proxy/x", "/..", "/.", "/status/status", "/" * 50)
            )
        elif kind == 8:
            path = (
                dice.choice(("http://evil", "https://localhost:1", "HTTP://x", "ftp://x", "http:", "//evil", "*", "x"))
                + path
            )
        elif kind == 9:
            path = path[:at]
        elif kind == 10:
            path = path + "/" + "a" * dice.choice((254, 5000, 60_000))
        else:
            path += "#fragment"
    return path


def label_selector(dice: Random) -> str:
    """A label selector; often one that can be parsed."""
    size = dice.choice((1, 3, 30, 300, 3000))
    return dice.choice(
        (
            "app=a", "app==b", "app!=a", "app", "!app", "app in (a,b)", "app notin (a, b)", "app in (a", "x.io/y=b,app", "app>1", "app<9", "",
            ",", "=", "!", "!!a", "app in ()", "app in (,)", "a=b=c", "a = b , c", "in in (in)", "notin", "app=a b", "(", ")", "app in a",
            "a=b," * size, "a in (" + "b," * size + ")", "!" * size, "(" * size, "a" * size, "a=" + "b" * size, " " * size, "a\t=\nb", "app=\u00e9",
            "a>" + "9" * size, "a<" + "0" * size, "a>-" + "0" * 5000, values.worst(dice, "label") + "=x", "x=" + values.worst(dice, "label"),
        )
    )  # fmt: skip


def field_selector(dice: Random) -> str:
    """A field selector; often one that can be parsed."""
    size = dice.choice((1, 3, 30, 300, 3000))
    name = dice.choice(NAMES)
    return dice.choice(
        (
            f"metadata.name={name}", f"metadata.name=={name}", f"metadata.name!={name}", "metadata.namespace=a", "spec.selected=aa", "spec.color=red",
            "spec.selectedNumber=1", "spec.selectedBool=true", "spec.selectedEmail=a@b.c", "status.phase=x", "metadata.uid=x", "", ",", "=", "a", "a=b=c",
            "metadata.name=" + "\\" * size, "metadata.name=" + "a\\," * size, f"metadata.name={name}," * size, "!=" * size, "=" * size,
            "metadata.name=" + "!" * size, "metadata.name=..", "metadata.name=a/b", "metadata.name=%2e", "metadata.name=", "metadata.name!=" + "x" * size,
            "a" * size + "\\", "metadata.name=\u00e9", f"metadata.name={name},metadata.namespace=b", f"metadata.namespace!=a,metadata.name={name}",
        )
    )  # fmt: skip
