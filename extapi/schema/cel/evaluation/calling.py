"""Calls of functions whose overload is found by the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extapi.schema.cel.declarations import Overload
from extapi.schema.cel.values.dispatch import dispatch


def call_dispatched(overloads: Sequence[Overload], values: Sequence[Any]) -> Any:
    """Call the overload that fits the values.

    Raises:
        EvaluationError: None fits, or the call fails.
    """
    return dispatch(overloads, values).call(*values)
