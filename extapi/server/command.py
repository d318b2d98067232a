"""``extapi serve``: serves an API as the flags say, until SIGTERM."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import click

from extapi.api.definition import Api
from extapi.loading.module import LoadingError, load_api
from extapi.server.flag import Flag, OptionErrors
from extapi.server.options import FLAGS, ServerOptions, parse_options

T = TypeVar("T")
_BOOLEAN = frozenset(f"--{flag.name}" for flag in FLAGS if flag.boolean)


def with_flags(flags: Sequence[Flag], command: Any) -> Any:
    """Add flags to ``command`` as options."""
    for flag in reversed(flags):
        if flag.boolean:
            option = click.option(
                f"--{flag.name}",
                flag.key,
                type=click.BOOL,
                default=flag.default == "true" if flag.default else None,
                metavar="[=BOOLEAN]",
                help=flag.help,
            )
        else:
            option = click.option(
                f"--{flag.name}",
                flag.key,
                multiple=flag.multiple,
                default=[flag.default] if flag.multiple else flag.default,
                show_default=bool(flag.default),
                metavar="TEXT",
                help=flag.help,
            )
        command = option(command)
    return command


def load_and_parse(load: Callable[[], Api], parse: Callable[[], T]) -> tuple[Api, T]:
    """An API and a command's options. If either cannot be had, the problems of both are printed, and the process ends."""
    problems: list[str] = []
    api, options = None, None
    try:
        api = load()
    except LoadingError as error:
        problems += error.problems
    try:
        options = parse()
    except OptionErrors as error:
        problems += error.problems
    if api is None or options is None:
        for problem in problems:
            click.echo(f"Error: {problem}", err=True)
        sys.exit(1)
    return api, options


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
    api, options = load_and_parse(lambda: load_api(target) if target else Api(), lambda: parse_options(named))
    sys.exit(_run(api, options, target))


def _run(api: Api, options: ServerOptions, target: str) -> int:
    """Run the process. Imports are in here so that ``--help`` and mistakes take no time."""
    from extapi.client.credentials import CredentialsError, NotInCluster  # noqa: PLC0415
    from extapi.listener.state import OnFinished  # noqa: PLC0415
    from extapi.server.definitionfiles import DefinitionsError  # noqa: PLC0415
    from extapi.server.process import ServerProcess  # noqa: PLC0415
    from extapi.server.reactor import run_process  # noqa: PLC0415
    from extapi.server.structuredlog import structlog  # noqa: PLC0415

    describe = None
    if options.development:
        from extapi.loading.authorscode import AuthorsCode, skip_breakpoints  # noqa: PLC0415

        describe = AuthorsCode.of(target).describe
        skip_breakpoints()

    def process(reactor: Any, access_log: OnFinished) -> ServerProcess:
        for notice in options.notices():
            structlog.get_logger("extapi.server").warning(notice)
        try:
            return ServerProcess(api, options, reactor, access_log, describe=describe, target=target)
        except NotInCluster as error:
            raise CredentialsError(
                f"{error}: give --kubeconfig, or run in a pod. To try the API without a cluster: extapi dev {target}"
            ) from error

    return run_process(process, (CredentialsError, DefinitionsError))
