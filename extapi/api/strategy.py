"""The rules of a kind in Python: what its author writes besides the types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extapi.errors import FieldError


class Strategy:
    """An author's rules for a kind. Every method may be left out.

    Objects are of the hub type; of the storage version's type where there is no hub; dicts where there is no type. ``old``
    is the stored object, None on create, and never changed by anybody. All methods are plain functions that return at once,
    and are called again when the write meets a conflict: what they do besides must not last. An :class:`ApiError` that one
    of them raises is the client's answer; any other exception is answered with 500, and its traceback is logged.

    Example::

        class Sizes(Strategy):
            def prepare(self, obj, old):
                obj.spec.size = obj.spec.size.lower()

            def validate(self, obj, old):
                if old is not None and obj.spec.size != old.spec.size:
                    yield FieldError.forbidden("spec.size", "may not change")

    An object that breaks its schema is never shown here; of what was stored before the type changed,
    docs/reference/types.md says more. Source: ``k8s.io/apiserver/pkg/registry/rest`` RESTCreateStrategy and RESTUpdateStrategy.
    """

    def prepare(self, obj: Any, old: Any | None) -> None:
        """Adjust ``obj`` before it is validated. May change ``obj``, and returns nothing.

        Called on create, update and patch, after the mutating plugins; not for writes of ``status`` or another subresource.
        """

    def validate(self, obj: Any, old: Any | None) -> Iterable[FieldError]:
        """Every rule that ``obj`` breaks; none if it may be stored. Must not change ``obj``.

        Called for every write, those of subresources included, if the schema has no errors. All errors together become one
        answer: 422, with each as a cause. To refuse for another reason than the object's content, raise an
        :class:`ApiError` here.
        """
        del obj, old
        return ()

    def warn(self, obj: Any, old: Any | None) -> Iterable[str]:
        """Texts for the client, as Warning headers, which kubectl prints. Must not change ``obj``.

        Called when a write is valid; it is accepted all the same.
        """
        del obj, old
        return ()

    def begin_deletion(self, obj: Any) -> None:
        """Adjust ``obj`` when it is marked for deletion, because a finalizer or :meth:`holds` keeps it. May change ``obj``.

        Called once per object, by the delete that sets ``metadata.deletionTimestamp``; not where the object goes at once.
        Source: ``rest.RESTGracefulDeleteStrategy`` CheckGracefulDelete, and what the store of namespaces does.
        """

    def holds(self, obj: Any) -> bool:
        """Whether a deleted ``obj`` has to stay though ``metadata.finalizers`` is empty. Must not change ``obj``.

        Called by a delete, and by every write of an object that is marked for deletion: the first one that leaves it
        without finalizers and for which this is False removes it.
        """
        del obj
        return False
