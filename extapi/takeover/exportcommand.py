"""``extapi export``: the command line, and the steps of the way back.

1. The server is stopped, so that its store can be opened: from then on nobody writes.
2. A freeze is made, which lets the exporter's writes pass; then the APIServices go, and kube-apiserver serves the definition
   again, with the objects of the day of the switch.
3. What differs is written, and compared; then the freeze goes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extapi.takeover.options import cluster_options

if TYPE_CHECKING:
    from extapi.storage.base import Backend
    from extapi.takeover.cluster import Cluster
    from extapi.takeover.moved import MovedKind
    from extapi.takeover.restoring import Outcome

SHOWN = 10
"""How many objects a message names."""


@click.command("export")
@cluster_options
@click.option(
    "--crd",
    "definitions",
    multiple=True,
    required=True,
    metavar="NAME",
    help="The CustomResourceDefinition that the objects go back to; may be repeated.",
)
@click.option("--storage", required=True, metavar="URL", help="The store of the server, sqlite:///PATH.")
@click.option(
    "--stop",
    metavar="COMMAND",
    default="",
    help="The shell command that stops the server; it has to return once it has ended.",
)
def export(**options: Any) -> None:
    """Write the objects of an extension server's store back into their CustomResourceDefinition, which then serves again.

    Can be interrupted and run again. Objects that the definition still has from before keep their uid; new ones get another.
    Exit status: 0 done, 1 a step could not be done, 130 after Ctrl-C.
    """
    from extapi.console.running import run  # noqa: PLC0415 - --help should answer at once

    sys.exit(run(lambda reactor: _export(reactor, options)))


async def _export(reactor: Any, options: Mapping[str, Any]) -> int:
    from extapi.storage.sqlite import SqliteBackend  # noqa: PLC0415 - see above
    from extapi.takeover.cluster import connect, kubeconfig_path  # noqa: PLC0415
    from extapi.takeover.failure import TakeoverFailure  # noqa: PLC0415
    from extapi.takeover.moved import read_kinds  # noqa: PLC0415
    from extapi.takeover.record import store_path  # noqa: PLC0415
    from extapi.takeover.shell import command  # noqa: PLC0415

    path = store_path(options["storage"])
    if not path.is_file():
        raise TakeoverFailure(f"there is no file {path}; name the one of the server's --storage")
    cluster, close = connect(reactor, kubeconfig_path(options["kubeconfig"]), options["context"])
    try:
        kinds = await read_kinds(cluster, options["definitions"])
        if options["stop"]:
            await command(reactor, "--stop", options["stop"], "Stop the server and run the same command again")
        backend = SqliteBackend(reactor, path)
        try:
            return await _back(reactor, cluster, kinds, path, backend)
        finally:
            await backend.close()
    finally:
        await close()


async def _back(reactor: Any, cluster: Cluster, kinds: Sequence[MovedKind], path: Path, backend: Backend) -> int:
    """Steps 2 and 3; the exit status."""
    from extapi.console.display import bar, say  # noqa: PLC0415 - see above
    from extapi.takeover.freeze import Freeze  # noqa: PLC0415
    from extapi.takeover.restoring import Restoration  # noqa: PLC0415
    from extapi.takeover.switch import Switch  # noqa: PLC0415

    switch = Switch(cluster, kinds, path, reactor, 0.0)
    exporter = await cluster.user()
    freezes = [Freeze(cluster, kind, exempt=exporter) for kind in kinds]
    for freeze in freezes:
        await freeze.make()
    await switch.move_back()
    for freeze in freezes:
        await freeze.begin()
        say(f"frozen: {freeze.kind.name} is served by kube-apiserver, and takes the exporter's writes only")
    failed = False
    for kind in kinds:
        restoration = Restoration(cluster, kind, backend)
        with bar(kind.name) as report:
            outcome = await restoration.run(report)
        _tell(kind, outcome, await restoration.differing())
        failed = failed or bool(outcome.failures)
    if failed:
        click.echo("Error: writes are still refused; put these objects right and run the same command again", err=True)
        return 1
    for freeze in freezes:
        await freeze.thaw()
    say("done: the freeze is gone. Restart what watches these objects: its resourceVersions are the store's")
    return 0


def _tell(kind: MovedKind, outcome: Outcome, differing: Sequence[str]) -> None:
    """What became of the objects of a kind; those that differ afterwards count as failures."""
    from extapi.console.display import say  # noqa: PLC0415 - see above

    named = {failure.partition(":")[0] for failure in outcome.failures}
    outcome.failures += [f"{title}: differs from the store" for title in differing if title not in named]
    say(
        f"{kind.name}: {outcome.updated} updated, {outcome.created} created, {outcome.deleted} deleted, "
        f"{outcome.unchanged} as they were"
    )
    if outcome.new_uids:
        say(
            f"{kind.name}: {len(outcome.new_uids)} objects have a new uid ({_some(outcome.new_uids)}); ownerReferences to the "
            "former one, which is in their annotation extapi.takeover/former-uid, have to be written anew"
        )
    for failure in outcome.failures[:SHOWN]:
        click.echo(f"Error: {kind.name}: {failure}", err=True)
    if len(outcome.failures) > SHOWN:
        click.echo(f"Error: {kind.name}: and {len(outcome.failures) - SHOWN} more", err=True)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
