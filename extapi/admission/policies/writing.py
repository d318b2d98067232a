"""Compiles the expressions of a policy that is written, and says what is wrong with them in kube-apiserver's words.

Expressions of the stored policy may use all that this server knows; new ones only what the version before it knew, too.

Source: ``kubernetes/pkg/apis/admissionregistration/validation`` validation.go, ``k8s.io/apiserver/pkg/admission/plugin/cel``
compile.go and composition.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from extapi.admission.expressions.composition import compiled, field_type
from extapi.admission.expressions.environment import Declarations, environment
from extapi.errors import FieldError
from extapi.fielderrors import FieldErrorType

INTERNAL: Final = "program instantiation failed: "
"""How an error begins that kube-apiserver takes for its own."""


class Role(NamedTuple):
    """What an expression is for."""

    returns: tuple[str, ...]
    """The names of the types that it may have; empty: any."""
    authorizer: bool = True
    """Whether it may use ``authorizer``."""
    variables: bool = True
    """Whether it may use the policy's variables."""
    patch_types: bool = False
    """Whether it may use the types of mutations."""


CONDITION: Final = Role(("bool",), variables=False)
VARIABLE: Final = Role(())
VALIDATION: Final = Role(("bool",))
MESSAGE: Final = Role(("string",), authorizer=False)
ANNOTATION: Final = Role(("string", "null"))
APPLY_CONFIGURATION: Final = Role(("Object",), patch_types=True)
JSON_PATCH: Final = Role(("JSONPatch",), patch_types=True)


class Compiler:
    """Compiles the expressions of one policy.

    Args:
        params: Whether the policy has parameters.
        composed: Whether expressions may use ``variables``.
    """

    def __init__(self, *, params: bool, composed: bool) -> None:
        self._params = params
        self._composed = composed
        self._types: dict[str, Any] = {}
        self._environments: dict[tuple[bool, bool, bool, bool], Any] = {}

    def add_variable(self, name: str, text: str, *, stored: bool) -> FieldError | None:
        """Compile a variable, which later expressions may use; see :meth:`compile`."""
        found = compiled(text, self._environment(VARIABLE, stored=stored), ())
        self._types[name] = _type_named("dyn") if found.error else field_type(found.expression.type)
        self._environments.clear()
        return _field_error(text, found.error)

    def compile(self, text: str, role: Role, *, stored: bool) -> FieldError | None:
        """What is wrong with an expression.

        Args:
            text: The expression.
            role: What it is for.
            stored: Whether the stored policy has it already.

        Returns:
            An error without a path; None: nothing.
        """
        returns = [_type_named(each) for each in role.returns]
        return _field_error(text, compiled(text, self._environment(role, stored=stored), returns).error)

    def _environment(self, role: Role, *, stored: bool) -> Any:
        variables = role.variables and self._composed
        key = (stored, role.authorizer, variables, role.patch_types)
        if key not in self._environments:
            declarations = Declarations(params=self._params, authorizer=role.authorizer, variables=variables)
            base = _base(stored=stored, patch_types=role.patch_types)
            self._environments[key] = environment(declarations, self._types, base)
        return self._environments[key]


def _field_error(text: str, error: str) -> FieldError | None:
    if not error:
        return None
    if error.startswith(INTERNAL):
        return FieldError(FieldErrorType.INTERNAL, "", detail=error)
    return FieldError.invalid("", text, error)


@cache
def _base(*, stored: bool, patch_types: bool) -> Any:
    """The language, without variables."""
    from extapi.schema.cel.environment import COMPATIBLE, STORED, base_environment  # noqa: PLC0415 - CEL is for policies

    found = base_environment(STORED if stored else COMPATIBLE)
    return found.with_patches() if patch_types else found


@cache
def _type_named(name: str) -> Any:
    """A type by its name in :class:`Role`."""
    from extapi.schema.cel.types import BOOL, DYN, NULL, STRING, list_of, struct  # noqa: PLC0415 - CEL is for policies

    known: Mapping[str, Any] = {
        "bool": BOOL,
        "dyn": DYN,
        "null": NULL,
        "string": STRING,
        "Object": struct("Object"),
        "JSONPatch": list_of(struct("JSONPatch")),
    }
    return known[name]
