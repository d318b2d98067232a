"""What the suite does not demand yet, since the product does not have it yet. A line here goes when it becomes True."""

from __future__ import annotations

READYZ_FOLLOWS_WRITES = False
"""``/readyz`` fails within seconds of the first write that fails, and heals without anybody writing."""
BODIES_BEFORE_ROOM = False
"""A request whose body has not come takes no place of those in work."""
WATCHES_END_WITH_TRUST = False
"""An open watch ends when whoever opened it would not be let in any more."""
