"""What the kinds of admissionregistration.k8s.io have to obey in common: rules, selectors, match conditions, reserved names.

Objects are plain JSON. Texts, paths and order are kube-apiserver's.

Source: ``kubernetes/pkg/apis/admissionregistration/validation`` validation.go and static_suffix.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import Any, Final

from extapi.admission.expressions.conditions import condition_error
from extapi.api.names import qualified_name
from extapi.errors import MOST_ERRORS, FieldError, FieldErrorType, go_quote

OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
MOST_CONDITIONS: Final = 64
MOST_INLINE: Final = 8192
"""Characters of expressions that are compiled in the reactor's thread: about 10 ms of work."""
_UNREADY: Final = "program instantiation failed: "
"""How an error begins that kube-apiserver takes for its own."""
_STATIC: Final = ".static.k8s.io"
_SCOPES: Final = ("*", "Cluster", "Namespaced")

Compile = Callable[[str, bool], str]
"""Why an expression is none; empty if it is one. The second argument: whether it has been stored before."""


def compile_condition(text: str, stored: bool) -> str:
    """A match condition of a webhook: see :data:`Compile`."""
    return condition_error(text, stored=stored)


def operation_errors(rule: Mapping[str, Any], path: str, known: Sequence[str] = OPERATIONS) -> Iterator[FieldError]:
    """The errors of a rule's operations (``validateRuleWithOperations``)."""
    operations = rule.get("operations") or []
    at = f"{path}.operations"
    if not operations:
        yield FieldError.required(at)
    if len(operations) > 1 and "*" in operations:
        yield FieldError.invalid(at, operations, "if '*' is present, must not specify other operations")
    for index, each in enumerate(operations[:MOST_ERRORS]):
        if each not in known:
            yield FieldError.not_supported(f"{at}[{index}]", each, known)


def rule_errors(rule: Mapping[str, Any], path: str, *, subresources: bool = True) -> Iterator[FieldError]:
    """The errors of a rule but for its operations (``validateRule``); ``subresources``: whether it may name some."""
    groups, versions = rule.get("apiGroups") or [], rule.get("apiVersions") or []
    if not groups:
        yield FieldError.required(f"{path}.apiGroups")
    if len(groups) > 1 and "*" in groups:
        yield FieldError.invalid(f"{path}.apiGroups", groups, "if '*' is present, must not specify other API groups")
    if not versions:
        yield FieldError.required(f"{path}.apiVersions")
    if len(versions) > 1 and "*" in versions:
        yield FieldError.invalid(
            f"{path}.apiVersions", versions, "if '*' is present, must not specify other API versions"
        )
    for index, each in enumerate(versions[:MOST_ERRORS]):
        if not each:
            yield FieldError.required(f"{path}.apiVersions[{index}]")
    resources = rule.get("resources") or []
    yield from (_resources if subresources else _plain_resources)(resources, f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield FieldError.not_supported(f"{path}.scope", scope, _SCOPES)


def _resources(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    """(``validateResources``)."""
    if not resources:
        yield FieldError.required(path)
    all_of: set[str] = set()
    everywhere: set[str] = set()
    plain = False  # of the last one that names no subresource, as there
    for index, each in enumerate(resources[:MOST_ERRORS]):
        at = f"{path}[{index}]"
        if not each:
            yield FieldError.required(at)
            continue
        resource, slash, subresource = each.partition("/")
        if not slash:
            plain = each != "*"
            continue
        if resource in all_of:
            yield FieldError.invalid(at, each, f"if '{resource}/*' is present, must not specify {each}")
        if subresource in everywhere:
            yield FieldError.invalid(at, each, f"if '*/{subresource}' is present, must not specify {each}")
        if subresource == "*":
            all_of.add(resource)
        if resource == "*":
            everywhere.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        yield FieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if plain and "*" in resources:
        why = "if '*' is present, must not specify other resources without subresources"
        yield FieldError.invalid(path, resources, why)


def _plain_resources(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    """(``validateResourcesNoSubResources``)."""
    if not resources:
        yield FieldError.required(path)
    for index, each in enumerate(resources[:MOST_ERRORS]):
        if not each:
            yield FieldError.required(f"{path}[{index}]")
        if "/" in each:
            yield FieldError.invalid(f"{path}[{index}]", each, "must not specify subresources")
    if len(resources) > 1 and "*" in resources:
        yield FieldError.invalid(path, resources, "if '*' is present, must not specify other resources")


def condition_errors(
    conditions: Sequence[Mapping[str, Any]], path: str, stored: AbstractSet[str], compile_text: Compile
) -> Iterator[FieldError]:
    """The errors of match conditions (``validateMatchConditions``).

    Args:
        conditions: They.
        path: Where they are.
        stored: Expressions of the stored object.
        compile_text: Compiles one.
    """
    if len(conditions) > MOST_CONDITIONS:
        yield FieldError.too_many(path, len(conditions), MOST_CONDITIONS)
    names: set[str] = set()
    for index, each in enumerate(conditions[:MOST_ERRORS]):
        at, name, text = f"{path}[{index}]", each.get("name") or "", (each.get("expression") or "").strip()
        if not text:
            yield FieldError.required(f"{at}.expression")
        elif why := compile_text(text, text in stored):
            internal = why.startswith(_UNREADY)
            yield (
                FieldError(FieldErrorType.INTERNAL, f"{at}.expression", detail=why)
                if internal
                else FieldError.invalid(f"{at}.expression", text, why)
            )
        if not name:
            yield FieldError.required(f"{at}.name")
            continue
        for problem in qualified_name(name):
            yield FieldError.invalid(f"{at}.name", name, problem)
        if name in names:
            yield FieldError.duplicate(f"{at}.name", name)
        names.add(name)


def name_warnings(name: str) -> Iterator[str]:
    """A warning of a name that is reserved (``WarningsForStaticSuffix``)."""
    if name.endswith(_STATIC):
        why = "are reserved for static manifest-based configurations and cannot be managed via the API"
        yield f"metadata.name: names ending with {go_quote(_STATIC)} {why}"
