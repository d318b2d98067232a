"""``extapi migrate``: the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extapi.takeover.options import cluster_options

if TYPE_CHECKING:
    from extapi.client.kube import ResourceName
    from extapi.takeover.cluster import Cluster
    from extapi.takeover.migration import MigrationPosition

VERBS = {"list", "patch"}


@click.command("migrate")
@cluster_options
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 10_000),
    default="50",
    show_default=True,
    metavar="NUMBER",
    help="How many objects per second to write.",
)
@click.option(
    "--progress",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to note how far it is, so that another run goes on there.",
)
@click.argument("resources", nargs=-1, required=True, metavar="RESOURCE.GROUP...")
def migrate(resources: Sequence[str], **options: Any) -> None:
    """Have the server store every object of these resources anew, in its storage version.

    Of a CustomResourceDefinition, the versions in which nothing is stored any more are then taken off status.storedVersions.
    Exit status: 0 done, 1 a step could not be done, 130 after Ctrl-C.
    """
    for each in resources:
        resource, _, group = each.partition(".")
        if not resource or not group:
            raise click.UsageError(f"{each!r} is not of the form RESOURCE.GROUP, such as crontabs.stable.example.com")
    from extapi.console.running import run  # noqa: PLC0415 - --help should answer at once

    sys.exit(run(lambda reactor: _migrate(reactor, resources, options)))


async def _migrate(reactor: Any, resources: Sequence[str], options: Mapping[str, Any]) -> int:
    from extapi.takeover.cluster import connect, kubeconfig_path  # noqa: PLC0415 - see above

    kubeconfig = kubeconfig_path(options["kubeconfig"])
    cluster, close = connect(reactor, kubeconfig, options["context"])
    server = f"{kubeconfig.resolve() if kubeconfig else 'this pod'} {options['context']}".strip()
    try:
        for each in resources:
            resource, _, group = each.partition(".")
            await _one(cluster, resource, group, server=server, rate=options["rate"], path=options["progress"])
    finally:
        await close()
    return 0


async def _one(cluster: Cluster, resource: str, group: str, *, server: str, rate: float, path: Path | None) -> None:
    """One resource.

    Raises:
        TakeoverFailure: It cannot be migrated; the text says why.
    """
    from extapi.console.display import bar, say  # noqa: PLC0415 - see above
    from extapi.takeover.migration import Migration, MigrationPosition  # noqa: PLC0415
    from extapi.takeover.positions import load, save  # noqa: PLC0415
    from extapi.takeover.pruning import prune, serving_definition, storage_version  # noqa: PLC0415

    where = await served(cluster, group, resource)
    definition = await serving_definition(cluster, group, where.version, resource)
    title = f"{resource}.{group}"
    # A position is worth nothing once the storage version is another one.
    mark = f"{server} {storage_version(definition)}" if definition is not None else server
    position = load(path, mark, title) if path is not None else None

    def note(new: MigrationPosition) -> None:
        if path is not None:
            save(path, new)

    migration = Migration(
        cluster.client, cluster.clock, where, rate=rate, position=position or MigrationPosition(mark, title), save=note
    )
    with bar(title) as report:
        counts = await migration.run(report)
    say(
        f"{title}: {counts.written} objects stored anew, {counts.unchanged} as they were, {counts.others} changed by others"
    )
    if definition is None:
        say(
            f"{title}: an extension server serves it; once it starts without an old version, it takes that off its record"
        )
    else:
        gone = await prune(cluster, definition)
        say(
            f"{title}: status.storedVersions is {storage_version(definition)}"
            + (f", without {', '.join(gone)}" if gone else "")
        )


async def served(cluster: Cluster, group: str, resource: str) -> ResourceName:
    """The resource in its preferred version.

    Raises:
        TakeoverFailure: The cluster does not serve it, or not so that objects can be written.
    """
    from extapi.client.kube import ResourceName  # noqa: PLC0415 - see above
    from extapi.console.failure import told  # noqa: PLC0415
    from extapi.errors import ApiError  # noqa: PLC0415
    from extapi.takeover.failure import TakeoverFailure  # noqa: PLC0415

    try:
        found = await cluster.client.call("GET", f"/apis/{group}")
        preferred = found["preferredVersion"]["version"]
        for version in dict.fromkeys([preferred, *(each["version"] for each in found["versions"])]):
            listed = await cluster.client.call("GET", f"/apis/{group}/{version}")
            for each in listed["resources"]:
                if each["name"] == resource:
                    if not set(each["verbs"]) >= VERBS:
                        raise TakeoverFailure(f"{resource}.{group} can be {', '.join(each['verbs'])}, and not patched")
                    return ResourceName(group, str(version), resource)
    except ApiError as error:
        raise TakeoverFailure(f"the group {group} cannot be discovered: {told(error)}") from error
    raise TakeoverFailure(
        f"the cluster serves no {resource} in the group {group}; kubectl api-resources lists what it serves"
    )
