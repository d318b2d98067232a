"""A kind's rules in Python: what its author writes besides the types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extapi.errors import FieldError


class Strategy:
    """An author's rules for a kind. Override the hooks that you need; by default they do nothing.

    Objects are instances of the hub type; without a hub, of the storage version's type; dicts where there are no types.
    ``old`` is the stored object, or None on create. Nobody may change it.

    The hooks are plain functions and must return at once, without I/O. The server calls them again when a write meets a
    conflict and is repeated, and for dry runs, so they must not have side effects outside the object.

    A hook never sees an object that breaks its schema: the client gets the schema's errors instead. (Objects that were
    stored before a type changed are the exception; see docs/reference/types.md.) An :class:`ApiError` that a hook
    raises becomes the response. Any other exception becomes a 500, and its traceback is logged.

    Example::

        class Sizes(Strategy):
            def prepare(self, obj, old):
                obj.spec.size = obj.spec.size.lower()

            def validate(self, obj, old):
                if old is not None and obj.spec.size != old.spec.size:
                    yield FieldError.forbidden("spec.size", "may not change")

    Source: ``k8s.io/apiserver/pkg/registry/rest`` RESTCreateStrategy, RESTUpdateStrategy and
    RESTGracefulDeleteStrategy.
    """

    def prepare(self, obj: Any, old: Any | None) -> None:
        """Adjust ``obj`` before it is validated: normalize fields, set what clients may not choose.

        Runs on create, update and patch, once per attempt to write, after the mutating plugins and before validation;
        not for ``status`` or other subresources. May change ``obj``; afterwards it is pruned and defaulted again.
        Raising :class:`ApiError` refuses the write.
        """

    def validate(self, obj: Any, old: Any | None) -> Iterable[FieldError]:
        """Return or yield one error per rule that ``obj`` breaks; none if it may be stored.

        Runs on every write, of subresources too, once per attempt, after :meth:`prepare` and the schema's validation.
        Must not change ``obj``. All errors become one response, 422 with a cause for each. Raising :class:`ApiError`
        refuses the write for a reason other than the object's content.
        """
        del obj, old
        return ()

    def warn(self, obj: Any, old: Any | None) -> Iterable[str]:
        """Return or yield texts for the client, which kubectl prints; they are sent as Warning headers.

        Runs after :meth:`validate` found no errors, once per attempt. Must not change ``obj``. The write succeeds
        whatever is returned; raising :class:`ApiError` refuses it.
        """
        del obj, old
        return ()

    def prepare_for_deletion(self, obj: Any) -> None:
        """Adjust ``obj`` when it is marked for deletion, for example set a phase in its status.

        Runs once per object, in the delete that sets ``metadata.deletionTimestamp`` because a finalizer or
        :meth:`blocks_deletion` keeps the object; not if the object is removed at once. May change ``obj``. Raising
        :class:`ApiError` refuses the delete.
        """

    def blocks_deletion(self, obj: Any) -> bool:
        """Return whether a deleted ``obj`` must stay although ``metadata.finalizers`` is empty.

        Runs on each delete, and on each write of an object that is marked for deletion. The object is removed by the
        first of these that leaves it without finalizers and for which this returns False. Must not change ``obj``.
        Raising :class:`ApiError` refuses the request.
        """
        del obj
        return False
