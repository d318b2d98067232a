"""Checks whether an author's schema is structural, and reports all errors at once (behaviour J12 to J18).

Texts and paths are those of the validation of CRDs, whose parts this puts together for authors: each mistake is said once, and
some that kube-apiserver overlooks are said too. :mod:`extapi.crd.validation` puts them together for definitions.

Source: ``apiextensions-apiserver/pkg/apiserver/schema`` (validation, complete) and
``pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from extapi.api.jsonvalue import NotJSONError, check_json
from extapi.errors import FieldError
from extapi.schema.check_defaults import DefaultCheck
from extapi.schema.check_keywords import Asked, check_keywords
from extapi.schema.check_structure import structure_errors
from extapi.schema.structural import MISSING, Structural, join
from extapi.schema.unreadable import unreadable


def check(structural: Structural, path: str = "", *, every_default: bool = False) -> list[FieldError]:
    """Check the schema of a whole object, with its rules.

    Args:
        structural: The schema.
        path: Where the schema stands, such as ``spec.versions[0].schema.openAPIV3Schema``.
        every_default: Also check the defaults and rules of fields that are right while others are wrong, and each default with
            those inside of it. Otherwise they are checked only once the structure is right, rules after defaults, as in
            kube-apiserver.

    Returns:
        The errors, sorted; none if the schema is structural.
    """
    found = [*structure_errors(structural, path, everywhere=True), *_constants(structural, path)]
    if structural.nullable:
        found.append(FieldError.forbidden(join(path, "nullable"), "nullable cannot be true at the root"))
    of_keywords = check_keywords(structural, path, Asked(of_author=True))
    sound = _Soundness([*found, *of_keywords])
    if every_default:
        of_rules = _rules(structural, path, sound)
        sound = _Soundness([*found, *of_keywords, *of_rules])
        found += [*of_rules, *DefaultCheck(sound.is_sound, of_author=True).errors(structural, path)]
    elif not found and not unreadable(structural):
        found += DefaultCheck(sound.is_sound).errors(structural, path)
        if not found:
            found += _rules(structural, path, sound)
    found += of_keywords
    # Errors are compared by their texts: values need not be hashable.
    return [error for _, error in sorted({error.text(): error for error in found}.items())]


def _rules(structural: Structural, path: str, sound: _Soundness) -> list[FieldError]:
    if not structural.has_rules:
        return []
    from extapi.schema.cel.checks import check_rules  # noqa: PLC0415 -- without rules it is not needed

    return check_rules(structural, path, sound.is_sound)


class _Soundness:
    """Which parts of a schema have errors: broken schemas cannot judge values, and cannot be compiled against."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self._wrong = tuple(error.path for error in errors)

    def is_sound(self, path: str) -> bool:
        """Whether there is no error at a path or below."""
        return not any(wrong.startswith(path) for wrong in self._wrong)


def _constants(node: Structural, path: str) -> Iterator[FieldError]:
    """Constants that are not JSON for every client: a default such as NaN would be stored with every object."""
    constants = {
        "default": node.default,
        "enum": list(node.enum),
        "minimum": node.minimum,
        "maximum": node.maximum,
        "multipleOf": node.multiple_of,
    }
    for keyword, constant in constants.items():
        if constant is MISSING:
            continue
        try:
            check_json(constant)
        except NotJSONError as error:
            at = f"{join(path, keyword)}{'.' if error.path[:1] not in ('', '[') else ''}{error.path}"
            yield FieldError.forbidden(at, f"must be JSON that every client can read, but is {error.why}")
    for at, sub in (*node.branches(), *node.nodes()):
        yield from _constants(sub, join(path, at))
