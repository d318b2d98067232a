"""The order in which admission plugins run: all mutators, later all validators (behaviour I1, I2).

Knows nothing about what plugins do. A plugin that fails refuses the write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from extapi.admission.base import Mutator, Operation, Review, Startable, Validator
from extapi.admission.reinvocation import ReinvocationContext
from extapi.admission.rulesources import RuleSources
from extapi.conversion.hub import Unfit
from extapi.errors import ApiError, BadRequest, InternalError, go_quote

_log = Logger()


class AdmissionChain:
    """Admission plugins, in order: those that are built in, then the author's."""

    def __init__(
        self,
        plugins: Iterable[Mutator | Validator | Startable],
        builtin: Iterable[Mutator | Validator | Startable] = (),
        *,
        before: AdmissionChain | None = None,
    ) -> None:
        """Sort plugins by what they implement.

        Args:
            plugins: The author's.
            builtin: Those that run before, and are all called again when one of the author's has changed the object.
            before: The chain that this one replaces. A plugin that is in both is not started again.

        Raises:
            TypeError: A plugin implements none of the protocols.
        """
        builtin = tuple(builtin)
        self._plugins = (*builtin, *plugins)
        self._started = [] if before is None else [plugin for plugin in self._plugins if before.has_started(plugin)]
        for plugin in self._plugins:
            if not isinstance(plugin, Mutator | Validator | Startable):
                raise TypeError(f"admission plugin {_name(plugin)} has neither a method mutate nor validate nor start")
        self._builtin = tuple(_Plugin(plugin) for plugin in builtin if isinstance(plugin, Mutator))
        self._mutators = tuple(
            _Plugin(plugin) for plugin in self._plugins[len(builtin) :] if isinstance(plugin, Mutator)
        )
        self._validators = tuple(_Plugin(plugin) for plugin in self._plugins if isinstance(plugin, Validator))
        # Most writes are about no configuration of the cluster: then those that keep them are not even asked.
        rules = next((each.rules for each in (*self._builtin, *self._validators) if each.rules is not None), None)
        self._rules: RuleSources | None = rules
        self._unruled = tuple(each for each in self._builtin if each.rules is None or each.rules is not rules)
        self._unruled_validators = tuple(
            each for each in self._validators if each.rules is None or each.rules is not rules
        )

    async def start(self, context: Any, only: Sequence[Any] | None = None) -> None:
        """Start the plugins that are :class:`Startable` and have not been started, in order.

        An exception of a plugin aborts the start of the server. ``only``: start no others yet.
        """
        for plugin in self._plugins:
            wanted = only is None or any(plugin is one for one in only)
            if wanted and isinstance(plugin, Startable) and not self.has_started(plugin):
                self._started.append(plugin)
                await plugin.start(context)

    def has_started(self, plugin: Any) -> bool:
        """Whether this very plugin has been started, be it in an earlier chain."""
        return any(plugin is one for one in self._started)

    async def mutate(self, review: Review, renewed: Renewed | None = None) -> Review:
        """Run all mutators; if one of the author's changed the object, once more those that have to see the change.

        Args:
            review: The write.
            renewed: Called after each mutator that looked at the object, with the review and a description of the mutator;
                returns the review for the next one, which has the object as it was changed.

        Returns:
            The review after the last mutator.

        Raises:
            ApiError: A mutator refused the write.
            InternalError: A mutator failed.

        Source: ``k8s.io/apiserver/pkg/admission`` reinvoker, ``pkg/admission/plugin/webhook/mutating`` Dispatch.
        """
        context = review.reinvocation = ReinvocationContext()
        builtin, rules = self._builtin, self._rules
        if rules is not None and not rules.concern(review):
            builtin, context.silent = self._unruled, rules.generation
        review, _ = await self._through_builtin(builtin, review, renewed)
        reinvocation = Reinvocation()
        review = await reinvocation.pass_through(self._mutators, review, renewed)
        if not (reinvocation.wanted or context.wanted):
            return review
        context.again = True
        review, changed = await self._through_builtin(builtin, review, renewed)
        if changed:
            reinvocation.require()
        return await reinvocation.pass_through(reinvocation.due(self._mutators), review, renewed)

    async def _through_builtin(
        self, builtin: Sequence[_Plugin], review: Review, renewed: Renewed | None
    ) -> tuple[Review, bool]:
        """The review after mutators that are built in, and whether one of them has changed the object."""
        changed = False
        for plugin in builtin:
            if plugin.handles(review):
                review, changes = await plugin.mutate(review, renewed)
                changed = changed or changes
                if plugin.compares and review.reinvocation is not None:
                    review.reinvocation.outputs[plugin.name] = review.obj
        return review, changed

    async def validate(self, review: Review) -> None:
        """Run all validators.

        Raises:
            ApiError: A validator refused the write.
            InternalError: A validator failed.
        """
        validators, rules, context = self._validators, self._rules, review.reinvocation
        if rules is not None:
            silent = context is not None and context.silent == rules.generation
            if silent or not rules.concern(review):
                validators = self._unruled_validators
        for plugin in validators:
            await plugin.validate(review)


