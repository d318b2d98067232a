"""``extapi serve``: an API of your own, served as the flags say, until SIGTERM."""

from __future__ import annotations

import logging
import signal
import sys
from typing import Any

import click

from extapi.server.loading import load_api
from extapi.server.options import FLAGS, OptionErrors, parse_options


def _flags(command: Any) -> Any:
    """Every flag of :data:`FLAGS` as an option of ``command``."""
    for flag in reversed(FLAGS):
        if flag.boolean:
            option = click.option(f"--{flag.name}", flag.key, is_flag=True, default=False, help=flag.help)
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


@click.command()
@click.argument("target", metavar="MODULE:NAME")
@_flags
def serve(target: str, **raw: Any) -> None:
    """Serve the Api named NAME in MODULE, such as extapi.pizza:api."""
    problems: list[str] = []
    api = options = None
    try:
        api = load_api(target)
    except ValueError as error:
        problems.append(str(error))
    try:
        options = parse_options({flag.name: raw[flag.key] for flag in FLAGS})
    except OptionErrors as error:
        problems += error.problems
    if api is None or options is None:
        for problem in problems:
            click.echo(f"Error: {problem}", err=True)
        sys.exit(1)
    sys.exit(_run(api, options))


def _run(api: Any, options: Any) -> int:
    """Start the reactor and the process on it. Imports stand here, so that ``--help`` and mistakes answer at once."""
    from twisted.internet import reactor as imported  # noqa: PLC0415
    from twisted.internet.defer import Deferred  # noqa: PLC0415

    from extapi.authentication.certificates import BundleError  # noqa: PLC0415
    from extapi.authentication.configmap import LookupFailed  # noqa: PLC0415
    from extapi.client.credentials import CredentialsError  # noqa: PLC0415
    from extapi.listener.acceptor import BindError  # noqa: PLC0415
    from extapi.listener.tls import CertificateError  # noqa: PLC0415
    from extapi.registry.storedversions import UnknownStoredVersion  # noqa: PLC0415
    from extapi.server.lifecycle import Process  # noqa: PLC0415
    from extapi.server.logs import AccessLog, configure_logs  # noqa: PLC0415
    from extapi.storage.file import UnusableFile  # noqa: PLC0415

    reactor: Any = imported
    configure_logs(sys.stderr.buffer)
    expected = (
        BundleError, LookupFailed, CredentialsError, BindError, CertificateError, UnknownStoredVersion,
        UnusableFile, ValueError,
    )  # fmt: skip
    statuses: list[int] = []

    def failed(failure: Any) -> None:
        if failure.check(*expected):
            click.echo(f"Error: {failure.getErrorMessage()}", err=True)
        else:
            logging.getLogger("extapi").critical("the server failed", exc_info=failure.value)
        statuses.append(1)

    try:
        process = Process(api, options, reactor, AccessLog(sys.stderr.buffer, reactor.seconds))
    except expected as error:
        click.echo(f"Error: {error}", err=True)
        return 1

    def stop(*_: Any) -> None:
        if statuses or stopping:
            sys.exit(1)  # a second signal does not wait (spec H15)
        stopping.append(True)
        reactor.callFromThread(process.stop)

    stopping: list[bool] = []

    def begin() -> None:
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        running = Deferred.fromCoroutine(process.run())
        running.addCallbacks(statuses.append, failed)
        running.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run(installSignalHandlers=False)
    return statuses[0] if statuses else 1
