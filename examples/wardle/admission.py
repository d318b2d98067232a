"""Admission of flunders: fischers disallow names."""

from __future__ import annotations

from extapi import Context, Informer, Operation, Review

GROUP = "wardle.example.com"
FISCHERS = (GROUP, "v1alpha1", "fischers")


class BanFlunder:
    """Refuses new flunders with a name that any fischer disallows.

    Fischers are read from an informer, as in sample-apiserver, so one that was created a moment ago may be missing.
    """

    def __init__(self) -> None:
        self._fischers: Informer | None = None

    async def start(self, context: Context) -> None:
        """Start to follow the fischers. The server is not ready until all are known."""
        self._fischers = context.informer(*FISCHERS)
        await self._fischers.wait_synced()

    async def mutate(self, review: Review) -> None:
        """Check the name. This runs before validation, so an invalid flunder with a banned name gets this error."""
        if review.kind.name != "Flunder" or review.operation is not Operation.CREATE:
            return
        if self._fischers is None:
            raise RuntimeError("the plugin was not started")
        name = review.display_name()
        if any(name in fischer.get("disallowedFlunders", ()) for fischer in self._fischers.items()):
            review.refuse("this name may not be used, please change the resource name")
