"""The four kinds of policies and bindings: what is served of them, and the rules of writing.

Source: ``kubernetes/pkg/registry/admissionregistration`` strategy.go and storage.go of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from extapi import CLUSTER, FieldError, Object, Strategy
from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.admissionmessages import ADMISSION
from extapi.controlplane.kinds.admissionpolicies import (
    BINDING_COLUMNS,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    complete_binding,
    complete_policy,
    policy_columns,
)
from extapi.controlplane.kinds.admissionvalidation import MOST_INLINE, name_warnings
from extapi.controlplane.kinds.parts import kind_of
from extapi.controlplane.policies.rules import (
    mutating_binding_errors,
    mutating_policy_errors,
    validating_binding_errors,
    validating_policy_errors,
)
from extapi.controlplane.policies.status import status_errors

_EXPRESSIONS: Final = frozenset({"expression", "messageExpression", "valueExpression"})
_LISTS: Final = ("matchConditions", "variables", "validations", "auditAnnotations", "mutations")


class PolicyStrategy(Strategy):
    """The rules of writing any of the four kinds."""

    def warn(self, obj: Object, old: Object | None) -> Iterable[str]:
        """Warn of a reserved name."""
        del old
        return name_warnings(obj.metadata.name)


class ValidatingPolicyStrategy(PolicyStrategy):
    """The rules of writing a ValidatingAdmissionPolicy."""

    def validate(self, obj: ValidatingAdmissionPolicy, old: ValidatingAdmissionPolicy | None) -> Iterable[FieldError]:
        """Check the policy, or its status."""
        if old is not None and obj.spec == old.spec and obj.status != old.status:
            return status_errors(_json(obj.status))
        return validating_policy_errors(obj.metadata.name, _json(obj.spec), None if old is None else _json(old.spec))


class MutatingPolicyStrategy(PolicyStrategy):
    """The rules of writing a MutatingAdmissionPolicy."""

    def validate(self, obj: MutatingAdmissionPolicy, old: MutatingAdmissionPolicy | None) -> Iterable[FieldError]:
        """Check the policy."""
        return mutating_policy_errors(_json(obj.spec), None if old is None else _json(old.spec))


class ValidatingBindingStrategy(PolicyStrategy):
    """The rules of writing a ValidatingAdmissionPolicyBinding."""

    def validate(
        self, obj: ValidatingAdmissionPolicyBinding, old: ValidatingAdmissionPolicyBinding | None
    ) -> Iterable[FieldError]:
        """Check the binding."""
        del old
        return validating_binding_errors(_json(obj.spec))


class MutatingBindingStrategy(PolicyStrategy):
    """The rules of writing a MutatingAdmissionPolicyBinding."""

    def validate(
        self, obj: MutatingAdmissionPolicyBinding, old: MutatingAdmissionPolicyBinding | None
    ) -> Iterable[FieldError]:
        """Check the binding."""
        del old
        return mutating_binding_errors(_json(obj.spec))


def _json(part: Any) -> Obj:
    found: Obj = msgspec.to_builtins(part)
    return found


def _is_large(obj: Obj) -> bool:
    """Whether the expressions have more than :data:`MOST_INLINE` characters together."""
    spec = obj["spec"]
    items = [each for name in _LISTS for each in spec.get(name) or ()]
    items += [part for each in spec.get("mutations") or () for part in each.values() if isinstance(part, dict)]
    return sum(len(each.get(name) or "") for each in items for name in _EXPRESSIONS) > MOST_INLINE


_STORING: Final[dict[str, Any]] = {
    "generation": True,
    "unconditional_update": False,
    "subresource_metadata": False,
    "qualified_finalizers": False,
}
_SHARED: Final[dict[str, Any]] = {"scope": CLUSTER, "categories": ["api-extensions"]}


def _with_status(obj: Obj) -> None:
    """Go writes a status even if nothing is in it, and no null, which an applier leaves that gives members up."""
    obj["status"] = {name: value for name, value in (obj.get("status") or {}).items() if value is not None}


def _unchanged(_: Obj) -> None:
    pass


def _policy(type_: type[Object], strategy: Strategy, counted: str, **zero: Any) -> Any:
    behaviour = built_in(
        ADMISSION,
        complete=complete_policy,
        canonicalize=_with_status if zero else _unchanged,
        is_slow=_is_large,
        zero={"spec": {}, **zero},
        **_STORING,
    )
    return kind_of(
        type_,
        strategy=strategy,
        columns=policy_columns(counted),
        behaviour=behaviour,
        **_SHARED,
        **({} if zero else {"status": False}),
    )


def _binding(type_: type[Object], strategy: Strategy) -> Any:
    behaviour = built_in(ADMISSION, complete=complete_binding, zero={"spec": {}}, **_STORING)
    return kind_of(type_, strategy=strategy, columns=BINDING_COLUMNS, behaviour=behaviour, status=False, **_SHARED)


VALIDATING_ADMISSION_POLICY: Final = _policy(
    ValidatingAdmissionPolicy, ValidatingPolicyStrategy(), "validations", status={}
)
VALIDATING_ADMISSION_POLICY_BINDING: Final = _binding(ValidatingAdmissionPolicyBinding, ValidatingBindingStrategy())
MUTATING_ADMISSION_POLICY: Final = _policy(MutatingAdmissionPolicy, MutatingPolicyStrategy(), "mutations")
MUTATING_ADMISSION_POLICY_BINDING: Final = _binding(MutatingAdmissionPolicyBinding, MutatingBindingStrategy())
ALL: Final = (
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
