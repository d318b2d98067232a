"""Where the fields are that the ``scale`` subresource reads and writes: as an author declares it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAMES = re.compile(r"(\.[^.\[\]]+)*")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The ``scale`` subresource, for ``kubectl scale`` and autoscalers: the fields that hold the numbers of replicas.

    In CRDs it is ``subresources.scale``. Paths have names only, as in ``.spec.workers.count``.

    Example::

        scale = Scale(spec_replicas_path=".spec.cooks", status_replicas_path=".status.cooks")
    """

    spec_replicas_path: str
    """The field below ``.spec`` with the wanted number: an integer from 0 to 2147483647."""
    status_replicas_path: str
    """The field below ``.status`` with the number that there is."""
    label_selector_path: str = ""
    """The string below ``.spec`` or ``.status`` that selects the pods, as in ``app=kitchen``; autoscalers need it."""


def path_problems(scale: Scale) -> Iterator[str]:
    """Paths that are none, or lie elsewhere (behaviour J8).

    Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` ValidateCustomResourceDefinitionSubresources,
    which takes brackets for a part of a name.
    """
    paths = (
        ("spec_replicas_path", "under .spec", (".spec.",)),
        ("status_replicas_path", "under .status", (".status.",)),
        ("label_selector_path", "under either .spec or .status", (".spec.", ".status.")),
    )
    for name, where, roots in paths:
        path = getattr(scale, name)
        if not isinstance(path, str):
            yield f"{name} must be a string, not {path!r}"
        elif path:
            why = _path_problem(path) or ("" if path.startswith(roots) else f"should be a json path {where}")
            if why:
                yield f'{name}: Invalid value: "{path}": {why}'
        elif name != "label_selector_path":
            yield f"{name}: Required value"


def _path_problem(path: str) -> str:
    if not path.startswith("."):
        return "must be a simple json path starting with ."
    return "" if _NAMES.fullmatch(path) else "must be a json path in the dot notation"
