"""No flunder gets a name that a fischer disallows."""

from __future__ import annotations

from extapi import Context, Informer, Operation, Review

GROUP = "wardle.example.com"
FISCHERS = (GROUP, "v1alpha1", "fischers")


class BanFlunder:
    """Refuses new flunders with names that some fischer disallows.

    Fischers are read from a copy that follows them, as sample-apiserver does: one that was created a moment ago may not be
    in there yet.
    """

    def __init__(self) -> None:
        self._fischers: Informer | None = None

    async def start(self, context: Context) -> None:
        """Begin to follow the fischers. The server is not ready before all of them are known."""
        self._fischers = context.informer(*FISCHERS)
        await self._fischers.wait_synced()

    async def mutate(self, review: Review) -> None:
        """Look at the name. This comes before validation: of a flunder that is wrong as well, the ban is told."""
        if review.kind.name != "Flunder" or review.operation is not Operation.CREATE:
            return
        if self._fischers is None:
            raise RuntimeError("the plugin was not started")
        name = review.called()
        if any(name in fischer.get("disallowedFlunders", ()) for fischer in self._fischers.items()):
            review.refuse("this name may not be used, please change the resource name")
