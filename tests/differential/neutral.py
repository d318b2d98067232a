"""Answers without what no two servers have in common: the group's name, uids, revisions, times; and the order of maps.

Revisions and uids become the numbers of their first appearance, so that what stays the same and what changes is compared.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from email.message import Message
from typing import Any

import yaml

COMPARED = (
    "Content-Type",
    "Retry-After",
    "X-Content-Type-Options",
    "Cache-Control",
    "Location",
    "Allow",
    "Vary",
    "WWW-Authenticate",
)
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOKEN = re.compile(r"eyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( \+0000|Z)?")


class Neutral:
    """Makes the answers of one conversation comparable."""

    def __init__(self, group: str, namespace: str) -> None:
        # Summaries of bodies break off in the middle of the group's name, or are in hexadecimal digits.
        self._replaced = {group: "G", group[:14]: "G", group[:4].encode().hex(): "G", namespace: "NS"}
        self._names: dict[tuple[str, str], str] = {}

    def answer(self, status: int, headers: Message, content: bytes) -> dict[str, Any]:
        """Code, headers that matter, and the content as data where it is that."""
        kind = headers.get("Content-Type", "")
        shown: dict[str, Any] = {"code": status}
        shown |= {name: headers[name] for name in COMPARED if headers.get(name) is not None}
        shown["tagged"] = "Etag" in headers
        shown["warnings"] = sorted(self._text(text) for text in headers.get_all("Warning", ()))
        shown["content"] = self._content(content, kind)
        if "json" in kind:
            shown["pretty"] = b"\n  " in content
            shown["newline"] = content.endswith(b"\n")
        return shown

    def _content(self, content: bytes, kind: str) -> Any:
        text = content.decode(errors="backslashreplace")
        if "yaml" in kind:
            return self._value(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506 - the loader that makes strings only
        try:
            return self._value(json.loads(text))
        except ValueError:
            pass
        try:
            return [self._value(json.loads(line)) for line in text.splitlines() if not _is_casual(line)]
        except ValueError:
            return self._text(text)

    def _value(self, value: Any, path: tuple[str, ...] = ()) -> Any:
        if isinstance(value, dict):
            return self._object(value, path)
        if isinstance(value, list):
            return [self._value(item, path) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _object(self, value: Mapping[str, Any], path: tuple[str, ...]) -> Any:
        shown: dict[str, Any] = {}
        for name in sorted(value):
            item = value[name]
            if name == "resourceVersion" and str(item).isdecimal() and path[-1:] == ("metadata",):
                # The revision of a list is that of the whole store.
                shown[name] = self._named("revision", item) if "uid" in value else "<revision>"
            elif name == "continue" and item and path[-1:] == ("metadata",):
                shown[name] = _token(item)
            elif name == "verbs":
                shown[name] = sorted(item)  # discovery may list them in any order
            elif name in {"resourceRules", "nonResourceRules"}:
                shown[name] = sorted(self._value(item), key=json.dumps)  # of roles, which are in no order
            elif name == "storageVersionHash":
                shown[name] = "<hash>"  # of the group's name, among others
            elif name == "managedFields" and isinstance(item, list):
                # In the order of their times, which both sides have in different seconds.
                shown[name] = sorted(self._value(item, (*path, name)), key=json.dumps)
            else:
                shown[self._text(name)] = self._value(item, (*path, name))
        if isinstance(shown.get("causes"), list):
            shown["causes"].sort(key=json.dumps)
        if shown.get("kind") == "APIResourceList" and "resources" in shown:
            shown["resources"].sort(key=lambda resource: resource["name"])
        if shown.get("kind") == "Status" or path in {("details",), ("details", "causes")}:
            shown["<members>"] = list(value)  # in the order of Go's fields, not in that of the alphabet
        if shown.get("kind") == "Status":
            shown["message"] = _unordered(shown.get("message", ""))
        return shown

    def _text(self, text: str) -> str:
        for name, short in self._replaced.items():
            text = text.replace(name, short)
        text = _TOKEN.sub(lambda found: self._text(_claims(found[1])), text)
        text = re.sub(r"(X509SHA256=)[0-9a-f]{64}", r"\1<hash>", text)
        text = _UID.sub(lambda found: self._named("uid", found[0]), text)
        text = _TIME.sub("<time>", text)
        # Objects quoted whole hold their revision, and managed fields.
        text = re.sub(r'Invalid value: "\{.*?\}": ', 'Invalid value: "<object>": ', text)
        text = re.sub(r"is missing in '\{.*?\}'", "is missing in '<object>'", text)
        text = re.sub(r"(expected [\w ()]+, got )[^\n]+", r"\1<value>", text)  # as Go prints its structs, there
        text = re.sub(r"\b(Gen_|gen[-.]|g{58})[bcdfghjklmnpqrstvwxz2456789]{5}\b", r"\1<random>", text)
        text = re.sub(r"(current: |record \(|precondition \(|version: )\d+", r"\1<revision>", text)
        return re.sub(r"^(\d+[smhd])+$", "<age>", text)

    def _named(self, what: str, value: str) -> str:
        return self._names.setdefault((what, value), f"<{what} {sum(key[0] == what for key in self._names) + 1}>")


def _is_casual(event: str) -> bool:
    """Whether it is a bookmark that comes when the server likes: all but the one at the end of the initial events."""
    return event.startswith('{"type":"BOOKMARK"') and "k8s.io/initial-events-end" not in event


def _claims(payload: str) -> str:
    """What a bearer token says, its times counted from when it was issued."""
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    issued = claims.pop("iat")
    claims |= {name: claims[name] - issued for name in ("exp", "nbf")}
    return json.dumps(claims, sort_keys=True)


def _token(text: str) -> Any:
    """What a continue token holds, but for its revision."""
    content = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return {name: value for name, value in content.items() if name != "rv"}


def _unordered(message: str) -> Any:
    """A message; of several errors, which come in any order, the pieces."""
    if "errors:\n" in message:
        return sorted(message.split("\n"))
    return sorted(re.split(r", |\[|\]", message)) if "[" in message else message
