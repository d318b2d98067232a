"""What a long form prints at its end."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def table(title: str, rows: Sequence[tuple[str, object]]) -> None:
    """Two columns."""
    say(f"\n| {title} | |\n|---|---|")
    for name, value in rows:
        say(f"| {name} | {f'{value:,}' if isinstance(value, int) else value} |")


def exit_status(violations: Sequence[str]) -> int:
    """Print the first violations; 1 if there is one."""
    for text in violations[:20]:
        say(f"violation: {text}")
    return 1 if violations else 0
