"""``extapi manifests``: the command line."""

from __future__ import annotations

import click


@click.command()
def manifests() -> None:
    """Not there yet."""
    raise click.ClickException("not there yet")
