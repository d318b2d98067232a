"""The order in which admission plugins are asked: all mutators, later all validators (spec I1, I2).

Knows nothing of what plugins do. An answer that is not one refuses: a plugin that fails must not let anything through.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from extapi.admission.base import Mutator, Operation, Review, Startable, Validator
from extapi.conversion.hub import Unfit
from extapi.errors import ApiError, InternalError

_log = Logger()


class AdmissionChain:
    """Plugins in order. Raises TypeError for one that has nothing to do: neither mutates nor validates nor starts."""

    def __init__(self, plugins: Iterable[Mutator | Validator | Startable]) -> None:
        self._plugins = tuple(plugins)
        self._mutators = tuple(plugin for plugin in self._plugins if isinstance(plugin, Mutator))
        self._validators = tuple(plugin for plugin in self._plugins if isinstance(plugin, Validator))
        for plugin in self._plugins:
            if not isinstance(plugin, Mutator | Validator | Startable):
                raise TypeError(f"admission plugin {_name(plugin)} has neither a method mutate nor validate nor start")

    async def start(self, context: Any) -> None:
        """Start those that want to be, in order; what one raises ends the start of the server."""
        for plugin in self._plugins:
            if isinstance(plugin, Startable):
                await plugin.start(context)

    async def mutate(self, review: Review, renewed: Callable[[Review, str], Review] | None = None) -> Review:
        """Ask all mutators; the review as it stands then. ``renewed`` makes the next one's of what one has changed.

        Raises the ApiError of the first that refuses, InternalError for one that fails.
        """
        for plugin in self._mutators:
            await _answer(plugin, plugin.mutate(review), review)
            if renewed is not None:
                review = renewed(review, f"admission plugin {_name(plugin)}")
        return review

    async def validate(self, review: Review) -> None:
        """Ask all validators. Raises as :meth:`mutate`."""
        for plugin in self._validators:
            await _answer(plugin, plugin.validate(review), review)


async def _answer(plugin: Any, asked: Awaitable[None], review: Review) -> None:
    try:
        await asked
    except Unfit as unfit:
        if review.operation is not Operation.DELETE:
            raise
        # Nobody could ever delete it otherwise. A plugin that guards such objects reads ``old_as_version``.
        text = (
            "{plugin} is not asked about the deletion of {resource} {namespace}/{name}, which it cannot be shown: {why}"
        )
        found = {"resource": review.resource, "namespace": review.namespace, "name": review.name, "why": unfit.message}
        _log.warn(text, plugin=_name(plugin), **found)
    except (ApiError, CancelledError):
        raise
    except Exception as error:
        raise InternalError.because(f"admission plugin {_name(plugin)} failed") from error


def _name(plugin: Any) -> str:
    return f'"{type(plugin).__name__}"'
