"""``extapi import``: the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extapi.takeover.options import cluster_options

if TYPE_CHECKING:
    from extapi.takeover.cluster import Cluster
    from extapi.takeover.switch import Switch


@click.command("import")
@cluster_options
@click.option(
    "--crd",
    "definitions",
    multiple=True,
    required=True,
    metavar="NAME",
    help="A CustomResourceDefinition, such as crontabs.stable.example.com; may be repeated.",
)
@click.option(
    "--storage",
    required=True,
    metavar="URL",
    help="The store to fill, sqlite:///PATH; its server must not run yet. To etcd: extapi storage copy, afterwards.",
)
@click.option("--once", is_flag=True, help="Copy once and end, instead of following changes until Ctrl-C.")
@click.option(
    "--switch", is_flag=True, help="Freeze writes, copy what is left, and send all requests to the new server."
)
@click.option("--abort", is_flag=True, help="Undo a switch, as long as nothing was written to the new server.")
@click.option(
    "--start",
    metavar="COMMAND",
    default="",
    help="With --switch: the shell command that starts the server on the store. It has to return once the server is ready.",
)
@click.option(
    "--apiservice",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --switch: a YAML file with an APIService for each version that moves.",
)
@click.option(
    "--service",
    metavar="NAMESPACE/NAME[:PORT]",
    default="",
    help="With --switch, instead of --apiservice: the server's Service.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --service: the authority of the server's certificate, in PEM.",
)
@click.option(
    "--settle",
    type=click.FloatRange(0, 600),
    default="1",
    show_default=True,
    metavar="SECONDS",
    help="How long to wait until every kube-apiserver has seen a change.",
)
@click.option(
    "--keep-freeze", is_flag=True, help="With --switch: leave the definition's own objects frozen at the end."
)
@click.option(
    "--writers-are-stopped",
    is_flag=True,
    help="With --switch: nobody writes these objects, I have seen to that; do without a ValidatingAdmissionPolicy.",
)
def import_(**options: Any) -> None:
    """Copy the objects of live CustomResourceDefinitions into a store, follow them, and switch to an extension server.

    Everything can be interrupted and run again. Exit status: 0 done, 1 a step could not be done, 130 after Ctrl-C.
    """
    if sum(bool(options[name]) for name in ("once", "switch", "abort")) > 1:
        raise click.UsageError("--once, --switch and --abort exclude each other")
    if options["switch"] and bool(options["apiservice"]) == bool(options["service"]):
        raise click.UsageError("--switch needs either --apiservice FILE or --service NAMESPACE/NAME")
    from extapi.console.running import run  # noqa: PLC0415 - --help should answer at once

    sys.exit(run(lambda reactor: _import(reactor, options)))


async def _import(reactor: Any, options: Mapping[str, Any]) -> int:
    from extapi.takeover.cluster import connect, kubeconfig_path  # noqa: PLC0415 - see above
    from extapi.takeover.moved import read_kinds  # noqa: PLC0415
    from extapi.takeover.record import store_path  # noqa: PLC0415
    from extapi.takeover.switch import Switch  # noqa: PLC0415

    path = store_path(options["storage"])
    cluster, close = connect(reactor, kubeconfig_path(options["kubeconfig"]), options["context"])
    try:
        kinds = await read_kinds(cluster, options["definitions"])
        switch = Switch(cluster, kinds, path, reactor, options["settle"], by_hand=options["writers_are_stopped"])
        if options["abort"]:
            await switch.abort()
        elif options["switch"]:
            await _switch(reactor, cluster, switch, options)
        else:
            await _copy(reactor, cluster, switch, once=options["once"])
    finally:
        await close()
    return 0


async def _copy(reactor: Any, cluster: Cluster, switch: Switch, *, once: bool) -> None:
    """Copy, and follow until the operator has seen enough.

    Raises:
        TakeoverFailure: The versions have moved, so that reads come from the new server.
    """
    from twisted.internet.defer import CancelledError  # noqa: PLC0415 - see above

    from extapi.console.display import say  # noqa: PLC0415
    from extapi.takeover.copying import Copies  # noqa: PLC0415
    from extapi.takeover.failure import TakeoverFailure  # noqa: PLC0415

    if moved := await switch.moved():
        raise TakeoverFailure(
            f"{', '.join(route.name for route in moved)}: an extension server serves it already, so that the definition's "
            "objects cannot be read"
        )
    copies = Copies(cluster, switch.kinds, reactor, switch.path)
    try:
        await copies.copy()
        if once:
            return
        copies.follow()
        say("following; Ctrl-C ends it, and the same command goes on; --switch switches")
        try:
            await copies.followed()
        except CancelledError:
            await copies.hold()
            say("stopped: " + ", ".join(f"{each.name} at {version}" for each, version in copies.positions()))
    finally:
        await copies.close()


async def _switch(reactor: Any, cluster: Cluster, switch: Switch, options: Mapping[str, Any]) -> None:
    """All steps that are left.

    Raises:
        TakeoverFailure: A step failed.
    """
    from extapi.console.display import say  # noqa: PLC0415
    from extapi.takeover.copying import Copies  # noqa: PLC0415 - see above
    from extapi.takeover.failure import TakeoverFailure  # noqa: PLC0415
    from extapi.takeover.routing import of_flags, read_file  # noqa: PLC0415

    services = (
        read_file(options["apiservice"], switch.routes)
        if options["apiservice"]
        else of_flags(options["service"], options["ca"], switch.routes)
    )
    moved = await switch.moved()
    began = None
    if len(moved) < len(switch.routes) and not await switch.is_complete():
        if moved:
            raise TakeoverFailure(
                f"{', '.join(route.name for route in moved)} moved and the rest did not, and the freeze did not last: go back "
                "with extapi import --abort, then switch again"
            )
        copies = Copies(cluster, switch.kinds, reactor, switch.path)
        try:
            await copies.copy()
            copies.follow()
            began = reactor.seconds()
            await switch.complete(copies)
        finally:
            await copies.close()
        if not options["start"]:
            say(
                f"now start the server on sqlite:///{switch.path}, then run the same command again; or go back with "
                "extapi import --abort. Until then writes are refused"
            )
            return
        await switch.start(options["start"])
    await switch.move(services)
    if began is not None:
        say(f"writes were refused for {reactor.seconds() - began:.1f} s")
    await switch.finish(keep=options["keep_freeze"])
