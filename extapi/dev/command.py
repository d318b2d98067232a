"""``extapi dev``: options, the order in which things start, and what the user is told."""

from __future__ import annotations

import contextlib
import datetime as dt
import shlex
import shutil
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from extapi import forks
from extapi.api.policyrule import PolicyRule
from extapi.client.authority import authority
from extapi.client.transport import TransportError
from extapi.dev import certificates, extension, forking, ports, registration, signals, terminal, users
from extapi.dev.availability import shortened
from extapi.dev.build import Programs, programs
from extapi.dev.builtincontrolplane import BuiltinControlPlane
from extapi.dev.console import Console
from extapi.dev.directory import StateDirectory, opened, write_secret
from extapi.dev.failure import DevFailure
from extapi.dev.following import Following
from extapi.dev.kube import KubeError
from extapi.dev.kubecontrolplane import KubeControlPlane
from extapi.dev.processes import Processes
from extapi.dev.registration import GroupVersions
from extapi.loading.authorscode import AuthorsCode
from extapi.loading.module import LoadingError, load_api
from extapi.server.etcdflags import ETCD_FLAGS, as_arguments, etcd_of, with_etcd_flags
from extapi.storage.url import ETCD

_WATCH_INTERVAL = 0.1
_DEBUGGING = "1h0m0s"
"""How long a request may take in each server when a debugger may stop at it."""
_SHARED = {
    "builtin": ("extapi.controlplane.process", "extapi.server.process", "extapi.server.reactor", "extapi.client.agent"),
    "kube": ("extapi.server.process", "extapi.server.reactor", "extapi.client.agent"),
}
"""The modules of the servers: imported once, for all of them and for us."""
_NO_CLUSTER = """\
this is a local control plane for development, on {host} only. It is not a cluster: it has no nodes, pods or quota
(--control-plane kube runs the real kube-apiserver)"""
_EXAMPLE = "extapi.pizza:api"
_PORT = click.IntRange(0, 65535)


@dataclass(frozen=True)
class DevOptions:
    """The command line of ``extapi dev``; a port is 0 if any free one will do."""

    target: str
    directory: Path
    host: str
    """The loopback address."""
    port: int
    serve_port: int
    storage: str | None
    control_plane: str
    foreground: bool
    reload: bool
    crd: tuple[Path, ...]
    etcd: tuple[str, ...] = ()
    """The flags of the extension server that say how etcd is reached."""

    @property
    def debugging(self) -> list[str]:
        """The flags of each server when a debugger may stop it."""
        return [f"--request-timeout={_DEBUGGING}"] if self.foreground else []

    @property
    def what(self) -> str:
        """What is served, for messages."""
        return " and ".join([*([self.target] if self.target else []), *map(str, self.crd)])


@click.command()
@click.argument("target", metavar="[MODULE:NAME]", default="")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    default=".extapi/dev",
    show_default=True,
    help="Where certificates, data, logs and the kubeconfig are kept.",
)
@click.option("--port", type=_PORT, default=0, help="Port of the control plane on loopback.  [default: a free one]")
@click.option(
    "--serve-port", type=_PORT, default=0, help="Port of the extension server on loopback.  [default: a free one]"
)
@click.option(
    "--storage",
    metavar="URL",
    help="Store of the extension server, as its --storage.  [default: an SQLite file in DIR]",
)
@click.option(
    "--control-plane",
    type=click.Choice(["builtin", "kube"]),
    default="builtin",
    show_default=True,
    help="The control plane: builtin is in Python and starts at once; kube is the real one, compiled on first use.",
)
@click.option(
    "--foreground",
    is_flag=True,
    help="Give the extension server this terminal, so that breakpoint() works in the API's code.",
)
@click.option(
    "--reload",
    is_flag=True,
    help="Serve changes of the API's Python files at once, without a restart.",
)
@click.option(
    "--crd",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="A file or folder with CustomResourceDefinitions, whose kinds the extension server serves; may be repeated.",
)
@click.option("--user", metavar="NAME", help="Print this user's kubeconfig for the control plane in DIR, and exit.")
@click.option("--group", "groups", metavar="NAME", multiple=True, help="A group of --user; may be repeated.")
@with_etcd_flags
def dev(user: str | None, groups: tuple[str, ...], **options: Any) -> None:
    """Run a local control plane with the API at MODULE:NAME beside it, until Ctrl-C.

    MODULE:NAME names an extapi.Api; without it the kinds of --crd are served, or else the worked example, extapi.pizza:api.
    """
    if groups and user is None:
        raise click.UsageError("--group needs --user")
    try:
        if user is not None:
            click.echo(users.kubeconfig_for(options["directory"], user, groups, now=dt.datetime.now(dt.UTC)), nl=False)
            return
        if not options["target"] and not options["crd"]:
            options["target"] = _EXAMPLE
        etcd_of(options["storage"] or "", options)  # what is wrong is told before anything starts
        # There is one server, which has no Lease to hold.
        etcd = (*as_arguments(options), *(["--leader-elect=false"] if options["storage"] == ETCD else []))
        for flag in ETCD_FLAGS:
            del options[flag.key]
        with signals.as_exception() as stop:
            _run(DevOptions(**options, host=ports.loopback(), etcd=etcd), stop)
    except signals.StopRequested:
        signals.ignore()  # a second Ctrl-C while the interpreter ends would print a traceback
        click.echo("stopped")
    except DevFailure as failure:
        raise click.ClickException(str(failure)) from failure
    except BrokenPipeError:
        raise  # of our own output, which nobody reads any more: click ends in silence, as programs do
    except OSError as error:
        where = error.filename or options["directory"]  # what is written to an open file has no name
        raise click.ClickException(f"{where}: {error.strerror or error}") from error


