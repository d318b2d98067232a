"""The validation of policies and bindings: kube-apiserver's errors, with its texts, paths and order.

Objects are plain JSON with their defaults. What is asked of the metadata of every object is not asked here.

Source: ``kubernetes/pkg/apis/admissionregistration/validation`` validation.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from extapi.admission.policies.writing import (
    ANNOTATION,
    APPLY_CONFIGURATION,
    CONDITION,
    JSON_PATCH,
    MESSAGE,
    VALIDATION,
    Compiler,
    Role,
)
from extapi.api.names import qualified_name
from extapi.controlplane.kinds.admissionvalidation import condition_errors
from extapi.controlplane.policies.matching import (
    FAILURE_POLICIES,
    match_errors,
    mutable_errors,
    one_of,
    param_kind_errors,
    param_ref_errors,
    policy_name_errors,
)
from extapi.errors import MOST_ERRORS, FieldError, FieldErrorType

MOST_ANNOTATIONS: Final = 20
LONGEST_VALUE: Final = 5 * 1024
"""Bytes of the expression of an audit annotation."""
REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS: Final = ("Audit", "Deny", "Warn")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
PATCH_TYPES: Final = ("ApplyConfiguration", "JSONPatch")
_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
_NO_ITEM: Final = "validations or auditAnnotations must contain at least one item"
_EMPTY: Final = "must be non-empty if specified"
_WARN_AND_DENY: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)

Spec = Mapping[str, Any]


class _Policy:
    """The parts of a policy that both kinds have. ``old``: the spec of the stored policy, whose expressions may stay."""

    def __init__(self, spec: Spec, old: Spec | None, *, composed: bool) -> None:
        self.spec = spec
        self.old = old
        self.compiler = Compiler(params=spec.get("paramKind") is not None, composed=composed)

    def stored(self, *path: str) -> frozenset[str]:
        """The expressions of the stored policy: those of the items of a list, by the members that lead to them."""
        name, *members = path
        return frozenset(_expressions((self.old or {}).get(name) or (), members))

    def head(self) -> Iterator[FieldError]:
        """The errors of failurePolicy, paramKind and matchConstraints."""
        spec = self.spec
        yield from one_of("spec.failurePolicy", spec.get("failurePolicy"), FAILURE_POLICIES)
        if spec.get("paramKind") is not None:
            yield from param_kind_errors(spec["paramKind"], "spec.paramKind")
        matching = spec.get("matchConstraints")
        if matching is None:
            yield FieldError.required("spec.matchConstraints")
            return
        yield from match_errors(matching, "spec.matchConstraints")
        if not matching.get("resourceRules"):
            yield FieldError.required("spec.matchConstraints.resourceRules")

    def conditions(self) -> Iterator[FieldError]:
        """The errors of the match conditions; none if neither they nor the kind of the parameters changed."""
        spec, old = self.spec, self.old
        if old is not None and all(spec.get(name) == old.get(name) for name in ("paramKind", "matchConditions")):
            return

        def judge(text: str, stored: bool) -> str:
            error = self.compiler.compile(text, CONDITION, stored=stored)
            return "" if error is None else error.detail

        stored = self.stored("matchConditions", "expression")
        yield from condition_errors(spec.get("matchConditions") or (), "spec.matchConditions", stored, judge)

    def variables(self) -> Iterator[FieldError]:
        """The errors of the variables; those that later expressions may use are compiled by it."""
        stored = self.stored("validations", "expression")
        for index, each in enumerate(self.spec.get("variables") or ()):
            path, name, text = f"spec.variables[{index}]", each.get("name") or "", each.get("expression") or ""
            if not name.strip():
                yield FieldError.required(f"{path}.name", "name is not specified")
            elif not (name.isascii() and name.isidentifier()) or name in _RESERVED:
                yield FieldError.invalid(f"{path}.name", name, "must be a valid CEL identifier")
            if not text.strip():
                yield FieldError.required(f"{path}.expression", "expression is not specified")
            else:
                error = self.compiler.add_variable(name, text, stored=text in stored)
                yield from _at(f"{path}.expression", error)

    def expression(self, path: str, text: str, role: Role, *, stored: bool) -> Iterator[FieldError]:
        """The error of an expression."""
        yield from _at(path, self.compiler.compile(text, role, stored=stored))


def _expressions(items: Iterable[Any], members: Sequence[str]) -> Iterator[str]:
    for item in items:
        for name in members:
            item = (item or {}).get(name)  # noqa: PLW2901 - the next member is in it
        if item is not None:
            yield item


def _at(path: str, error: FieldError | None) -> Iterator[FieldError]:
    if error is not None:
        yield replace(error, path=path)


def validating_policy_errors(name: str, spec: Spec, old: Spec | None) -> Iterator[FieldError]:
    """The errors of a ValidatingAdmissionPolicy.

    Args:
        name: Its name.
        spec: Its spec.
        old: The spec of the stored one; None: it is new.
    """
    policy = _Policy(spec, old, composed=bool(spec.get("variables")))
    yield from policy.head()
    yield from policy.conditions()
    yield from policy.variables()
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield FieldError.required("spec.validations", _NO_ITEM)
        yield FieldError.required("spec.auditAnnotations", _NO_ITEM)
        return
    for index, each in enumerate(validations):
        yield from _validation(policy, each, f"spec.validations[{index}]")
    if len(annotations) > MOST_ANNOTATIONS:
        shown = [
            {"Key": each.get("key", ""), "ValueExpression": each.get("valueExpression", "")} for each in annotations
        ]
        why = f"must not have more than {MOST_ANNOTATIONS} auditAnnotations"
        yield FieldError.invalid("spec.auditAnnotations", shown, why)
    keys: set[str] = set()
    for index, each in enumerate(annotations[:MOST_ERRORS]):
        path, key = f"spec.auditAnnotations[{index}]", each.get("key") or ""
        yield from _annotation(policy, name, each, path)
        if key in keys:
            yield FieldError.duplicate(f"{path}.key", key)
        keys.add(key)


def _validation(policy: _Policy, each: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    text, message = each.get("expression") or "", each.get("message") or ""
    if not text.strip():
        yield FieldError.required(f"{path}.expression", "expression is not specified")
    else:
        stored = text in policy.stored("validations", "expression")
        yield from policy.expression(f"{path}.expression", text, VALIDATION, stored=stored)
    maker = each.get("messageExpression") or ""
    if maker and not maker.strip():
        yield FieldError.invalid(f"{path}.messageExpression", maker, _EMPTY)
    elif maker:
        stored = maker in policy.stored("validations", "messageExpression")
        yield from policy.expression(f"{path}.messageExpression", maker, MESSAGE, stored=stored)
    if message and not message.strip():
        yield FieldError.invalid(f"{path}.message", message, _EMPTY)
    elif not {"\n", "\r"}.isdisjoint(message.strip()):
        yield FieldError.invalid(f"{path}.message", message, "must not contain line breaks")
    reason = each.get("reason")
    if reason is not None:
        yield from one_of(f"{path}.reason", reason, REASONS)


def _annotation(policy: _Policy, name: str, each: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    key, text = each.get("key") or "", each.get("valueExpression") or ""
    if name:
        whole = f"{name}/{key}"
        yield from (FieldError.invalid(f"{path}.key", whole, why) for why in qualified_name(whole))
    else:
        yield FieldError.invalid(f"{path}.key", key, "requires metadata.name be non-empty")
    trimmed, at = text.strip(), f"{path}.valueExpression"
    if not trimmed:
        yield FieldError.required(at, "valueExpression is not specified")
    elif len(trimmed.encode()) > LONGEST_VALUE:
        yield FieldError.required(at, f"must not exceed {LONGEST_VALUE} bytes in length")
    else:
        stored = text in policy.stored("auditAnnotations", "valueExpression")
        error = policy.compiler.compile(trimmed, ANNOTATION, stored=stored)
        if error is not None:
            error = replace(error, path=at)
            yield replace(error, value=text) if error.type is FieldErrorType.INVALID else error


def mutating_policy_errors(spec: Spec, old: Spec | None) -> Iterator[FieldError]:
    """The errors of a MutatingAdmissionPolicy; see :func:`validating_policy_errors`."""
    policy = _Policy(spec, old, composed=True)
    yield from policy.head()
    yield from mutable_errors(spec.get("matchConstraints"), "spec.matchConstraints")
    yield from policy.conditions()
    yield from policy.variables()
    mutations = spec.get("mutations") or ()
    if not mutations:
        yield FieldError.required("spec.mutations", "mutations must contain at least one item")
    for index, each in enumerate(mutations):
        yield from _mutation(policy, each, f"spec.mutations[{index}]")
    yield from one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy") or None, REINVOCATION_POLICIES)


_MEMBERS: Final = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}
_ROLES: Final = {"JSONPatch": JSON_PATCH, "ApplyConfiguration": APPLY_CONFIGURATION}


def _mutation(policy: _Policy, each: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    type_ = each.get("patchType") or ""
    if not type_:
        yield FieldError.required(f"{path}.patchType")
        return
    if type_ not in _MEMBERS:
        yield FieldError.not_supported(f"{path}.patchType", type_, PATCH_TYPES)
        return
    member = _MEMBERS[type_]
    other = next(name for name in _MEMBERS.values() if name != member)
    made = each.get(member)
    if made is None:
        yield FieldError.required(f"{path}.{member}", f"must be specified when patchType is {type_}")
    else:
        yield from _made(policy, made.get("expression") or "", _ROLES[type_], f"{path}.{member}.expression")
    if each.get(other) is not None:
        why = f"must not be specified when patchType is {type_}"
        yield FieldError.invalid(f"{path}.{other}", f"{{{other}}}", why)


def _made(policy: _Policy, text: str, role: Role, path: str) -> Iterator[FieldError]:
    if not text.strip():
        yield FieldError.required(path)
        return
    # Expressions of JSON patches are looked for among those of the other type, too: so does kube-apiserver.
    stored = text in policy.stored("mutations", "applyConfiguration", "expression")
    yield from policy.expression(path, text.strip(), role, stored=stored)


def validating_binding_errors(spec: Spec) -> Iterator[FieldError]:
    """The errors of a ValidatingAdmissionPolicyBinding."""
    yield from _binding(spec)
    yield from _actions(spec.get("validationActions") or [], "spec.validationActions")


def mutating_binding_errors(spec: Spec) -> Iterator[FieldError]:
    """The errors of a MutatingAdmissionPolicyBinding."""
    yield from _binding(spec)
    yield from mutable_errors(spec.get("matchResources"), "spec.matchResources")


def _binding(spec: Spec) -> Iterator[FieldError]:
    yield from policy_name_errors(spec.get("policyName"), "spec.policyName")
    yield from param_ref_errors(spec.get("paramRef"), "spec.paramRef")
    yield from match_errors(spec.get("matchResources"), "spec.matchResources")


def _actions(actions: Sequence[str], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, action in enumerate(actions[:MOST_ERRORS]):
        if action not in ACTIONS:
            yield FieldError.not_supported(f"{path}[{index}]", action, ACTIONS)
        if action in seen:
            yield FieldError.duplicate(f"{path}[{index}]", action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        yield FieldError.invalid(path, list(actions), _WARN_AND_DENY)
    if not seen:
        yield FieldError.required(path, "at least one validation action is required")
