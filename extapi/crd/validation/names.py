"""The names of a definition: its own, those of its kind, its group and its approval.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` ValidateCustomResourceDefinitionNames, validateAPIApproval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from extapi.api.names import dns1035_label, dns1123_subdomain, lower
from extapi.fielderrors import MOST_ERRORS, FieldError
from extapi.schema.cel.library.neturl import URLError, parse_url
from extapi.schema.uri import is_uri

APPROVAL: Final = "api-approved.kubernetes.io"
"""The annotation by which Kubernetes' reviewers approve an API in a group of the project."""
_SEE: Final = "https://github.com/kubernetes/enhancements/pull/1111"
_MUST_HAVE: Final = f'protected groups must have approval annotation "{APPROVAL}"'
_MIXED: Final = "may have mixed case, but should otherwise match: "


def name_errors(obj: Mapping[str, Any]) -> Iterator[FieldError]:
    """Whether the definition is named after its resource, beside what is asked of every object's name (behaviour J1)."""
    spec = obj.get("spec") or {}
    wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
    metadata = obj.get("metadata") or {}
    for member in ("generateName", "name"):
        name = metadata.get(member) or ""
        if name and name != wanted:
            yield FieldError.invalid(f"metadata.{member}", name, 'must be spec.names.plural+"."+spec.group')


def group_errors(group: str, path: str) -> Iterator[FieldError]:
    """The errors of a group."""
    if not group:
        yield FieldError.required(path)
    elif problems := dns1123_subdomain(group):
        yield FieldError.invalid(path, group, ",".join(problems))
    elif "." not in group:
        yield FieldError.invalid(path, group, "should be a domain with at least one dot")


def missing_names(names: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """The names that a spec must have, unlike a status."""
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield FieldError.required(f"{path}.{name}")


def kind_name_errors(names: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """The errors of the names of a kind, in the spec or accepted in the status."""
    for name in ("plural", "singular", "kind", "listKind"):
        value = names.get(name) or ""
        mixed = name in {"kind", "listKind"}
        problems = dns1035_label(lower(value) if mixed else value) if value else []
        if problems:
            yield FieldError.invalid(f"{path}.{name}", value, f"{_MIXED if mixed else ''}{','.join(problems)}")
    yield from _labels(names, "shortNames", path)
    kind, list_kind = names.get("kind") or "", names.get("listKind") or ""
    if kind and kind == list_kind:
        yield FieldError.invalid(f"{path}.listKind", list_kind, "kind and listKind may not be the same")
    yield from _labels(names, "categories", path)


def _labels(names: Mapping[str, Any], member: str, path: str) -> Iterator[FieldError]:
    for index, value in enumerate((names.get(member) or ())[:MOST_ERRORS]):
        if problems := dns1035_label(value):
            yield FieldError.invalid(f"{path}.{member}[{index}]", value, ",".join(problems))


def approval_errors(obj: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[FieldError]:
    """Whether a definition in one of Kubernetes' groups is approved (behaviour J5); on update it may stay as it was."""
    if not is_protected((obj.get("spec") or {}).get("group") or ""):
        return
    state, reason = approval(obj)
    if old is not None and approval(old)[0] == state:
        return
    path = f"metadata.annotations[{APPROVAL}]"
    if state == "missing":
        yield FieldError.required(path, reason)
    elif state == "invalid":
        yield FieldError.invalid(path, _annotation(obj), reason)


def is_protected(group: str) -> bool:
    """Whether a group is one of Kubernetes' own."""
    return any(group == own or group.endswith(f".{own}") for own in ("k8s.io", "kubernetes.io"))


def approval(obj: Mapping[str, Any]) -> tuple[str, str]:
    """How a definition is approved: "missing", "bypassed", "approved" or "invalid"; and that in words.

    Source: ``apiextensions-apiserver/pkg/apihelpers`` GetAPIApprovalState.
    """
    text = _annotation(obj)
    if not text:
        return "missing", f"{_MUST_HAVE}, see {_SEE}"
    if text.startswith("unapproved"):
        return "bypassed", f'not approved: "{text}"'
    if _is_url(text):
        return "approved", f"approved in {text}"
    return "invalid", f'{_MUST_HAVE} with either a URL or a reason starting with "unapproved", see {_SEE}'


def _annotation(obj: Mapping[str, Any]) -> str:
    found: str = ((obj.get("metadata") or {}).get("annotations") or {}).get(APPROVAL) or ""
    return found


def _is_url(text: str) -> bool:
    if not is_uri(text):
        return False
    try:
        url = parse_url(text)
    except URLError:
        return False
    return bool(url.scheme and url.host)
