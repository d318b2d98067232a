"""Compiles and evaluates expressions of a policy, which share variables that are expressions themselves.

``variables.NAME`` is evaluated when it is first asked for, once per sequence of expressions, which pays for it.

Source: ``k8s.io/apiserver/pkg/admission/plugin/cel`` composition.go, condition.go, activation.go and compile.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from extapi.admission.expressions.authorizing import Checks
from extapi.admission.expressions.environment import Declarations, Input, environment, values
from extapi.admission.expressions.evaluating import Expired, ExpressionError

BUDGET: Final = 10_000_000
"""What the expressions of a policy may cost together for one binding and param (``RuntimeCELCostBudget``)."""
_NO_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class OutOfBudgetError(ExpressionError):
    """Expressions that cost too much together."""

    def __init__(self) -> None:
        super().__init__(_NO_BUDGET)


class Compiled(NamedTuple):
    """An expression, or why it is none."""

    text: str
    expression: Any
    """The :class:`extapi.schema.cel.expression.Expression`; None: it has mistakes."""
    error: str = ""
    """What is wrong, without "compilation error: "."""


class ExpressionResult(NamedTuple):
    """What came of one expression."""

    value: Any
    error: str = ""
    """Why there is no value; empty if there is one."""


_NOTHING: Final = ExpressionResult(None)
"""The result where there is no expression."""


def compiled(text: str, within: Any, returns: Sequence[Any]) -> Compiled:
    """Compile an expression.

    Args:
        text: The expression.
        within: Its environment, see :func:`extapi.admission.expressions.environment.environment`.
        returns: The types that its value may have (:class:`extapi.schema.cel.types.Type`); empty: any.
    """
    from extapi.schema.cel.compilation import compile_expression  # noqa: PLC0415 - most servers evaluate no CEL
    from extapi.schema.cel.errors import CompileError, InstantiationError  # noqa: PLC0415 - most servers evaluate no CEL
    from extapi.schema.cel.types import alike  # noqa: PLC0415 - most servers evaluate no CEL

    type_ = None
    unready = ""
    expression = None
    try:
        expression = compile_expression(text, within)
        type_ = expression.type
    except CompileError as error:
        return Compiled(text, None, f"compilation failed: {error}")
    except InstantiationError as error:
        unready, type_ = f"program instantiation failed: {error}", error.type
    if returns and not any(alike(type_, each) for each in returns):
        shown = [go_text(each) for each in returns]
        wanted = shown[0] if len(shown) == 1 else f"one of [{' '.join(shown)}]"
        return Compiled(text, None, f"must evaluate to {wanted} but got {go_text(type_)}")
    return Compiled(text, expression, unready)


class Composition:
    """The expressions of one policy. Nothing is compiled before it is asked for.

    Args:
        variables: Each with a name and an expression, in their order: one can use those before it.
        params: Whether expressions may use ``params``.
        base: See :func:`extapi.admission.expressions.environment.environment`; called when it is first needed.
    """

    def __init__(self, variables: Sequence[Mapping[str, Any]] = (), *, params: bool = False, base: Any = None) -> None:
        self._params = params
        self._base = base
        self._texts = [(str(each.get("name") or ""), str(each.get("expression") or "")) for each in variables]
        self._made: tuple[Mapping[str, Compiled], Mapping[str, Any]] | None = None
        """The variables and their types."""
        self._environments: dict[tuple[bool, bool], Any] = {}

    @property
    def variables(self) -> Mapping[str, Compiled]:
        """The compiled variables by name."""
        return self._compiled()[0]

    def compile(self, text: str, returns: Sequence[Any], *, authorizer: bool = True, patches: bool = False) -> Compiled:
        """Compile an expression.

        Args:
            text: The expression.
            returns: See :func:`compiled`.
            authorizer: Whether it may use ``authorizer``.
            patches: Whether it may make objects and operations of a JSON patch.
        """
        key = (authorizer, patches)
        within = self._environments.get(key)
        if within is None:
            within = self._environment(self._compiled()[1], authorizer=authorizer)
            within = self._environments[key] = within.with_patches() if patches else within
        return compiled(text, within, returns)

    def _environment(self, types: Mapping[str, Any], *, authorizer: bool) -> Any:
        declarations = Declarations(params=self._params, authorizer=authorizer, variables=True)
        return environment(declarations, types, None if self._base is None else self._base())

    def _compiled(self) -> tuple[Mapping[str, Compiled], Mapping[str, Any]]:
        if self._made is None:  # two threads may both do it, and find the same
            from extapi.schema.cel.types import DYN  # noqa: PLC0415 - most servers evaluate no CEL

            variables: dict[str, Compiled] = {}
            types: dict[str, Any] = {}
            for name, text in self._texts:
                found = variables[name] = compiled(text, self._environment(types, authorizer=True), ())
                types[name] = DYN if found.expression is None else field_type(found.expression.type)
            self._made = variables, types
        return self._made


def field_type(type_: Any) -> Any:
    """The type of a field of ``variables`` whose expression has a type: of what is no scalar, list or map it is dyn.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/cel`` convertCelTypeToDeclType.
    """
    from extapi.schema.cel.types import DYN, Type  # noqa: PLC0415 - most servers evaluate no CEL

    if type_.kind in {"list", "map"}:
        return Type(type_.kind, type_.name, tuple(map(field_type, type_.parameters)))
    scalars = {"bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"}
    return type_ if type_.kind in scalars and type_.name != "wrapper" else DYN


class Variables(dict[str, Any]):
    """The value of ``variables``: each is evaluated when it is first asked for.

    Args:
        composition: The expressions.
        activation: The values of all other variables by name.
        expired: Says that time is up.
    """

    __slots__ = ("_activation", "_compiled", "_errors", "_expired", "cost")

    def __init__(self, composition: Composition, activation: Mapping[str, Any], expired: Expired) -> None:
        super().__init__()
        self._compiled = composition.variables
        self._activation = activation
        self._expired = expired
        self._errors: dict[str, str] = {}
        self.cost = 0
        """What those that have been evaluated have cost."""

    def __missing__(self, name: str) -> Any:
        """Evaluate.

        Raises:
            EvaluationError: It has no value.
        """
        from extapi.schema.cel.errors import EvaluationError  # noqa: PLC0415 - most servers evaluate no CEL

        if name not in self._errors:
            of = self._compiled[name]
            if of.expression is None:
                self._errors[name] = f'composited variable "{name}" fails to compile: {of.error}'
            else:
                found = of.expression.evaluate(row(of.expression, self._activation), expired=self._expired)
                self.cost += found.cost
                if found.error is None:
                    self[name] = found.value
                    return found.value
                self._errors[name] = f'composited variable "{name}" fails to evaluate: {found.error}'
        raise EvaluationError(self._errors[name])

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a variable; ``default`` if there is no such variable."""
        return self[name] if name in self._compiled else default

    def __contains__(self, name: object) -> bool:
        """Whether there is such a variable. It has to have a value to be there."""
        if name not in self._compiled:
            return False
        self[str(name)]  # its error is that of the question
        return True


