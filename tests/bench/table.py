"""Tables of figures beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def table(what: str, titles: Sequence[str], columns: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """The lines of a table with one column for each of ``columns``; behind each figure its ratio to the first column's."""
    yield f"| {what} | {' | '.join(titles)} |"
    yield "|---" * (1 + len(titles)) + "|"
    for name, first in columns[0].items():
        others = (f"{column[name]:,.1f} ({column[name] / first:.2f})" for column in columns[1:])
        yield f"| {name} | {' | '.join((f'{first:,.1f}', *others))} |"
