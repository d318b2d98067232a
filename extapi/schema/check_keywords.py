"""Checks keywords that make a schema wrong where they stand, although its structure is right (behaviour J16, J17, J30).

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` ValidateCustomResourceDefinitionOpenAPISchema.
"""

from __future__ import annotations

from collections.abc import Iterator

from extapi.errors import FieldError
from extapi.schema.check_lists import check_lists
from extapi.schema.structural import Structural, join

_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def check_keywords(node: Structural, path: str, *, nested: bool = False) -> Iterator[FieldError]:
    """The errors of a node and of all below, also inside of junctors (allOf, anyOf, oneOf, not).

    Args:
        node: The node.
        path: Where it is.
        nested: Whether it is inside of a junctor.
    """
    at = join(path, "type")
    if node.type and node.type not in _TYPES:
        if node.type == "null":
            yield FieldError.forbidden(at, "type cannot be set to null, use nullable as an alternative")
        else:
            yield FieldError.not_supported(at, node.type, _TYPES)
    if node.unique_items:
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield FieldError.forbidden(join(path, "uniqueItems"), text)
    if not nested:
        if node.properties and node.additional_properties not in (None, True):
            text = "additionalProperties and properties are mutual exclusive"
            yield FieldError.forbidden(join(path, "additionalProperties"), text)
        yield from check_lists(node, path)
    if node.validations:
        from extapi.schema.cel.checks import check_written_rules  # noqa: PLC0415 -- without rules it is not needed

        yield from check_written_rules(node, path)
    for where, branch in node.branches():
        yield from check_keywords(branch, join(path, where), nested=True)
    for where, sub in node.nodes():
        yield from check_keywords(sub, join(path, where), nested=nested)
