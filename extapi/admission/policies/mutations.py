"""What evaluates the expressions of a MutatingAdmissionPolicy: its variables, match conditions and mutations.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/mutating/compilation.go``, ``.../mutating/patch``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from extapi.admission.expressions.authorizing import Checks
from extapi.admission.expressions.composition import BUDGET, Activation, Compiled, Composition
from extapi.admission.expressions.conditions import MatchConditions
from extapi.admission.expressions.environment import Input
from extapi.admission.expressions.evaluating import Expired, ExpressionError
from extapi.api.types import Obj
from extapi.errors import InternalError
from extapi.managedfields.atom import Atom

JSON_PATCH: Final = "JSONPatch"
_MEMBERS: Final = {JSON_PATCH: "jsonPatch", "ApplyConfiguration": "applyConfiguration"}


class Patch(NamedTuple):
    """What an expression says is to be changed."""

    operations: Sequence[dict[str, Any]] | None = None
    """Of a JSON patch; None if it says it by an object."""
    configuration: Obj | None = None


class Mutations:
    """The expressions of one policy. They are compiled when they are first needed.

    Args:
        name: The name of the policy.
        spec: Its ``spec``.
        base: See :class:`extapi.admission.expressions.composition.Composition`.
    """

    __slots__ = ("_compiled", "_composition", "_texts", "conditions", "name", "reinvoked")

    def __init__(self, name: str, spec: Mapping[str, Any], base: Any = None) -> None:
        self.name = name
        self._composition = Composition(
            spec.get("variables") or (), params=spec.get("paramKind") is not None, base=base
        )
        self.conditions = MatchConditions(
            spec.get("matchConditions") or (),
            fails=spec.get("failurePolicy") != "Ignore",
            composition=self._composition,
        )
        self.reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"
        """Whether the policy is asked once more if others have changed the object after it."""
        self._texts = [_read(each) for each in spec.get("mutations") or ()]
        self._compiled: dict[int, Compiled] = {}

    def __len__(self) -> int:
        """How many mutations there are.

        Raises:
            InternalError: One is of a kind that is not known.
        """
        known = sum(bool(kind) for kind, _ in self._texts)
        if known != len(self._texts):
            raise InternalError.because(
                f"expected {len(self._texts)} compiled evaluators for policy {self.name}, got {known}"
            )
        return known

    def evaluate(self, index: int, given: Input, checks: Checks, expired: Expired) -> Patch:
        """What one mutation says. Called by an :class:`extapi.admission.expressions.evaluating.Evaluator`.

        Args:
            index: Which.
            given: What its expression looks at.
            checks: Answers the checks of ``authorizer``.
            expired: Says that time is up.

        Raises:
            ExpressionError: It has no value, or one that is no patch.
        """
        from extapi.admission.mutations.applying import configuration  # noqa: PLC0415 - CEL is for those with policies
        from extapi.admission.mutations.patching import operations  # noqa: PLC0415 - CEL is for those with policies

        compiled = self._compiled.get(index)
        if compiled is None:
            compiled = self._compiled[index] = self._compile(*self._texts[index])
        if compiled.expression is None:
            raise ExpressionError(compiled.error)
        found = Activation(given, checks, expired, self._composition, BUDGET).evaluate(compiled)
        if found.error:
            raise ExpressionError(found.error)
        if self._texts[index][0] == JSON_PATCH:
            return Patch(operations=operations(found.value, expired))
        return Patch(configuration=configuration(found.value, expired))

    def _compile(self, kind: str, text: str) -> Compiled:
        from extapi.schema.cel.patchtypes import OBJECT  # noqa: PLC0415 - CEL is for those with policies
        from extapi.schema.cel.types import list_of, struct  # noqa: PLC0415 - CEL is for those with policies

        wanted = list_of(struct(JSON_PATCH)) if kind == JSON_PATCH else OBJECT
        return self._composition.compile(text, (wanted,), patches=True)


def _read(mutation: Mapping[str, Any]) -> tuple[str, str]:
    """The kind of a mutation and its expression; no kind if it is none that is known."""
    kind = str(mutation.get("patchType") or "")
    found = mutation.get(_MEMBERS.get(kind, ""))
    return ("", "") if found is None else (kind, str(found.get("expression") or ""))


def changed(obj: Obj, patch: Patch, atom: Atom | None) -> Obj:
    """A copy of an object with a patch applied; the object itself if the patch tests it in vain.

    Args:
        obj: The object.
        patch: The patch. It must not be used afterwards.
        atom: The object's type; None: it is not known.

    Raises:
        ExpressionError: The patch does not apply.
        InternalError: What it leaves is no object.
    """
    from extapi.admission.mutations.applying import applied  # noqa: PLC0415 - CEL is for those with policies
    from extapi.admission.mutations.patching import patched  # noqa: PLC0415 - CEL is for those with policies
    from extapi.managedfields.atom import DEDUCED  # noqa: PLC0415 - CEL is for those with policies

    if patch.operations is not None:
        return patched(obj, patch.operations)
    return applied(obj, patch.configuration or {}, DEDUCED if atom is None else atom)
