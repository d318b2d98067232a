"""The authorizer's functions. From Kubernetes 1.27 on; those of selectors, ``fieldSelector`` and ``labelSelector``, from 1.31 on.

Values say, step by step, what is to be checked, and ``check`` asks whoever has bound the variable ``authorizer``. No
value is equal to another, or to itself: Go fails to compare them.

Source: ``k8s.io/apiserver/pkg/cel/library`` authz.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Protocol

from extapi.api.names import dns1123_label, dns1123_subdomain
from extapi.schema.cel.declarations import Call, Operand, Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.intervals import Interval, fixed
from extapi.schema.cel.library.charges import LIST, STRUCT
from extapi.schema.cel.types import AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK, Type
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD
from extapi.schema.cel.values.sizes import size_of

CHECK: Final = 350_000
"""What a check costs: two of them fit into the limit of an expression."""
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


class _Value:
    """A value that has functions only."""

    __slots__ = ()
    cel_type: ClassVar[Type]

    def __eq__(self, other: object) -> bool:
        raise EvaluationError(NO_SUCH_OVERLOAD)

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class DecisionValue(_Value):
    """What came of a check. ``error`` is None if there was none."""

    cel_type: ClassVar[Type] = DECISION
    allowed: bool
    reason: str = ""
    error: str | None = None


class Checker(Protocol):
    """Who decides. It may be asked several times per evaluation."""

    def service_account(self, namespace: str, name: str) -> Checker:
        """Who decides for that service account."""

    def check_path(self, path: str, verb: str) -> DecisionValue:
        """Whether a request of a path that is no resource is allowed."""

    def check_resource(self, check: ResourceCheck, verb: str) -> DecisionValue:
        """Whether a request of a resource, in any version, is allowed. Selectors are as they were written."""


@dataclass(frozen=True, slots=True, eq=False)
class AuthorizerValue(_Value):
    """The variable ``authorizer``, or what is asked for a service account."""

    cel_type: ClassVar[Type] = AUTHORIZER
    checker: Checker


@dataclass(frozen=True, slots=True, eq=False)
class PathCheck(_Value):
    """A path."""

    cel_type: ClassVar[Type] = PATH_CHECK
    checker: Checker
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class GroupCheck(_Value):
    """A group."""

    cel_type: ClassVar[Type] = GROUP_CHECK
    checker: Checker
    group: str


@dataclass(frozen=True, slots=True, eq=False)
class ResourceCheck(_Value):
    """A resource. The variable ``authorizer.requestResource`` is one, too."""

    cel_type: ClassVar[Type] = RESOURCE_CHECK
    checker: Checker
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


def _path(authorizer: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip(_SPACE):
        raise EvaluationError("path must not be empty")
    return PathCheck(authorizer.checker, path)


def _group(authorizer: AuthorizerValue, group: str) -> GroupCheck:
    return GroupCheck(authorizer.checker, group)


def _service_account(authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if dns1123_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if dns1123_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AuthorizerValue(authorizer.checker.service_account(namespace, name))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip(_SPACE):
        raise EvaluationError("resource must not be empty")
    return ResourceCheck(check.checker, check.group, resource)


def _subresource(check: ResourceCheck, subresource: str) -> ResourceCheck:
    return replace(check, subresource=subresource)


def _namespace(check: ResourceCheck, namespace: str) -> ResourceCheck:
    return replace(check, namespace=namespace)


def _name(check: ResourceCheck, name: str) -> ResourceCheck:
    return replace(check, name=name)


def _field_selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    return replace(check, field_selector=selector)


def _label_selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    return replace(check, label_selector=selector)


def _check_path(check: PathCheck, verb: str) -> DecisionValue:
    return check.checker.check_path(check.path, verb)


def _check_resource(check: ResourceCheck, verb: str) -> DecisionValue:
    return check.checker.check_resource(check, verb)


def _selector(size: Interval) -> Interval:
    """A selector is read, and makes a list with an object and a list per requirement, of at least two characters.

    Source: ``k8s.io/apiserver/pkg/cel/library`` selectorCostEstimate.
    """
    return fixed(LIST).plus(size.scaled(0.1)).plus(size.scaled(0.5).scaled(float(LIST + STRUCT)))


def _selector_cost(arguments: Sequence[Any], _result: Any) -> int:
    return _selector(fixed(size_of(arguments[1]))).max


def _selector_estimate(_receiver: Operand | None, arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    return _selector(arguments[0].size()), None


def _check_estimate(_receiver: Operand | None, _arguments: Sequence[Operand]) -> tuple[Interval, Interval | None]:
    return fixed(CHECK), None


def _checking(identifier: str, signature: str, call: Call) -> Overload:
    return overload(identifier, signature, call, cost=CHECK, estimate=_check_estimate)


def _selecting(identifier: str, name: str, call: Call) -> Overload:
    return overload(
        identifier,
        f".{name}(resource_check, string) -> resource_check",
        call,
        cost=_selector_cost,
        estimate=_selector_estimate,
    )


AUTHORIZATION: Final[tuple[Overload, ...]] = (
    overload("authorizer_path", ".path(authorizer, string) -> path_check", _path),
    overload("authorizer_group", ".group(authorizer, string) -> group_check", _group),
    overload(
        "authorizer_serviceaccount", ".serviceAccount(authorizer, string, string) -> authorizer", _service_account
    ),
    overload("groupcheck_resource", ".resource(group_check, string) -> resource_check", _resource),
    overload("resourcecheck_subresource", ".subresource(resource_check, string) -> resource_check", _subresource),
    overload("resourcecheck_namespace", ".namespace(resource_check, string) -> resource_check", _namespace),
    overload("resourcecheck_name", ".name(resource_check, string) -> resource_check", _name),
    _checking("pathcheck_check", ".check(path_check, string) -> decision", _check_path),
    _checking("resourcecheck_check", ".check(resource_check, string) -> decision", _check_resource),
    overload("decision_errored", ".errored(decision) -> bool", lambda decision: decision.error is not None),
    overload("decision_error", ".error(decision) -> string", lambda decision: decision.error or ""),
    overload("decision_allowed", ".allowed(decision) -> bool", lambda decision: decision.allowed),
    overload("decision_reason", ".reason(decision) -> string", lambda decision: decision.reason),
)
AUTHORIZATION_SELECTORS: Final[tuple[Overload, ...]] = (
    _selecting("authorizer_fieldselector", "fieldSelector", _field_selector),
    _selecting("authorizer_labelselector", "labelSelector", _label_selector),
)