def row(expression: Any, activation: Mapping[str, Any]) -> list[Any]:
    """The values of an expression's variables, in their order."""
    return [activation[each.name] for each in expression.environment.variables]


class Activation:
    """The values for one sequence of expressions, as kube-apiserver's ``ForInput`` has them.

    Args:
        given: What the expressions look at.
        checks: Answers the checks of ``authorizer``; None: there is none.
        expired: Says that time is up.
        composition: The variables; None: there are none.
        budget: What all may cost together.
    """

    def __init__(
        self, given: Input, checks: Checks | None, expired: Expired, composition: Composition | None, budget: int
    ) -> None:
        self.values = values(given, checks)
        self._expired = expired
        self._variables: Variables | None = None
        if composition is not None:
            self._variables = self.values["variables"] = Variables(composition, self.values, expired)
        self.remaining = budget
        """What is left of the budget."""

    def evaluate(self, each: Compiled | None) -> ExpressionResult:
        """The value of the next expression, or its error.

        Args:
            each: The expression; None where there is none.

        Raises:
            OutOfBudgetError: All together have cost too much.
        """
        if each is None:
            return _NOTHING
        if each.expression is None:
            return ExpressionResult(None, f"compilation error: {each.error}")
        found = each.expression.evaluate(row(each.expression, self.values), expired=self._expired)
        cost = found.cost
        if self._variables is not None:
            cost += self._variables.cost
            self._variables.cost = 0
        if cost > self.remaining:
            raise OutOfBudgetError
        self.remaining -= cost
        if found.error is not None:
            return ExpressionResult(None, f"expression '{each.text}' resulted in error: {found.error}")
        return ExpressionResult(found.value)

    def evaluate_all(self, expressions: Sequence[Compiled | None]) -> list[ExpressionResult]:
        """The results of several.

        Raises:
            OutOfBudgetError: All together have cost too much.
        """
        return [self.evaluate(each) for each in expressions]


def go_text(type_: Any) -> str:
    """A type as Go prints it: by its name at run time.

    Source: ``cel-go/common/types`` Type.String.
    """
    kind, name, parameters = type_
    shown = f"wrapper({kind})" if name == "wrapper" else name
    return f"{shown}({', '.join(map(go_text, parameters))})" if parameters else shown
