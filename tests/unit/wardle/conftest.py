from __future__ import annotations

from tests.unit.wardle.nursery import nursery

__all__ = ["nursery"]
