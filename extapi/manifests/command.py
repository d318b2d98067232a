"""``extapi manifests``: the command line."""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from extapi.loading.module import LoadingError, load_api
from extapi.manifests.settings import ManifestSettings, SettingsErrors, make_settings, without_defaults

_DIRECTORY = Path("deploy")
_PORT = click.IntRange(1, 65535)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("target", metavar="MODULE:NAME")
@click.option(
    "--as",
    "as_",
    type=click.Choice(["aggregated", "crd"]),
    default="aggregated",
    show_default=True,
    help="How the cluster serves the API: by an extension server, or as CustomResourceDefinitions with webhooks.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write one object per file, and kustomization.yaml, here.  [default: one stream to stdout]",
)
@click.option(
    "--name",
    metavar="NAME",
    help="The name of all rendered objects.  [default: the first part of the API group's name]",
)
@click.option("--namespace", metavar="NAME", help="Where the server runs.  [default: as --name]")
@click.option("--image", metavar="IMAGE", help="The server's image.  [default: registry.example.com/NAME:1]")
@click.option(
    "--port", type=_PORT, metavar="PORT", help="The port of the pod.  [default: 8443; 10443 with --host-network]"
)
@click.option(
    "--host-network", is_flag=True, help="Run the pod in its node's network, if kube-apiserver cannot reach pods."
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="NUMBER",
    help="The number of pods; more than one only if nothing is stored, or with --storage etcd:.",
)
@click.option(
    "--storage",
    metavar="URL",
    help="As for extapi serve.  [default: SQLite in a volume; memory: if nothing is stored]",
)
@click.option(
    "--etcd-servers",
    multiple=True,
    metavar="URLS",
    callback=lambda _context, _option, values: ",".join(values),
    help="With --storage etcd:, the members of etcd, https://HOST:PORT, separated by commas; may be repeated.",
)
@click.option("--etcd-prefix", metavar="PREFIX", help="The prefix of all keys in etcd.  [default: /extapi/NAME]")
@click.option(
    "--etcd-secret",
    metavar="NAME",
    help="A Secret that exists, with ca.crt, tls.crt and tls.key for etcd.  [default: NAME-etcd, made of files in etcd]",
)
@click.option(
    "--etcd-username",
    metavar="NAME",
    help="The user that etcd authenticates by the file password of the Secret, in place of tls.crt and tls.key.",
)
@click.option("--cert-manager", is_flag=True, help="Let cert-manager issue the serving certificate and set caBundle.")
@click.option(
    "--patch-ca-bundle",
    is_flag=True,
    help="Render nothing: set caBundle on what leads to the server in the cluster, APIServices or definitions and webhooks.",
)
@click.option(
    "--ca-file",
    type=_FILE,
    metavar="FILE",
    help="The authority for --patch-ca-bundle.  [default: certs/ca.crt in --dir, or in deploy]",
)
@click.option(
    "--kubeconfig", type=_FILE, metavar="FILE", help="The cluster for --patch-ca-bundle.  [default: that of kubectl]"
)
@click.option(
    "--context", metavar="NAME", help="A context of the kubeconfig, for --patch-ca-bundle.  [default: the current one]"
)
def manifests(
    target: str,
    directory: Path | None,
    patch_ca_bundle: bool,
    ca_file: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    **flags: Any,
) -> None:
    """Render what a cluster needs to run the Api named NAME in MODULE, such as extapi.pizza:api."""
    if not patch_ca_bundle and (ca_file or kubeconfig or context):
        raise click.UsageError("--ca-file, --kubeconfig and --context are for --patch-ca-bundle")
    if patch_ca_bundle and flags["cert_manager"]:
        raise click.UsageError("with --cert-manager its injector sets caBundle; leave out --patch-ca-bundle")
    try:
        api = load_api(target)
        given = {key: value for key, value in flags.items() if value}
        settings = make_settings(api, target, **given)
        if patch_ca_bundle:
            authority = ca_file or (directory or _DIRECTORY) / "certs" / "ca.crt"
            _patch(api, settings, authority, kubeconfig, context or "")
        else:
            _render(api, settings, directory, _arguments(target, directory, without_defaults(api, target, given)))
    except SettingsErrors as errors:
        _fail(*errors.problems)
    except LoadingError as error:
        error.show()
        sys.exit(1)
    except OthersFiles as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader is gone, as behind "head": click ends the process for that
        raise
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


