"""``extapi doctor``: the command line."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extapi.server.etcdflags import etcd_of, with_etcd_flags

if TYPE_CHECKING:
    from extapi.storage.etcd.endpoints import EtcdOptions

FAILED = 2
"""Exit status if nothing can be reported; click uses the same for a wrong command line."""
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 plus the number of SIGINT, as in shells."""
_ACCOUNT = re.compile(r"[a-z0-9][-a-z0-9]*:[a-z0-9][-a-z0-9.]*")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
SHORTEST, LONGEST = 0.1, 600.0
"""The largest value of --timeout, in seconds per request."""


def _seconds(_: click.Context, __: click.Parameter, text: str) -> float:
    """``5``, or ``5s`` as Go and kubectl write durations."""
    from extapi.api.duration import parse_seconds  # noqa: PLC0415 - see _examine

    try:
        seconds = parse_seconds(f"{text}s" if _NUMBER.fullmatch(text) else text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is neither a number of seconds nor a duration such as 5s or 1m") from error
    if not SHORTEST <= seconds <= LONGEST:
        raise click.BadParameter(f"{text!r} is not from {SHORTEST:g} to {LONGEST:g} seconds")
    return seconds


@click.command()
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="How to reach the cluster; by default as kubectl does."
)
@click.option("--context", default="", metavar="NAME", help="A context of the kubeconfig; by default its current one.")
@click.option("--app", metavar="MODULE:NAME", help="The Api that the cluster should serve; its groups are checked.")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="A group to check; may be repeated.")
@click.option(
    "--service-account",
    metavar="NAMESPACE:NAME",
    help="The server's account; by default that of the pods behind the Service.",
)
@click.option(
    "--connect", metavar="HOST:PORT", help="An address that reaches the server from here, such as a port-forward."
)
@click.option(
    "--storage",
    metavar="URL",
    help="The server's store, sqlite:///PATH or etcd: with its flags below; only read, even while the server runs.",
)
@with_etcd_flags
@click.option(
    "--timeout",
    callback=_seconds,
    default="5",
    show_default=True,
    metavar="SECONDS",
    help="How long one request may take.",
)
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format: text for people, json for programs.",
)
def doctor(output: str, **options: Any) -> None:
    """Say what is wrong between a cluster and its extension servers, and what to do.

    Without --app and --group every APIService with a Service is looked at. Exit status: 0 nothing is wrong, 1 something is,
    2 the cluster cannot be asked or the doctor itself fails, 130 after Ctrl-C.
    """
    # Click and Python exit with 1 in these cases, which would look like findings.
    try:
        status = _examine(output, options)
    except click.ClickException:
        raise
    except KeyboardInterrupt:
        click.echo("Aborted!", err=True)
        status = INTERRUPTED
    except BrokenPipeError:
        # The reader is gone, as behind "head"; flushing the rest at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    # Any other error is one line, not a finding.
    except Exception as error:  # noqa: BLE001 - as said
        click.echo(_unexpected(error), err=True)
        status = FAILED
    sys.exit(status)


def _unexpected(error: Exception) -> str:
    """One line that reports an unexpected error: what and where."""
    from extapi.doctor.finding import plain  # noqa: PLC0415 - see below

    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return plain(f"Error: unexpected {type(error).__name__}{where}: {error}")


def _examine(output: str, options: Mapping[str, Any]) -> int:
    """Ask, judge and print; returns the exit status. Lets every exception through."""
    # Imported here, so that --help and wrong command lines answer at once.
    from extapi.client.kubernetespackage import MissingPackage, require_kubernetes  # noqa: PLC0415

    try:
        require_kubernetes("extapi doctor")
    except MissingPackage as missing:
        click.echo(f"Error: {missing}", err=True)
        return FAILED
    from extapi.doctor import report  # noqa: PLC0415
    from extapi.doctor.checks import judge  # noqa: PLC0415
    from extapi.doctor.clusterreader import CannotAsk, connect  # noqa: PLC0415
    from extapi.doctor.examination import gather  # noqa: PLC0415
    from extapi.doctor.finding import plain  # noqa: PLC0415

    scope = _scope(
        **{name: options[name] for name in ("app", "groups", "service_account", "connect", "storage", "timeout")},
        etcd=etcd_of(options["storage"] or "", options),
    )
    try:
        cluster = connect(options["kubeconfig"], options["context"], seconds=options["timeout"])
        findings = judge(gather(cluster, scope))
    except CannotAsk as problem:
        click.echo(f"Error: {plain(str(problem))}", err=True)
        return FAILED
    write = report.as_json if output == "json" else report.as_text
    click.echo(write(cluster.server, findings))
    return report.status(findings)


def _scope(
    *,
    app: str | None,
    groups: tuple[str, ...],
    service_account: str | None,
    connect: str | None,
    storage: str | None,
    timeout: float,
    etcd: EtcdOptions | None,
) -> Any:
    """What the operator asked about.

    Raises:
        click.BadParameter: --app names no Api, or its kinds cannot be served.
    """
    from extapi.doctor.accounts import needed_rights  # noqa: PLC0415 - see above
    from extapi.doctor.examination import ExaminationScope, expected_groups  # noqa: PLC0415
    from extapi.doctor.facts import Account  # noqa: PLC0415
    from extapi.doctor.leases import candidates_of  # noqa: PLC0415
    from extapi.loading.module import LoadingError, load_api  # noqa: PLC0415
    from extapi.storage.url import parse_url  # noqa: PLC0415

    account = None
    if service_account is not None:
        if not _ACCOUNT.fullmatch(service_account):
            raise click.BadParameter(
                f"{service_account!r} is not of the form NAMESPACE:NAME", param_hint="--service-account"
            )
        namespace, _, name = service_account.partition(":")
        account = Account(namespace, name, given=True)
    try:
        api = load_api(app) if app is not None else None
    except LoadingError as error:
        error.show()
        sys.exit(FAILED)
    expected = expected_groups(api) if api is not None else ()
    try:
        parse_url("memory:" if etcd or not storage else storage)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--storage") from error
    return ExaminationScope(
        groups=frozenset([*groups, *(group.name for group in expected)]),
        expected=expected,
        needs=needed_rights(api.needs) if api is not None else (),
        candidates=candidates_of(api) if api is not None else None,
        account=account,
        connect=_address(connect) if connect is not None else None,
        storage=storage or "",
        etcd=etcd,
        in_cluster="KUBERNETES_SERVICE_HOST" in os.environ,
        seconds=timeout,
    )


def _address(text: str) -> tuple[str, int]:
    """``HOST:PORT``; an IPv6 address stands in brackets."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise click.BadParameter(f"{text!r} is not of the form HOST:PORT", param_hint="--connect")
    if host.startswith("["):
        try:
            return str(ipaddress.IPv6Address(host.strip("[]"))), int(port)
        except ValueError as error:
            raise click.BadParameter(f"{host} is not an IPv6 address", param_hint="--connect") from error
    if ":" in host:
        raise click.BadParameter(
            f"{text!r} has several colons: an IPv6 address stands in brackets, as in [::1]:8443", param_hint="--connect"
        )
    return host, int(port)
