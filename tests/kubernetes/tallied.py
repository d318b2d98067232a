"""An API with a controller that one of several processes runs, for ``extapi serve tests.kubernetes.tallied:api``."""

from __future__ import annotations

import os
from typing import Any

from extapi import CLUSTER, Api, Context, Group, Kind, NotFound, Version
from tests.kubernetes import ledger

GROUP = "tally.example.com"
TALLIES = (GROUP, "v1", "tallies")
PATH = f"/apis/{GROUP}/v1/tallies/all"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {each: {"type": "integer"} for each in ("lines", "steps", "writer")}}
    },
}


class Tallier:
    """Keeps one object that says how many lines of the ledger there are, and which process has counted them."""

    async def run(self, context: Context) -> None:
        """Count again whenever a line changes."""
        queue = context.queue()
        lines = context.informer(
            ledger.GROUP, ledger.VERSION, ledger.PLURAL, on_change=lambda _event, _line: queue.add("all")
        )

        async def tally(name: str) -> None:
            steps = [int(line["spec"]["step"]) for line in lines.items()]
            spec = {"lines": len(steps), "steps": sum(steps), "writer": os.getpid()}
            try:
                await context.patch(*TALLIES, name, {"spec": spec})
            except NotFound:
                made = {"apiVersion": f"{GROUP}/v1", "kind": "Tally", "metadata": {"name": name}}
                await context.create(*TALLIES, {**made, "spec": spec})

        await lines.wait_synced()
        queue.add("all")
        await queue.each(tally)


api = Api(
    *ledger.api.groups,
    Group(
        GROUP,
        Kind("Tally", storage="v1", plural="tallies", scope=CLUSTER, status=False, versions={"v1": Version(SCHEMA)}),
    ),
    controllers=[Tallier()],
)
"""The ledger, whose lines tests write, and the tally, which the controller writes."""
