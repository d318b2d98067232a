"""What of an API a CustomResourceDefinition with webhooks can do, and what it cannot, which is said at start.

Pure: from :class:`~extapi.api.definition.Api` to kinds and texts.
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.api.definition import Api, Kind
from extapi.api.strategy import Strategy
from extapi.registry.served import ServedKind


def served_kinds(api: Api) -> Iterator[ServedKind]:
    """The kinds that can be custom resources, compiled.

    Raises:
        DeclarationError: A kind is wrong.
    """
    for group in api.groups:
        for kind in group.kinds:
            if not _refusal(kind, group.name):
                yield ServedKind(kind, group.name)


def refused(api: Api) -> Iterator[str]:
    """The kinds and subresources that no definition can have, with the reason: an API that has some cannot be served as CRDs alone."""
    for group in api.groups:
        for kind in group.kinds:
            why = _refusal(kind, group.name)
            yield from (f"{kind.plural}.{group.name}: {text}" for text in ([why] if why else _unserved(kind)))


def not_supported(api: Api) -> Iterator[str]:
    """Everything that the API has and webhooks do not do, one text each, for authors and operators."""
    for group in api.groups:
        for kind in group.kinds:
            where = f"{kind.plural}.{group.name}"
            if why := _refusal(kind, group.name):
                yield f"{where}: {why}"
            else:
                yield from (f"{where}: {text}" for text in _missing(kind))


def _refusal(kind: Kind, group: str) -> str:
    """Why a kind cannot be a custom resource; empty if it can."""
    if kind.rest is not None:
        return "its objects are not stored (rest=), and custom resources always are"
    if "." not in group:
        return "its group has no dot, and those of custom resources have one"
    return ""


def _missing(kind: Kind) -> Iterator[str]:
    strategy = type(kind.strategy)
    name = strategy.__name__
    if strategy.prepare is not Strategy.prepare and any(map(kind.status_of, kind.versions)):
        yield (
            f"a status that {name}.prepare sets is dropped: with a status subresource, kube-apiserver empties it on create "
            "and keeps it on update"
        )
    if strategy.prepare_for_deletion is not Strategy.prepare_for_deletion:
        yield f"{name}.prepare_for_deletion is not called: no webhook can change an object that is deleted"
    if strategy.blocks_deletion is not Strategy.blocks_deletion:
        yield f"{name}.blocks_deletion is not asked: kube-apiserver asks finalizers alone; set one in prepare"
    yield from _unserved(kind)


def _unserved(kind: Kind) -> Iterator[str]:
    """The subresources that custom resources do not have."""
    for subresource, declared in kind.subresources.items():
        what = f"field {declared.field}" if declared.field else "Python code"
        yield f"subresource {subresource} is not served: it is {what}, and custom resources have status and scale only"


__all__ = ["not_supported", "refused", "served_kinds"]
