"""``extapi serve``: serves an API as the flags say, until SIGTERM, from one process or several."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from extapi.api.definition import Api
from extapi.loading.module import load_api
from extapi.server.command import load_and_parse, run, with_flags
from extapi.server.flag import OptionErrors
from extapi.server.options import FLAGS, ServerOptions, parse_options

_BOOLEAN = frozenset(f"--{flag.name}" for flag in FLAGS if flag.boolean)


class _Serve(click.Command):
    """Accepts boolean flags as Go does: ``--flag`` or ``--flag=false``. The next word is never their value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give ``--flag`` the value that click requires."""
        return super().parse_args(ctx, [f"{each}=true" if each in _BOOLEAN else each for each in args])


@click.command(cls=_Serve)
@click.argument("target", metavar="[MODULE:NAME]", default="")
@partial(with_flags, FLAGS)
def serve(target: str, **raw: Any) -> None:
    """Serve the Api named NAME in MODULE, such as extapi.pizza:api, and the kinds of --crd."""
    if not target and not any(raw["crd"]):
        raise click.UsageError("name what to serve: MODULE:NAME, or --crd with a file or folder of definitions")
    named = {flag.name: raw[flag.key] for flag in FLAGS}
    several = _several(named)
    if several is not None:
        from extapi.workers.serving import supervise  # noqa: PLC0415 - one process needs nothing of it

        sys.exit(supervise(target, several))
    api, options = load_and_parse(lambda: load_api(target) if target else Api(), lambda: parse_options(named))
    sys.exit(run(api, options, target))


def _several(raw: dict[str, Any]) -> ServerOptions | None:
    """The options, if they are right and ask for several processes."""
    if raw["workers"] == "1":
        return None
    try:
        options = parse_options(raw)
    except OptionErrors:
        return None  # said later, together with what is wrong with the API
    return options if options.workers > 1 else None
