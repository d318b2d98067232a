"""What an operator sees: lines about steps, and a bar while objects are copied, if standard error is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Report = Callable[[int, int], None]
"""Called with how many are done, and how many there are."""


def say(text: str) -> None:
    """One line about a step; standard output stays free."""
    click.echo(text, err=True)


@contextmanager
def bar(title: str) -> Iterator[Report]:
    """A bar on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _, __: None
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals pay for it
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
