"""The review in a webhook's answer: decoded as client-go does, and what is wrong with one that is none.

Knows the envelope of reviews, with the types of those members that are read; what they mean is the caller's business. Pure.

Source: ``apimachinery/pkg/runtime/serializer``, ``client-go/rest/request.go`` Into.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from extapi.api.types import Obj
from extapi.client.webhookreply import WebhookError, shortened
from extapi.codec import strictjson, strictyaml
from extapi.errors import go_quote

SUPPORTED: Final = ("v1", "v1beta1")
"""The versions of reviews."""
_META: Final = (
    *("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"),
)
ENVELOPE: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
"""What Go reads of an object to find out what it is."""


class Member(NamedTuple):
    """A member that is read."""

    field: str
    """How Go names it in errors, such as ``AdmissionResponse.response.uid``."""
    type: type
    """Its type here."""
    go_type: str
    """Its type in Go; ``{version}`` stands for the version of the review."""
    items: str = ""
    """The type in Go of the texts in a list or a map of them; empty: anything may be in it."""


class ReviewFormat:
    """The reviews of one kind.

    Args:
        group: Their API group.
        kind: Their kind.
        members: The members that are read, by path, such as ``response.uid``. They come in the order in which they are read.
        others: Further kinds of the group that kube-apiserver could decode, though it takes none but the right one.
    """

    def __init__(self, group: str, kind: str, members: Mapping[str, Member], others: Collection[str] = ()) -> None:
        self.group = group
        self.kind = kind
        self._members = members
        versions = tuple(f"{group}/{version}" for version in SUPPORTED)
        self._known: Mapping[str, Collection[str]] = {
            **dict.fromkeys((kind, *others, *_META), versions),
            **dict.fromkeys(("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"), ("v1",)),
        }

    def shown_type(self, api_version: str | None, kind: str | None) -> str:
        """A type as Go prints it: ``GROUP/VERSION, Kind=KIND``."""
        group, _, number = (api_version or "").rpartition("/")
        return f"{group}/{number}, Kind={kind or ''}"

    def check_type(self, api_version: str, kind: str, version: str) -> None:
        """Check that kube-apiserver would decode the answer as a review. What says nothing of its type, is one.

        Raises:
            WebhookError: It would not.
        """
        if api_version.count("/") > 1:
            raise WebhookError(f"unexpected GroupVersion string: {shortened(api_version)}")
        kind, api_version = kind or self.kind, api_version or f"{self.group}/{version}"
        if (api_version, kind) == (f"{self.group}/{version}", self.kind):
            return
        if api_version in self._known.get(kind, ()):
            kinds = f"({api_version.rpartition('/')[2]}.{kind}) to ({version}.{self.kind})"
            raise WebhookError(f"converting {kinds}: unknown conversion")
        shown, of = go_quote(shortened(kind)), go_quote(shortened(api_version))
        raise WebhookError(f'no kind {shown} is registered for version {of} in scheme "pkg/runtime/scheme.go:111"')

    def explained(self, body: bytes, version: str) -> Obj:
        """The review in an answer that is no review in plain JSON: it may be YAML, or have odd characters.

        Its type, and the types of the members that are read, are right.

        Raises:
            WebhookError: It is none, because of this.
        """
        value = _loosely(body)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise _unreadable(f"json: cannot unmarshal {json_type(value)} into Go value of type {ENVELOPE}")
        for member in value:  # the first mistake is told
            if member in ("apiVersion", "kind") and not isinstance(value[member], str | None):
                why = f"json: cannot unmarshal {json_type(value[member])} into Go struct field .{member} of type string"
                raise _unreadable(why)
        self.check_type(value.get("apiVersion") or "", value.get("kind") or "", version)
        self._check_members(value, "", version)
        return value

    def _check_members(self, value: Obj, prefix: str, version: str) -> None:
        """Check the types of those members that are read, in their order.

        Raises:
            WebhookError: One of them has a wrong type.
        """
        for member, found in value.items():
            path = f"{prefix}{member}"
            if found is None or path not in self._members:
                continue
            known = self._members[path]
            if not isinstance(found, known.type) or (known.type is int and isinstance(found, bool)):
                raise _mistyped(found, known.field, known.go_type.format(version=version))
            if known.items:
                several: Any = found.values() if isinstance(found, dict) else found
                for each in several:
                    if not isinstance(each, str | None):
                        raise _mistyped(each, known.field, known.items)
            elif isinstance(found, dict):
                self._check_members(found, f"{path}.", version)


def json_type(value: Any) -> str:
    """What Go calls a JSON value of another type than the one that it reads."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"


def _mistyped(value: Any, field: str, go_type: str) -> WebhookError:
    return WebhookError(f"json: cannot unmarshal {json_type(value)} into Go struct field {field} of type {go_type}")


def _loosely(body: bytes) -> Any:
    """The value of JSON or YAML, as kube-apiserver tells them apart.

    Raises:
        WebhookError: It is neither.
    """
    try:
        if body.lstrip(b" \t\r\n\f\v").startswith(b"{"):
            return strictjson.decode(body).value
        return strictyaml.decode(body).value
    except strictyaml.YAMLError as error:
        raise WebhookError(f"error converting YAML to JSON: {shortened(str(error))}") from None
    except ValueError as error:
        raise _unreadable(str(error)) from None


def _unreadable(why: str) -> WebhookError:
    return WebhookError(f"couldn't get version/kind; json parse error: {shortened(why)}")
