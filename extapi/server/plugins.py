"""The admission plugins that are asked now, and how others take their place while requests go on.

Knows chains and contexts, not requests. A request that began before ends on the chain with which it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from extapi.admission.base import Startable
from extapi.admission.chain import AdmissionChain
from extapi.clock import Late, in_time
from extapi.server.context import Context

STARTING = 30.0
"""Seconds that plugins which take the place of others have to start."""


class NotStarted(Exception):
    """Plugins that take the place of others take too long to start."""


class PluginSet:
    """A chain, and the context for those of its plugins that no chain before has started."""

    def __init__(self, chain: AdmissionChain, plugins: Sequence[Any], builtin: Sequence[Any]) -> None:
        self.chain = chain
        self.plugins = tuple(plugins)
        """The author's plugins."""
        self.context: Context | None = None
        self._startable = [each for each in (*builtin, *plugins) if isinstance(each, Startable)]

    async def start(self, context: Context, only: Sequence[Any] | None = None) -> None:
        """Start the plugins that are new, in order.

        Args:
            context: The server's. They get one of their own, so that their informers can end with them.
            only: Start no others yet.

        Raises:
            Exception: What a plugin raises.
        """
        if self.context is None:
            self.context = context.own()
        await self.chain.start(self.context, only)

    async def start_soon(self, context: Context, only: Sequence[Any] | None = None) -> None:
        """The same, within :data:`STARTING` seconds.

        Raises:
            NotStarted: They have not started by then.
            Exception: What a plugin raises.
        """
        try:
            await in_time(context.clock, STARTING, Deferred.fromCoroutine(self.start(context, only)))
        except Late:
            raise NotStarted(f"its plugins have not started within {STARTING:g} s") from None

    def has_any(self, used: Sequence[Any]) -> bool:
        """Whether one of these objects may have got the context."""
        return any(plugin is one for plugin in self._startable for one in used)

    def stop(self) -> None:
        """End the informers of its plugins."""
        if self.context is not None:
            self.context.stop()


class Plugins:
    """The one reference to the chain that is asked.

    Args:
        plugins: The author's plugins.
        builtin: Those that run before; they stay.

    Raises:
        TypeError: A plugin implements none of the protocols.
    """

    def __init__(self, plugins: Sequence[Any], builtin: Sequence[Any]) -> None:
        self._builtin = tuple(builtin)
        self.now = PluginSet(AdmissionChain(plugins, builtin), plugins, builtin)
        self._generations = [self.now]
        """Those with a context that is in use."""

    @property
    def chain(self) -> AdmissionChain:
        """Read it once per request."""
        return self.now.chain

    async def start(self, context: Context, only: Sequence[Any] | None = None) -> None:
        """Start the plugins of the present chain; see :meth:`PluginSet.start`.

        Raises:
            Exception: What a plugin raises.
        """
        await self.now.start(context, only)

    def following(self, plugins: Sequence[Any]) -> PluginSet:
        """The chain that may replace the present one; plugins that are in both stay as they are.

        Raises:
            TypeError: A plugin implements none of the protocols.
        """
        return PluginSet(AdmissionChain(plugins, self._builtin, before=self.chain), plugins, ())

    def use(self, generation: PluginSet) -> None:
        """Ask another chain from now on."""
        self.now = generation
        if generation not in self._generations:
            self._generations.append(generation)

    def end_unused(self, others: Iterable[Any] = ()) -> None:
        """End the informers that plugins have started which are not asked any more.

        Args:
            others: What stays of the objects that were started as plugins but do more than that, such as feeds.
        """
        used = [*self._builtin, *self.now.plugins, *others]
        for generation in self._generations:
            if generation is not self.now and not generation.has_any(used):
                generation.stop()
        self._generations = [each for each in self._generations if each is self.now or each.has_any(used)]

    def stop(self) -> None:
        """End all their informers."""
        for generation in self._generations:
            generation.stop()