Renewed = Callable[[Review, str], Review]


class Reinvocation:
    """Which of the author's mutators have to be called once more for one write.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/mutating`` webhookReinvokeContext.
    """

    def __init__(self) -> None:
        self.wanted = False
        """Whether a mutator changed the object."""
        self._invoked: list[_Plugin] = []
        """Those that may be called again, and have seen the object as it is now."""
        self._due: list[_Plugin] = []

    def require(self) -> None:
        """The object has changed: whoever has seen it has to see it again."""
        self._due += self._invoked
        self._invoked = []

    def due(self, plugins: Iterable[_Plugin]) -> Iterator[_Plugin]:
        """Those that have to be called again when their turn comes."""
        return (plugin for plugin in plugins if plugin in self._due)

    async def pass_through(self, plugins: Iterable[_Plugin], review: Review, renewed: Renewed | None) -> Review:
        """Run mutators one after the other, and note what they change; the review after the last one."""
        for plugin in plugins:
            if not plugin.handles(review):
                continue
            review, changed = await plugin.mutate(review, renewed)
            if changed:
                self.require()
                self.wanted = True
            if plugin.reinvoked and plugin not in self._invoked:
                self._invoked.append(plugin)
        return review


class _Plugin:
    """A plugin, with what it declares."""

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin
        self.name: str = getattr(plugin, "plugin_name", "") or type(plugin).__name__.strip("_").lower()
        self._described = f"admission plugin {_name(plugin)}"
        self.reinvoked = getattr(plugin, "reinvocation_policy", "Never") == "IfNeeded"
        self.compares = getattr(plugin, "compares_output", False)
        """Whether it has to know whether the object has changed since it was asked."""
        self.rules: RuleSources | None = getattr(plugin, "rules", None)
        """The configurations that it keeps, with those that others keep; None: it keeps none."""
        self._lasting = getattr(plugin, "side_effects", "NoneOnDryRun") == "Some"
        self._handles: Callable[[Review], bool] | None = getattr(plugin, "handles", None)

    def handles(self, review: Review) -> bool:
        """Whether the plugin wants to be asked about the write.

        Raises:
            InternalError: It failed.
        """
        if self._handles is None:
            return True
        try:
            return bool(self._handles(review))
        except ApiError:
            raise
        except Exception as error:
            raise InternalError.because(f"{self._described} failed") from error

    async def mutate(self, review: Review, renewed: Renewed | None) -> tuple[Review, bool]:
        """The review for the next mutator, and whether this one changed the object."""
        await self._run(self._plugin.mutate, review)
        if renewed is None or not review.accessed:
            return review, False
        after = renewed(review, self._described)
        after.reinvocation = review.reinvocation
        return after, after is not review and after.obj != review.obj

    async def validate(self, review: Review) -> None:
        """Ask the plugin."""
        if self.handles(review):
            await self._run(self._plugin.validate, review)

    async def _run(self, method: Callable[[Review], Awaitable[None]], review: Review) -> None:
        if review.dry_run and self._lasting:
            raise BadRequest(f"admission webhook {go_quote(self.name)} does not support dry run")
        review.plugin = self.name
        try:
            await method(review)
        except Unfit as unfit:
            if review.operation is not Operation.DELETE:
                raise
            # Otherwise the object could never be deleted. A plugin that protects such objects reads ``old_as_version``.
            text = "{plugin} is ignored for the deletion of {resource} {namespace}/{name}, which does not fit its type: {why}"
            found = {
                "resource": review.resource,
                "namespace": review.namespace,
                "name": review.name,
                "why": unfit.message,
            }
            _log.warn(text, plugin=_name(self._plugin), **found)
        except (ApiError, CancelledError):
            raise
        except Exception as error:
            raise InternalError.because(f"{self._described} failed") from error


def _name(plugin: Any) -> str:
    return f'"{type(plugin).__name__}"'
