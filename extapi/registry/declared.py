"""Checks of a kind's declaration against the schemas of its versions.

Finds columns, scales and subresources for which a version has no field, and versions that lose each other's data. A version with a
ready schema is judged as one of a CRD, where kube-apiserver refuses neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from extapi.api.declaration import DeclarationError, ProblemCollector
from extapi.api.definition import Kind
from extapi.api.types import Object
from extapi.codec.jsonpath import JSONPathError
from extapi.conversion.difference import Difference
from extapi.registry.scalepaths import scale_problems
from extapi.registry.schemapaths import column_problem, missing
from extapi.registry.selectable import selectable_problems
from extapi.schema.check import check
from extapi.schema.compile import compile_type
from extapi.schema.structural import Structural, from_openapi

_MOST = 12
"""Differences between two versions that are listed."""


def compiled(kind: Kind) -> dict[str, Structural]:
    """The schemas of a kind's versions.

    Raises:
        DeclarationError: A schema is wrong, or the declaration does not fit the schemas; with all mistakes.
    """
    problems = ProblemCollector()
    made = {
        name: problems.make(
            partial(_structural, f"kind {kind.name}: version {name}", version.type, checked=kind.behaviour.defined)
        )
        for name, version in kind.versions.items()
    }
    schemas = {name: structural for name, structural in made.items() if structural is not None}
    if kind.behaviour.defined:
        problems.check()
        return schemas
    for name, structural in schemas.items():
        problems.add(*_columns(kind, name, structural), *selectable_problems(kind, name, structural))
        if _typed(kind, name):
            problems.add(*scale_problems(kind, name, structural))
    problems.add(*_parts(kind, schemas), *_differences(kind, schemas), *_waiting(kind))
    problems.check()
    return schemas


def _structural(where: str, declared: type[Object] | Mapping[str, Any], *, checked: bool) -> Structural:
    """The schema of a version's type.

    Args:
        where: The kind and version, for the errors of a ready schema.
        declared: The type, or a ready schema.
        checked: Whether a ready schema has been checked, and is only read.

    Raises:
        DeclarationError: The type cannot be compiled, or the schema is wrong.
    """
    if isinstance(declared, type):
        return compile_type(declared)
    try:
        structural = from_openapi(declared)
    except ValueError as error:
        raise DeclarationError.of(f"{where}: {line}" for line in str(error).splitlines()) from error
    problems = [] if checked else [f"{where}: {error.text()}" for error in check(structural)]
    if problems:
        raise DeclarationError.of(problems)
    return structural


def _columns(kind: Kind, version: str, structural: Structural) -> Iterator[str]:
    """Columns that cannot be read; in versions with types also those that would always be empty."""
    for column in kind.columns_of(version) if kind.versions[version].served else ():
        where = f"kind {kind.name}: version {version}: column {column.name}"
        try:
            why = column_problem(column, structural)
        except JSONPathError as error:
            yield f"{where}: {error}"
        else:
            if why and _typed(kind, version):
                several = len(kind.versions) > 1 and kind.versions[version].columns is None
                yield f"{where}: {why}{f'; give version {version} columns= of its own' if several else ''}"


def _parts(kind: Kind, schemas: Mapping[str, Structural]) -> Iterator[str]:
    """Subresources whose field is in no version."""
    for name, subresource in kind.subresources.items():
        field = subresource.field
        open_or_there = [schema.preserve_unknown or schema.child(field) is not None for schema in schemas.values()]
        if field and kind.storage in schemas and not any(open_or_there):
            yield f"kind {kind.name}: subresource {name}: {missing(schemas[kind.storage].properties, field)}"


def _differences(kind: Kind, schemas: Mapping[str, Structural]) -> Iterator[str]:
    """Versions of a kind without a hub whose types differ from the stored one; ``schemas``: those that could be compiled."""
    if kind.hub is not None or kind.storage not in schemas or not _typed(kind, kind.storage):
        return
    stored = schemas[kind.storage]
    for name, structural in schemas.items():
        found = list(Difference(kind.storage, name).between(stored, structural)) if _typed(kind, name) else []
        if found:
            shown = "; ".join(found[:_MOST]) + (f"; and {len(found) - _MOST} more" if len(found) > _MOST else "")
            yield (
                f"kind {kind.name}: versions {kind.storage} and {name} differ, and without a hub a write through one loses or "
                f"breaks what the other says: {shown}. Write hub= with to_hub and from_hub of each version, or give both the "
                "same fields"
            )


def _waiting(kind: Kind) -> Iterator[str]:
    """What a kind cannot have if its converter may wait: types, since an author's code would have to wait for them."""
    if kind.behaviour.converter is None:
        return
    if kind.rest is not None:
        yield f"kind {kind.name}: has REST storage, so a converter would convert nothing"
    if kind.hub is not None or any(_typed(kind, version) for version in kind.versions):
        yield f"kind {kind.name}: has a converter and types; give each version a schema, and the kind no hub"


def _typed(kind: Kind, version: str) -> bool:
    return isinstance(kind.versions[version].type, type)
