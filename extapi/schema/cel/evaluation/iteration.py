"""What a loop sees, turn by turn.

Source: ``cel-go/interpreter`` evalFold, ``k8s.io/apiserver/pkg/cel/common`` unstructuredMap.Iterator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.escaping import escape
from extapi.schema.cel.evaluation.reading import Typed, read_or_error
from extapi.schema.cel.syntax.nodes import Literal, Node
from extapi.schema.cel.values.showing import go_type


def turns(within: Any, *, two: bool) -> Iterable[tuple[Any, Any]]:
    """The variables of each turn of a loop.

    Raises:
        EvaluationError: There is nothing to loop over.
    """
    if type(within) is Typed:
        return __typed_turns(within, two=two)
    if isinstance(within, list):
        return enumerate(list(within)) if two else ((each, None) for each in list(within))
    if isinstance(within, dict):
        return list(within.items())
    if two:
        raise EvaluationError(f"unsupported comprehension range type: {go_type(within)}")
    raise EvaluationError(f"got '{go_type(within)}', expected iterable type")


def __typed_turns(within: Typed, *, two: bool) -> Iterable[tuple[Any, Any]]:
    declared, raw = within.declared, within.raw
    if isinstance(raw, list):
        values = [read_or_error(declared.element, each) for each in raw]
        return enumerate(values) if two else ((each, None) for each in values)
    if declared.element is not None:
        return [(key, read_or_error(declared.element, value)) for key, value in raw.items()]
    return [
        (escape(key) or key, read_or_error(declared.properties[key], value))
        for key, value in raw.items()
        if key in declared.properties
    ]


def initial(node: Node) -> Any:
    """What an accumulator begins with: true, false, a number, an empty list or map."""
    value = node.value if isinstance(node, Literal) else None
    return value.copy() if isinstance(value, list | dict) else value
