"""Warnings of formats that nobody checks.

Source: ``apiextensions-apiserver/pkg/registry/customresourcedefinition`` strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.crd.validation.internal import Spec
from extapi.fielderrors import MOST_ERRORS, go_quote
from extapi.schema.formats import enforced
from extapi.schema.structural import Structural


def format_warnings(spec: Spec, old: Spec | None) -> list[str]:
    """The warnings of a spec, each once; on update those that are new.

    Args:
        spec: The spec.
        old: The stored one; None on create.
    """
    before = set() if old is None else {*_formats(old)}
    found = [f"unrecognized format {go_quote(each)}" for each in dict.fromkeys(_formats(spec)) if each not in before]
    return found[:MOST_ERRORS]


def _formats(spec: Spec) -> Iterator[str]:
    for version in spec.schemas():
        if version.read.structural is not None:  # otherwise it is refused, and nobody is warned
            yield from _unrecognized(version.read.structural)


def _unrecognized(node: Structural) -> Iterator[str]:
    types = (node.type,) if node.type else ()
    if node.format and not enforced(types, node.format):
        yield node.format
    if node.items is not None:
        yield from _unrecognized(node.items)
    for group in (node.all_of, node.any_of, node.one_of):
        for branch in group:
            yield from _unrecognized(branch)
    for sub in (node.not_, *node.properties.values(), node.additional):
        if sub is not None:
            yield from _unrecognized(sub)