def _run(options: DevOptions, stop: signals.Stop) -> None:
    """Start everything, then watch it until the user stops it."""
    started = time.monotonic()
    needs = _load(options.target) if options.target else ()
    if options.control_plane == "kube":
        ports.check_localhost(options.host)
    with opened(options.directory) as state:
        port = ports.choose(options.port, "--port", host=options.host)
        serve_port = ports.choose(options.serve_port, "--serve-port", host=options.host, taken=[port])
        forks.set_name("extapi dev")
        screen = terminal.standard_error()
        console = Console(screen, AuthorsCode.of(options.target))

        def meanwhile() -> None:
            stop.check()
            console.show()

        processes = Processes(
            state.logs,
            fork=forking.prepare(_SHARED[options.control_plane]),
            private=[state.lock],
            meanwhile=meanwhile,
            follow=console.follow,
            waiting=screen.status,
        )
        with terminal.kept() if options.foreground else contextlib.nullcontext(), console.until_the_end():
            try:
                following = _start(replace(options, port=port, serve_port=serve_port), state, needs, processes)
                console.starting = False
                click.echo(f"ready after {time.monotonic() - started:.1f} s (logs in {state.logs}; Ctrl-C ends it)")
                while True:
                    processes.check()
                    following.check()
                    time.sleep(_WATCH_INTERVAL)
            finally:
                processes.stop()
                state.address.unlink(missing_ok=True)


def _load(target: str) -> Sequence[PolicyRule]:
    """The rights that the code of the API needs in the cluster. An API that cannot be served is told before anything starts."""
    try:
        return load_api(target).needs
    except LoadingError as error:
        error.show()
        sys.exit(1)


def _start(
    options: DevOptions,
    state: StateDirectory,
    needs: Sequence[PolicyRule],
    processes: Processes,
) -> Following:
    """Start everything in the order of dependence, and tell the user about each step; what is to be followed then."""
    now = dt.datetime.now(dt.UTC)
    found = programs(click.echo) if options.control_plane == "kube" else None
    keys = certificates.ensure(state.certificates, registration.IDENTITIES, now=now)
    state.served.unlink(missing_ok=True)
    cluster = _control_plane(options, state, found, keys, processes)
    cluster.start()
    write_secret(state.address, f"{authority(options.host, options.port)}\n")
    try:
        registration.authorize(cluster.client, needs)
        click.echo(f"starting the extension server for {options.what}")
        extension.start(
            options.target,
            crds=options.crd,
            port=options.serve_port,
            storage=options.storage or f"sqlite:///{state.storage}",
            kubeconfig=cluster.write_kubeconfig("extension-client"),
            certificates=keys,
            processes=processes,
            host=options.host,
            flags=[
                "--development",
                f"--served-file={state.served}",
                *(["--reload"] if options.reload else []),
                *options.debugging,
                *options.etcd,
            ],
            foreground=options.foreground,
        )
        groups = extension.served(state.served, processes)
        click.echo("registering " + shortened([f"{v}.{group.group}" for group in groups for v in group.versions]))
        registration.register(cluster.client, groups, port=options.serve_port, ca=keys.certificate("serving-ca"))
        extension.wait_available(cluster.client, groups, processes, foreground=options.foreground)
        # Last, so that it never sees an API that does not answer yet.
        if not cluster.start_controller_manager():
            click.echo("no kube-controller-manager among the prebuilt programs: nothing is garbage collected")
        cluster.write_kubeconfig("admin", state.kubeconfig)
        resources = registration.first_resources(cluster.client, groups)
    except BrokenPipeError:
        raise  # of our own output; an exchange has a TransportError
    except (KubeError, TransportError, OSError) as error:
        processes.check()  # an ended process explains more
        raise DevFailure(f"the control plane refused a request: {error}") from error
    _tell(state, groups, resources)
    return Following(
        cluster.client,
        state.served,
        port=options.serve_port,
        ca=keys.certificate("serving-ca"),
        groups=groups,
        needs=needs,
        tell=click.echo,
    )


def _control_plane(
    options: DevOptions,
    state: StateDirectory,
    found: Programs | None,
    keys: certificates.Certificates,
    processes: Processes,
) -> KubeControlPlane | BuiltinControlPlane:
    """The control plane, which is not started yet; ``found``: the programs of the real one, if that is wanted."""
    common: dict[str, Any] = {
        "state": state,
        "host": options.host,
        "port": options.port,
        "certificates": keys,
        "processes": processes,
        "flags": options.debugging,
    }
    if found is None:
        click.echo(_NO_CLUSTER.format(host=options.host))
        click.echo("starting the control plane")
        return BuiltinControlPlane(**common)
    click.echo("starting etcd and kube-apiserver")
    return KubeControlPlane(**common, programs=found)


def _tell(state: StateDirectory, groups: Sequence[GroupVersions], resources: Sequence[str]) -> None:
    """What to type next, in another shell."""
    kubectl = _kubectl()
    resource = resources[0] if resources else "namespaces"
    click.echo("\nin another shell:\n")
    click.echo(f"    export KUBECONFIG={shlex.quote(str(state.kubeconfig))}")
    if groups:
        click.echo(f"    {kubectl} api-resources --api-group={groups[0].group}")
    click.echo(f"    {kubectl} explain {resource}")
    click.echo(f"    {kubectl} get {resource}\n")


def _kubectl() -> str:
    """The user's kubectl, or the one installed beside extapi."""
    if shutil.which("kubectl"):
        return "kubectl"
    beside = Path(sysconfig.get_path("scripts")) / "kubectl"
    return shlex.quote(str(beside)) if beside.exists() else "kubectl"