class OthersFiles(Exception):
    """The directory has files of another origin; the message names them and says what to do."""


def _render(api: Any, settings: ManifestSettings, directory: Path | None, arguments: str) -> None:
    """Render to files or to stdout. Imported here, so that ``--help`` and wrong command lines answer at once."""
    from extapi.crd.expressible import not_supported  # noqa: PLC0415
    from extapi.manifests.files import KUSTOMIZATION, kustomization, render, stream  # noqa: PLC0415

    files = render(settings, api)
    if settings.crds:
        for note in not_supported(api):
            click.echo(f"note: {note}", err=True)
    if directory is None:
        click.echo(stream(settings, files, arguments), nl=False)
        return
    directory.mkdir(parents=True, exist_ok=True)
    # The kustomization comes first: a later run recognizes the directory by it, even if this run is interrupted.
    texts = {KUSTOMIZATION: kustomization(settings, files, arguments)} | {file.name: file.text for file in files}
    _check_own(directory, directory / KUSTOMIZATION, texts)
    done = []
    for name, text in texts.items():
        path, content = directory / name, text.encode()
        same = path.exists() and path.read_bytes() == content
        if not same:
            path.write_bytes(content)
        done.append(f"{path} {'unchanged' if same else 'written'}")
    click.echo("\n".join(done))  # after everything is written: behind a closed pipe this is the end


def _check_own(directory: Path, kustomization: Path, names: Iterable[str]) -> None:
    """Never overwrite files of another origin: a directory called deploy often exists already.

    Raises:
        OthersFiles: Files of these names exist, and no kustomization that says that they were made here.
    """
    from extapi.manifests.files import MADE_BY  # noqa: PLC0415

    others = [name for name in names if (directory / name).exists()]
    if others and not (kustomization.exists() and kustomization.read_bytes().startswith(f"# {MADE_BY}".encode())):
        raise OthersFiles(
            f"{directory} has files that 'extapi manifests' has not made ({', '.join(sorted(others))}), and would write over "
            "them; choose another --dir, or move them away"
        )


def _patch(api: Any, settings: ManifestSettings, ca_file: Path, kubeconfig: Path | None, context: str) -> None:
    from extapi.client.kubernetespackage import MissingPackage, require_kubernetes  # noqa: PLC0415

    try:
        require_kubernetes("--patch-ca-bundle")
    except MissingPackage as missing:
        _fail(str(missing))
    from extapi.manifests.cabundle import PatchFailed, read_bundle, set_bundle  # noqa: PLC0415
    from extapi.manifests.cluster import KubectlsCluster  # noqa: PLC0415
    from extapi.manifests.files import registered  # noqa: PLC0415

    done, problems = [], ""
    try:
        bundle = read_bundle(ca_file, dt.datetime.now(dt.UTC))
        cluster = KubectlsCluster(kubeconfig, context)
        for each, changed in set_bundle(cluster, settings, list(registered(settings, api)), bundle):
            done.append(f"{each.resource}/{each.name} {'patched' if changed else 'unchanged'}")
    except PatchFailed as error:
        problems = str(error)
    finally:
        if done:
            click.echo(f"in the cluster at {cluster.server}:", err=True)
            click.echo("\n".join(done))
    if problems:
        _fail(*problems.splitlines())


def _arguments(target: str, directory: Path | None, flags: Mapping[str, Any]) -> str:
    """A command line that renders the same; it names DIR instead of the actual directory."""
    words = [target, *(["--dir", "."] if directory is not None else [])]
    for key, value in flags.items():
        words.append(f"--{key.rstrip('_').replace('_', '-')}" + ("" if value is True else f"={value}"))
    return shlex.join(words)


def _fail(*problems: str) -> None:
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    sys.exit(1)
