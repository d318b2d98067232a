"""What a policy or a binding refers to: requests, parameters, other policies.

Objects are plain JSON with their defaults. Texts, paths and order are kube-apiserver's.

Source: ``kubernetes/pkg/apis/admissionregistration/validation`` validateMatchResources, validateParamKind, validateParamRef.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from extapi.api.labelselectors import selector_problems
from extapi.api.names import dns1035_label, dns1123_subdomain, lower, path_segment
from extapi.controlplane.kinds.admissionvalidation import operation_errors, rule_errors
from extapi.errors import MOST_ERRORS, FieldError

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
NOT_FOUND_ACTIONS: Final = ("Deny", "Allow")
MUTABLE_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
"""The operations whose objects a mutation can change."""
_EXCLUSIVE: Final = "name and selector are mutually exclusive"

Part = Mapping[str, Any]


def one_of(path: str, value: str | None, known: Sequence[str]) -> Iterator[FieldError]:
    """The error of a value that is none of those that are known, or is not there."""
    if value is None:
        yield FieldError.required(path)
    elif value not in known:
        yield FieldError.not_supported(path, value, known)


def match_errors(matching: Part | None, path: str) -> Iterator[FieldError]:
    """The errors of what says which requests are meant; None says nothing."""
    if matching is None:
        return
    yield from one_of(f"{path}.matchPolicy", matching.get("matchPolicy"), MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        selector = matching.get(name)
        if selector is None:
            yield FieldError.required(f"{path}.{name}")
        else:
            yield from selector_problems(selector, f"{path}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate((matching.get(name) or ())[:MOST_ERRORS]):
            yield from _named_rule(rule, f"{path}.{name}[{index}]")


def _named_rule(rule: Part, path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, name in enumerate((rule.get("resourceNames") or ())[:MOST_ERRORS]):
        at = f"{path}.resourceNames[{index}]"
        yield from (FieldError.invalid(at, name, why) for why in path_segment(name))
        if name in seen:
            yield FieldError.duplicate(at, name)
        seen.add(name)
    yield from operation_errors(rule, path)
    yield from rule_errors(rule, path)


def mutable_errors(matching: Part | None, path: str) -> Iterator[FieldError]:
    """The errors of operations whose objects no mutation can change."""
    for rule in (matching or {}).get("resourceRules") or ():
        for operation in (rule.get("operations") or ())[:MOST_ERRORS]:
            if operation not in MUTABLE_OPERATIONS:
                yield FieldError.not_supported(f"{path}.resourceRules.operations", operation, MUTABLE_OPERATIONS)


def param_kind_errors(kind: Part, path: str) -> Iterator[FieldError]:
    """The errors of the kind of parameters."""
    yield from _api_version(kind.get("apiVersion") or "", f"{path}.apiVersion")
    name = kind.get("kind") or ""
    if not name:
        yield FieldError.required(f"{path}.kind")
    elif problems := dns1035_label(lower(name)):
        why = f"may have mixed case, but should otherwise match: {', '.join(problems)}"
        yield FieldError.invalid(f"{path}.kind", name, why)


def _api_version(text: str, path: str) -> Iterator[FieldError]:
    if not text:
        yield FieldError.required(path)
        return
    if text.count("/") > 1:
        yield FieldError.invalid(path, text, f"unexpected GroupVersion string: {text}")
        return
    group, _, version = text.rpartition("/")
    if group and (problems := dns1123_subdomain(group)):
        yield FieldError.invalid(path, group, ",".join(problems))
    if not version:
        yield FieldError.invalid(path, text, "version must be specified")
    elif problems := dns1035_label(version):
        yield FieldError.invalid(path, version, ",".join(problems))


def param_ref_errors(reference: Part | None, path: str) -> Iterator[FieldError]:
    """The errors of a reference to parameters; without one there are none."""
    if reference is None:
        return
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        yield from (FieldError.invalid(f"{path}.name", name, why) for why in path_segment(name))
        if selector is not None:
            yield FieldError.forbidden(f"{path}.name", _EXCLUSIVE)
    if selector is not None:
        yield from selector_problems(selector, f"{path}.selector")
        if name:
            yield FieldError.forbidden(f"{path}.selector", _EXCLUSIVE)
    if not name and selector is None:
        yield FieldError.required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction") or None
    yield from one_of(f"{path}.parameterNotFoundAction", action, NOT_FOUND_ACTIONS)


def policy_name_errors(name: str | None, path: str) -> Iterable[FieldError]:
    """The errors of the name of a policy in a binding."""
    if not name:
        return [FieldError.required(path)]
    return [FieldError.invalid(path, name, why) for why in dns1123_subdomain(name)]
