"""The parameters of operations: which there are, and which of them stand once for all operations of a path.

Source: ``k8s.io/apiserver/pkg/endpoints`` AddObjectParams, ``k8s.io/kube-openapi/pkg/builder`` findCommonParameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extapi.schema.openapi_meta import parameter_texts

GET: Final = ("resourceVersion",)
WATCHING: Final = frozenset({"allowWatchBookmarks", "watch"})
"""Those of lists that speak of watches."""
LIST: Final = (
    *WATCHING, "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch",
    "sendInitialEvents", "shardSelector", "timeoutSeconds",
)  # fmt: skip
WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
PATCH: Final = ("dryRun", "fieldManager of a patch", "fieldValidation", "force")
DELETE: Final = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "propagationPolicy",
)  # fmt: skip
DELETECOLLECTION: Final = (*DELETE, *(name for name in LIST if name not in WATCHING))
"""Of Kubernetes' own kinds; custom resources name those of lists alone."""


@dataclass(frozen=True, order=True)
class Parameter:
    """A parameter of the path or the query."""

    name: str
    where: str
    type: str
    description: str


def parameters(names: Iterable[str]) -> list[Parameter]:
    """Parameters of the query by their names in the tuples above."""
    texts = parameter_texts()
    return [
        Parameter(name.removesuffix(" of a patch"), "query", texts[name]["type"], texts[name]["description"])
        for name in names
    ]


def of_path(path: str, kind: str) -> list[Parameter]:
    """What the path names, and ``pretty``, which every operation has."""
    namespace = parameter_texts()["namespace"]["description"]
    known = {
        "name": Parameter("name", "path", "string", f"name of the {kind}"),
        "namespace": Parameter("namespace", "path", "string", namespace),
    }
    return [one for name, one in known.items() if f"{{{name}}}" in path] + parameters(["pretty"])


def common(each: Sequence[Sequence[Parameter]]) -> list[Parameter]:
    """The parameters that are the same in all operations of a path."""
    return sorted(set(each[0]).intersection(*each[1:]))
