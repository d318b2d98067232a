"""The schema of a version, or the one that all share: its parts judged in kube-apiserver's order.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` validateCustomResourceDefinitionValidation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from extapi.crd.validation.internal import VersionSpec
from extapi.crd.validation.options import Options, walk
from extapi.fielderrors import FieldError, RawValue
from extapi.schema.check_defaults import DefaultCheck
from extapi.schema.check_keywords import check_keywords
from extapi.schema.check_structure import structure_errors
from extapi.schema.gojson import fields_set, go_json, schema_as_go
from extapi.schema.structural import Structural
from extapi.schema.unreadable import unreadable

MOST_RULES: Final = 5_000
"""Rules of one schema: compiling takes a millisecond and more for each. Real schemas have at most some hundred."""
_AT_ROOT: Final = (
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
)
"""The fields of Go's type that a root may have if there is a subresource status, whose schema is taken out of it."""


def schema_errors(version: VersionSpec, path: str, *, name: str, status: bool, options: Options) -> list[FieldError]:
    """The errors of the schema of a version.

    Args:
        version: What has the schema.
        name: The version that says whether the schema has changed.
        path: Where what holds it is: ``spec.validation``, or ``spec.versions[0].schema``.
        status: Whether there is a subresource status.
        options: What is asked.
    """
    written = version.structure
    if written is None:
        return []
    at = f"{path}.openAPIV3Schema"
    errors = list(_root(written, at)) if status else []
    if written.get("nullable"):
        errors.append(FieldError.forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    structural = version.read.structural
    if structural is None:
        return [*errors, *(FieldError.invalid(at, RawValue("null"), line) for line in version.read.why.splitlines())]
    why, rules = "", False
    if options.structural:
        why = unreadable(structural)
        found = [] if why else structure_errors(structural, at)
        if not why and not found:
            found = list(DefaultCheck(pruned=options.schema.pruned_defaults).errors(structural, at))
        rules = not why and not found
        errors += found
    of_keywords = check_keywords(structural, at, options.schema)
    errors += of_keywords
    if rules:
        errors += _rules(structural, at, of_keywords, options, any_cost=name in options.unchanged)
    if why and not errors:
        errors.append(FieldError.invalid(at, "", why))
    return errors


def _root(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for name in fields_set(schema):
        if name == "Type":
            if schema["type"] != "object":
                text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
                yield FieldError.invalid(f"{path}.type", schema["type"], text)
                return
        elif name not in _AT_ROOT:
            allowed = " ".join(_AT_ROOT)
            text = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
            yield FieldError.invalid(path, RawValue(go_json(schema_as_go(schema))), text)
            return


def _rules(
    structural: Structural, path: str, errors: Iterable[FieldError], options: Options, *, any_cost: bool
) -> list[FieldError]:
    count = sum(len(node.validations) for node in walk(structural))
    if not count:
        return []
    if count > MOST_RULES:
        return [FieldError.too_many(path, count, MOST_RULES)]
    from extapi.schema.cel.checks import check_rules  # noqa: PLC0415 -- without rules it is not needed

    wrong = tuple(error.path for error in errors)

    def is_sound(at: str) -> bool:
        return not any(each.startswith(at) for each in wrong)

    return check_rules(structural, path, is_sound, stored=options.stored, any_cost=any_cost)
