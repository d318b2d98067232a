"""Type checking: whether the expressions of a policy fit the schemas of the kinds that it is about.

Warnings only: a policy works as it is written, whatever they say. Texts are kube-apiserver's, but for the names of the types
of objects: there they end with the nanoseconds at which they are made.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final, NamedTuple

from extapi.admission.expressions.composition import field_type
from extapi.admission.expressions.environment import Declarations, environment
from extapi.admission.policies.servedtypes import ServedTypes, VersionedKind
from extapi.api.types import Obj

MOST_TYPES: Final = 10
"""Kinds that the expressions of a policy are checked against, for one rule."""
MOST_NAMES: Final = 1000
"""Combinations of group, version and resource that are looked up for one policy."""
_UNTYPED: Final = "authorizer.requestResource"
"""A variable that type checking does not know, as in kube-apiserver."""


class TypedKind(NamedTuple):
    """A kind and its schema."""

    kind: VersionedKind
    schema: Mapping[str, Any]


class PolicyTypes(NamedTuple):
    """What a policy is about."""

    objects: Sequence[TypedKind]
    params: Mapping[str, Any] | None
    """The schema of the parameters; None: it is not known."""
    has_params: bool


async def types_of(policy: Obj, served: ServedTypes) -> PolicyTypes:
    """The kinds that a policy is about, as far as their schemas are known."""
    spec = policy["spec"]
    found = [TypedKind(kind, schema) for kind in await _kinds(spec, served) if (schema := await served.schema(kind))]
    param_kind = spec.get("paramKind")
    if param_kind is None:
        return PolicyTypes(found, None, has_params=False)
    group, _, version = str(param_kind.get("apiVersion", "")).rpartition("/")
    params = VersionedKind(group, version, str(param_kind.get("kind", "")))
    return PolicyTypes(found, await served.schema(params), has_params=True)


async def _kinds(spec: Mapping[str, Any], served: ServedTypes) -> list[VersionedKind]:
    """All that rules name without a wildcard; those of the first rule that has enough of them, and of the rules before."""
    kinds: set[VersionedKind] = set()
    left = MOST_NAMES
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        count = 0
        for group, version, resource in islice(_named(rule), left):
            left -= 1
            for kind in await served.kinds(group, version, resource):
                kinds.add(kind)
                count += 1
                if count == MOST_TYPES:
                    return sorted(kinds)
    return sorted(kinds)


def _named(rule: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The resources that a rule names, sorted; none if its groups or versions have wildcards."""
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if any("*" in each for each in (*groups, *versions)):
        return iter(())
    resources = [each for each in rule.get("resources") or () if not {"*", "/"} & set(each)]
    return product(sorted(groups), sorted(versions), sorted(resources))


def warnings_of(policy: Obj, types: PolicyTypes, expired: Callable[[], bool]) -> list[dict[str, str]]:
    """The warnings about a policy, as its status has them.

    Args:
        policy: The policy.
        types: What it is about.
        expired: Whether to stop: what has not been checked has no warnings.
    """
    spec = policy["spec"]
    environments: list[tuple[VersionedKind, Any]] = []
    for each in types.objects:
        if expired():
            return []
        environments.append((each.kind, _environment(each, types, spec.get("variables") or ())))
    found = []
    for path, text in _expressions(spec):
        if expired():
            break
        told = [f"{kind}: {error}\n" for kind, within in environments if (error := _error(text, within))]
        if told:
            found.append({"fieldRef": path, "warning": "\n".join(told)})
    return found


def _expressions(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The expressions that are checked, with their paths."""
    for index, each in enumerate(spec.get("validations") or ()):
        path = f"spec.validations[{index}]"
        yield f"{path}.expression", each.get("expression") or ""
        if each.get("messageExpression"):
            yield f"{path}.messageExpression", each["messageExpression"]


def _environment(checked: TypedKind, types: PolicyTypes, variables: Sequence[Mapping[str, Any]]) -> Any:
    """What an expression may use if the object is of a kind."""
    from extapi.schema.cel.environment import Variable  # noqa: PLC0415 - CEL is for policies
    from extapi.schema.cel.types import DYN  # noqa: PLC0415 - CEL is for policies

    obj = _declared(checked.schema, f"{checked.kind.kind}1")
    # Another name than the object's: if both are of one kind, their types differ all the same.
    params = _declared(types.params, f"{checked.kind.kind}2") if types.params is not None else None
    typed = {"object": obj, "oldObject": obj, "params": params}
    known: dict[str, Any] = {}

    def made() -> Any:
        whole = environment(Declarations(params=types.has_params, authorizer=True, variables=True), known)
        declared = (
            Variable(each.name, of.type, of) if (of := typed.get(each.name)) is not None else each
            for each in whole.variables
            if each.name != _UNTYPED
        )
        return whole.with_variables(declared, whole.objects)

    for each in variables:
        name, text = str(each.get("name") or ""), str(each.get("expression") or "")
        type_ = _type(text, made())
        known[name] = DYN if type_ is None else field_type(type_)
    return made()


def _declared(schema: Mapping[str, Any], name: str) -> Any:
    """The type of a whole object with that schema; None if it has none."""
    from extapi.schema.cel.declared import declare  # noqa: PLC0415 - CEL is for policies
    from extapi.schema.structural import from_openapi  # noqa: PLC0415 - CEL is for policies

    try:
        return declare(from_openapi(_readable(schema)), root=True, name=name)
    except ValueError:  # a server of others says what no schema says, or nests it too deep
        return None


def _readable(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with int-or-string as definitions have it; documents of built-in kinds say it by the format."""
    made = {key: each for key, each in schema.items() if key not in {"allOf", "anyOf", "oneOf", "not", "default"}}
    if made.get("format") == "int-or-string":
        made["x-kubernetes-int-or-string"] = True
    if isinstance(made.get("properties"), dict):
        made["properties"] = {key: _readable(each) for key, each in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _readable(made[key])
    return made


def _error(text: str, within: Any) -> str:
    """What is wrong with an expression; empty: nothing."""
    from extapi.schema.cel.errors import CompileError  # noqa: PLC0415 - CEL is for policies

    try:
        _checked(text, within)
    except CompileError as error:
        return str(error)
    return ""


def _type(text: str, within: Any) -> Any:
    """The type of an expression; None: it has mistakes."""
    from extapi.schema.cel.errors import CompileError  # noqa: PLC0415 - CEL is for policies

    try:
        return _checked(text, within)
    except CompileError:
        return None


def _checked(text: str, within: Any) -> Any:
    from extapi.schema.cel.errors import Issue  # noqa: PLC0415 - CEL is for policies
    from extapi.schema.cel.syntax.source import failure  # noqa: PLC0415 - CEL is for policies
    from extapi.schema.cel.tree import checked  # noqa: PLC0415 - CEL is for policies

    try:
        return checked(text, within)[0].type
    except RecursionError as error:
        raise failure(text, [Issue(-1, "max recursion depth exceeded")]) from error
