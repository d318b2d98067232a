"""The control plane's command line. Its flags are kube-apiserver's, with the same names.

It listens only on loopback; no flag changes that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from extapi import duration_seconds
from extapi.controlplane.options import ControlPlaneOptions, FlagError
from extapi.server.options import plugin_problems
from extapi.storage.url import parse_url

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _storage(_context: click.Context, _option: click.Parameter, url: str) -> str:
    try:
        parse_url(url)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return url


def _names(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for value in values for name in value.split(",") if name)


def _duration(_context: click.Context, _option: click.Parameter, text: str) -> float:
    try:
        return duration_seconds(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--bind-address",
    type=click.Choice(["127.0.0.1", "::1"]),
    default="127.0.0.1",
    show_default=True,
    help="The loopback address to listen on.",
)
@click.option(
    "--secure-port", type=click.IntRange(0, 65535), default=6443, show_default=True, help="Port on --bind-address."
)
@click.option("--storage", metavar="URL", default="memory:", callback=_storage, help="memory: or sqlite:///PATH.")
@click.option("--tls-cert-file", type=_FILE, required=True, help="The serving certificate.")
@click.option("--tls-private-key-file", type=_FILE, required=True, help="The key of --tls-cert-file.")
@click.option("--client-ca-file", type=_FILE, required=True, help="The CA of clients; it also signed --tls-cert-file.")
@click.option(
    "--proxy-client-cert-file", type=_FILE, required=True, help="The client certificate for extension servers."
)
@click.option("--proxy-client-key-file", type=_FILE, required=True, help="The key of --proxy-client-cert-file.")
@click.option("--requestheader-client-ca-file", type=_FILE, required=True, help="The CA of --proxy-client-cert-file.")
@click.option("--requestheader-allowed-names", multiple=True, callback=_names, help="Common names of front proxies.")
@click.option("--service-account-key-file", type=_FILE, required=True, help="Private EC key that signs tokens.")
@click.option("--service-account-issuer", required=True, help="The issuer of the tokens.")
@click.option(
    "--request-timeout", default="1m0s", show_default=True, callback=_duration, help="How long a request may take."
)
@click.option(
    "--enable-admission-plugins", multiple=True, callback=_names, help="Plugins besides the default ones: all."
)
@click.option(
    "--disable-admission-plugins", multiple=True, callback=_names, help="Admission plugins that are not asked."
)
def control_plane(
    enable_admission_plugins: tuple[str, ...], disable_admission_plugins: tuple[str, ...], **flags: Any
) -> None:
    """Run a local control plane for development until SIGTERM. It is not a cluster, and listens only on loopback."""
    from extapi.controlplane.process import ControlPlaneProcess  # noqa: PLC0415 - wrong flags and --help answer at once
    from extapi.server.reactor import run_process  # noqa: PLC0415

    problems = plugin_problems(enable_admission_plugins, disable_admission_plugins)
    if problems:
        raise click.UsageError("; ".join(problems))
    options = ControlPlaneOptions(**flags, disabled_plugins=frozenset(disable_admission_plugins))
    sys.exit(run_process(lambda reactor, log: ControlPlaneProcess(options, reactor, log), (FlagError,)))
