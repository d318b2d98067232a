"""What two-variable macros such as ``transformMap`` expand to.

Source: ``github.com/google/cel-go/ext`` comprehensions.go.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.showing import show


def insert(map_: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """A map with one entry more. It changes ``map_``, which nobody but the macro knows.

    Source: ``cel-go/common/types`` InsertMapKeyValue.

    Raises:
        EvaluationError: The key is there already.
    """
    if key in map_:
        raise EvaluationError(f"insert failed: key {show(key)} already exists")
    map_[key] = value
    return map_


def insert_all(map_: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    """A map with more entries. It changes ``map_``."""
    for key, value in entries.items():
        insert(map_, key, value)
    return map_


TWO_VARIABLE: Final[tuple[Overload, ...]] = (
    overload("@mapInsert_map_key_value", "cel.@mapInsert(map(K, V), K, V) -> map(K, V)", insert),
    overload("@mapInsert_map_map", "cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)", insert_all),
)
"""Two-variable comprehensions, which came with Kubernetes 1.32."""
