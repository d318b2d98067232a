"""The order in which admission plugins run: all mutators, later all validators (behaviour I1, I2).

Knows nothing about what plugins do. A plugin that fails refuses the write.
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
    """Admission plugins, in order."""

    def __init__(self, plugins: Iterable[Mutator | Validator | Startable]) -> None:
        """Sort plugins by what they implement.

        Raises:
            TypeError: A plugin implements none of the protocols.
        """
        self._plugins = tuple(plugins)
        self._mutators = tuple(plugin for plugin in self._plugins if isinstance(plugin, Mutator))
        self._validators = tuple(plugin for plugin in self._plugins if isinstance(plugin, Validator))
        for plugin in self._plugins:
            if not isinstance(plugin, Mutator | Validator | Startable):
                raise TypeError(f"admission plugin {_name(plugin)} has neither a method mutate nor validate nor start")

    async def start(self, context: Any) -> None:
        """Start the plugins that are :class:`Startable`, in order. An exception of a plugin aborts the start of the server."""
        for plugin in self._plugins:
            if isinstance(plugin, Startable):
                await plugin.start(context)

    async def mutate(self, review: Review, renewed: Callable[[Review, str], Review] | None = None) -> Review:
        """Run all mutators.

        Args:
            review: The write.
            renewed: Called after each mutator that looked at the object, with the review and a description of the mutator;
                returns the review for the next one, which has the object as it was changed.

        Returns:
            The review after the last mutator.

        Raises:
            ApiError: A mutator refused the write.
            InternalError: A mutator failed.
        """
        for plugin in self._mutators:
            await _run(plugin, plugin.mutate(review), review)
            if renewed is not None and review.accessed:
                review = renewed(review, f"admission plugin {_name(plugin)}")
        return review

    async def validate(self, review: Review) -> None:
        """Run all validators.

        Raises:
            ApiError: A validator refused the write.
            InternalError: A validator failed.
        """
        for plugin in self._validators:
            await _run(plugin, plugin.validate(review), review)


async def _run(plugin: Any, running: Awaitable[None], review: Review) -> None:
    try:
        await running
    except Unfit as unfit:
        if review.operation is not Operation.DELETE:
            raise
        # Otherwise the object could never be deleted. A plugin that protects such objects reads ``old_as_version``.
        text = (
            "{plugin} is ignored for the deletion of {resource} {namespace}/{name}, which does not fit its type: {why}"
        )
        found = {"resource": review.resource, "namespace": review.namespace, "name": review.name, "why": unfit.message}
        _log.warn(text, plugin=_name(plugin), **found)
    except (ApiError, CancelledError):
        raise
    except Exception as error:
        raise InternalError.because(f"admission plugin {_name(plugin)} failed") from error


def _name(plugin: Any) -> str:
    return f'"{type(plugin).__name__}"'
