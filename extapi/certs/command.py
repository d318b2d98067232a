"""``extapi certs``: the command line."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path

import click
from click.core import ParameterSource

from extapi.api.names import dns1123_label, dns1123_subdomain
from extapi.certs import keeping, rotation, showing
from extapi.certs.directory import Paths, load
from extapi.certs.failure import CertsFailure
from extapi.certs.serving import service_names
from extapi.issuing import LEAF_LIFE

_DURATION = re.compile(r"(?=.)(?:(\d{1,5})d)?(?:(\d{1,6})h)?", re.ASCII)


def _span(_context: click.Context, _option: click.Parameter, text: str) -> dt.timedelta:
    found = _DURATION.fullmatch(text)
    if not found:
        raise click.BadParameter(f"{text!r} is not a time in days and hours, such as 30d or 12h")
    span = dt.timedelta(days=int(found[1] or 0), hours=int(found[2] or 0))
    if span >= LEAF_LIFE:
        raise click.BadParameter(
            f"a serving certificate is valid for {LEAF_LIFE.days}d: with {text} every run would make a new one"
        )
    return span


def _label(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    if name is not None and (problems := dns1123_label(name)):
        raise click.BadParameter(f"{name!r}: {problems[0]}")
    return name


def _hosts(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_host, names))


def _host(name: str) -> str:
    """An address in its usual spelling, or a DNS name, which may be a wildcard (``*.example.com``)."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        lower = name.lower()
        if dns1123_subdomain(lower.removeprefix("*.")):
            raise click.BadParameter(f"{name!r} is neither a DNS name nor an IP address") from None
        return lower
    if "%" in name:
        raise click.BadParameter(f"{name!r} has a zone, which a certificate cannot contain: leave it out")
    return str(address)


_DIRECTORY = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    default=rotation.DIRECTORY,
    show_default=True,
    metavar="DIR",
    help="Where ca.crt, ca.key, tls.crt and tls.key are kept: DIR/certs for extapi manifests --dir DIR.",
)


@click.group(invoke_without_command=True)
@click.option(
    "--service", metavar="NAME", callback=_label, help="The Service through which kube-apiserver reaches the server."
)
@click.option("--namespace", metavar="NAME", callback=_label, help="The namespace of --service.")
@click.option(
    "--host",
    "hosts",
    metavar="HOST",
    multiple=True,
    callback=_hosts,
    help="An additional DNS name or IP address; may be repeated.",
)
@_DIRECTORY
@click.option(
    "--renew-before",
    metavar="TIME",
    default="30d",
    show_default=True,
    callback=_span,
    help="How long before it expires to renew the serving certificate, in days (d) and hours (h).",
)
@click.pass_context
def certs(
    context: click.Context,
    service: str | None,
    namespace: str | None,
    hosts: tuple[str, ...],
    directory: Path,
    renew_before: dt.timedelta,
) -> None:
    """Make and keep an authority and a serving certificate.

    Run it again at any time, without --service as well: what is there is kept, what is missing or soon expires is made.
    For a serving certificate that is enough; rotate replaces the authority.
    """
    if context.invoked_subcommand is not None:
        for option in ("service", "namespace", "hosts", "renew_before"):
            if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
                name = "host" if option == "hosts" else option.replace("_", "-")
                raise click.UsageError(f"--{name} does not apply to {context.invoked_subcommand}")
        return
    if (service is None) != (namespace is None):
        raise click.UsageError("--service and --namespace must be given together")
    if hosts and service is None:
        raise click.UsageError("--host needs --service and --namespace")
    names = service_names(service, namespace, hosts) if service and namespace else None
    paths, now = Paths(directory), dt.datetime.now(dt.UTC)
    with _failures(paths):
        keeping.ensure(paths, names, now=now, renew_before=renew_before, say=click.echo)
        _warn(paths, now=now, renew_before=renew_before)


@certs.command()
@_DIRECTORY
@click.pass_context
def show(context: click.Context, directory: Path) -> None:
    """Tell what certificates there are, how long they are valid, and which vouches for which."""
    paths, now = Paths(_chosen(context, directory)), dt.datetime.now(dt.UTC)
    with _failures(paths):
        readable = showing.show(paths, now=now, say=click.echo)
        if not readable:
            context.exit(1)
        _warn(paths, now=now)


@certs.command()
@click.argument(
    "step", metavar="[begin|switch|finish]", type=click.Choice(["begin", "switch", "finish"]), default="begin"
)
@_DIRECTORY
@click.pass_context
def rotate(context: click.Context, step: str, directory: Path) -> None:
    """Replace the authority in three steps, and say what to do in the cluster after each.

    begin makes a new authority, to be trusted besides the old one; switch lets it sign the serving certificate; finish
    takes the old one out. A step that is done already changes nothing.
    """
    paths, now = Paths(_chosen(context, directory)), dt.datetime.now(dt.UTC)
    with _failures(paths):
        if step == "begin":
            rotation.begin(paths, now=now, say=click.echo)
        elif step == "switch":
            rotation.switch(paths, now=now, say=click.echo)
        else:
            rotation.finish(paths, say=click.echo)
        for warning in paths.warnings():
            click.echo(f"warning: {warning}", err=True)


def _chosen(context: click.Context, directory: Path) -> Path:
    """The directory given before or after the subcommand."""
    given = context.get_parameter_source("directory") is ParameterSource.COMMANDLINE
    if given or context.parent is None or "directory" not in context.parent.params:
        return directory
    return Path(context.parent.params["directory"])


def _warn(paths: Paths, *, now: dt.datetime, renew_before: dt.timedelta = keeping.RENEWAL) -> None:
    for warning in keeping.warnings(paths, load(paths), now=now, renew_before=renew_before):
        click.echo(f"warning: {warning}", err=True)


@contextlib.contextmanager
def _failures(paths: Paths) -> Iterator[None]:
    """Turn failures into messages for the operator."""
    try:
        yield
    except CertsFailure as failure:
        raise click.ClickException(str(failure)) from failure
    except OSError as error:
        raise click.ClickException(f"{error.filename or paths.directory}: {error.strerror or error}") from error
