"""``extapi crd``: definitions of custom resources on the command line."""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path
from typing import Any

import click

from extapi.crd.yamltext import to_yaml
from extapi.loading.module import LoadingError, load_api

_SERVICE = re.compile(r"(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9-]+)(:(?P<port>[0-9]{1,5}))?(?P<path>/\S*)?")
_URL = re.compile(r"https://[^\s/?#@]+(/[^\s?#]*)?")


@click.group()
def crd() -> None:
    """CustomResourceDefinitions: made of Python types, and checked."""


@crd.command()
@click.argument(
    "paths",
    metavar="PATH...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, allow_dash=True),
)
@click.option(
    "--old",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="What is stored so far: the manifests are judged as changes of it. May be repeated.",
)
def check(paths: tuple[Path, ...], old: tuple[Path, ...]) -> None:
    """Say what kube-apiserver finds wrong with the CustomResourceDefinitions in files and folders, YAML or JSON.

    Prints FILE:LINE: FIELD: ERROR, one line each, in kube-apiserver's words; also fields that it does not know, which kubectl
    refuses. Warnings, and objects of other kinds, which are not checked, are named on standard error. The exit status is 1 if
    anything is wrong. Of a folder the .yaml, .yml and .json files are read, as by --crd. A PATH of - is standard input.
    """
    from extapi.crd.checking import Check  # noqa: PLC0415 - mistakes on the command line are told at once

    stored, problems = _files(old)
    checked = Check(((str(path), _content(path)) for path in stored) if old else None)
    files, others = _files(paths)
    for line in [*problems, *others]:
        click.echo(checked.counted(line))
    for path in files:
        for line in checked.judge(str(path), _content(path)):
            click.echo(line)
    for note in checked.notes:
        click.echo(note, err=True)
    click.echo(checked.summary(), err=True)
    sys.exit(1 if checked.wrong else 0)


def _files(paths: tuple[Path, ...]) -> tuple[list[Path], list[str]]:
    """The files, with those of folders in their place, and what is wrong with folders.

    Raises:
        click.ClickException: A folder cannot be read.
    """
    from extapi.crd.files import files_of  # noqa: PLC0415 - as above

    found: list[Path] = []
    problems: list[str] = []
    for path in paths:
        if str(path) == "-" or not path.is_dir():
            found.append(path)
            continue
        try:
            inside, problem = files_of(path)
        except OSError as error:
            raise click.ClickException(f"{path}: {error.strerror}") from error
        found += inside
        problems += [problem] if problem else []
    return found, problems


def _content(path: Path) -> bytes:
    """The bytes of a file, as far as they are read.

    Raises:
        click.ClickException: It cannot be read, or is too large.
    """
    from extapi.crd.files import LARGEST  # noqa: PLC0415 - as above

    try:
        with click.open_file(str(path), "rb") as file:
            data: bytes = file.read(LARGEST + 1)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error
    if len(data) > LARGEST:
        raise click.ClickException(f"{path}: is larger than {LARGEST} bytes")
    return data


@crd.command()
@click.argument("target", metavar="MODULE:NAME")
@click.option("--kind", "only", metavar="KIND", default="", help="Only this kind: its name, plural or plural.group.")
@click.option(
    "--conversion-webhook-url",
    "url",
    metavar="URL",
    default="",
    help="Where kinds with a hub are converted: https://...",
)
@click.option(
    "--conversion-webhook-service",
    "service",
    metavar="NAMESPACE/NAME[:PORT][/PATH]",
    default="",
    help="The same, as a Service of the cluster.",
)
@click.option(
    "--conversion-webhook-ca-file",
    "ca_file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The authority of the webhook's certificate, in PEM.  [default: those that the cluster trusts]",
)
def export(target: str, only: str, url: str, service: str, ca_file: Path | None) -> None:
    """Print the kinds of the Api named NAME in MODULE as CustomResourceDefinitions, in YAML.

    What a definition cannot say is told on standard error. The exit status is 1 if a kind had to be left out.
    """
    from extapi.crd.export import export_api, left_out  # noqa: PLC0415 - mistakes on the command line are told at once

    webhook = _webhook(url, service, ca_file)
    try:
        api = load_api(target)
    except LoadingError as error:
        error.show()
        sys.exit(1)
    exported = list(export_api(api, only=only, webhook=webhook))
    if not exported:
        kinds = ", ".join(kind.name for group in api.groups for kind in group.kinds)
        raise click.ClickException(f"--kind: there is no {only}; {target} has {kinds}")
    for each in exported:
        for note in each.notes:
            label = "Error: " if each.manifest is None else ""
            click.echo(f"{label}{each.kind}: {note}", err=True)
    if not only:
        for note in left_out(api):
            click.echo(note, err=True)
    manifests = [each.manifest for each in exported if each.manifest is not None]
    click.echo("---\n".join(map(to_yaml, manifests)), nl=False)
    sys.exit(1 if len(manifests) < len(exported) else 0)


def _webhook(url: str, service: str, ca_file: Path | None) -> dict[str, Any] | None:
    """The ``clientConfig`` of the conversion webhook; None if none is given.

    Raises:
        click.UsageError: It is none.
    """
    if url and service:
        raise click.UsageError("give either --conversion-webhook-url or --conversion-webhook-service")
    if not (url or service):
        if ca_file is not None:
            raise click.UsageError(
                "--conversion-webhook-ca-file needs --conversion-webhook-url or --conversion-webhook-service"
            )
        return None
    config: dict[str, Any] = {}
    if url:
        if not _URL.fullmatch(url):
            raise click.UsageError(
                "--conversion-webhook-url: must be https://HOST[:PORT][/PATH], without user, query and fragment"
            )
        config["url"] = url
    else:
        found = _SERVICE.fullmatch(service)
        if found is None or not 0 < int(found["port"] or 443) < 65536:
            raise click.UsageError("--conversion-webhook-service: must be NAMESPACE/NAME[:PORT][/PATH]")
        config["service"] = {"namespace": found["namespace"], "name": found["name"], "port": int(found["port"] or 443)}
        if found["path"]:
            config["service"]["path"] = found["path"]
    if ca_file is not None:
        config["caBundle"] = base64.b64encode(ca_file.read_bytes()).decode()
    return config
