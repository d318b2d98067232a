"""What commands that serve share: flags as options, what is wrong with them, and the process of ``extapi serve``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from extapi.api.definition import Api
from extapi.loading.module import LoadingError
from extapi.server.flag import Flag, OptionErrors
from extapi.server.options import ServerOptions

if TYPE_CHECKING:
    from extapi.server.reactor import Stoppable

T = TypeVar("T")


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


def run(
    api: Api,
    options: ServerOptions,
    target: str,
    *,
    fields: Mapping[str, Any] = MappingProxyType({}),
    make: Callable[..., Stoppable] | None = None,
) -> int:
    """Serve in this process. Imports are in here so that ``--help`` and mistakes take no time.

    Args:
        api: What to serve.
        options: How.
        target: Where the API is from.
        fields: What each line of the log has besides.
        make: Makes the process, if not :class:`extapi.server.process.ServerProcess`, whose arguments it gets.

    Returns:
        The exit status.
    """
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

    def process(reactor: Any, access_log: OnFinished) -> Stoppable:
        for notice in options.notices():
            structlog.get_logger("extapi.server").warning(notice)
        try:
            return (make or ServerProcess)(api, options, reactor, access_log, describe=describe, target=target)
        except NotInCluster as error:
            raise CredentialsError(
                f"{error}: give --kubeconfig, or run in a pod. To try the API without a cluster: extapi dev {target}"
            ) from error

    return run_process(process, (CredentialsError, DefinitionsError), fields)
