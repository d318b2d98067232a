"""The hooks of a strategy, as they are without an author's rules."""

from __future__ import annotations

from extapi.api.strategy import Strategy
from extapi.api.types import Object


class Hub(Object):
    size: int = 0


def test_a_strategy_by_default_has_no_opinion() -> None:
    strategy = Strategy()
    obj = Hub(size=3)
    strategy.prepare(obj, None)
    assert obj == Hub(size=3)
    assert list(strategy.validate(obj, None)) == []
    assert list(strategy.warn(obj, None)) == []


def test_a_strategy_by_default_blocks_no_deletion() -> None:
    strategy = Strategy()
    obj = Hub(size=3)
    strategy.prepare_for_deletion(obj)
    assert obj == Hub(size=3)
    assert not strategy.blocks_deletion(obj)
