"""Property tests of an author's conversions: random objects of every version are converted to the hub and back.

Needs hypothesis, which comes with the extra ``test`` and is imported only when one of the functions is called::

    def test_pizza_versions_lose_nothing() -> None:
        check_round_trip(PIZZA)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from extapi.api.definition import Kind
from extapi.api.types import Obj, Object
from extapi.conversion.hub import HubConverter
from extapi.schema.compile import compile_type
from extapi.schema.schema import Schema
from extapi.schema.structural import replace
from extapi.testing.generation import Generation

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_GROUP = "roundtrip.example.com"

Normal = Callable[[Obj], Any]


def objects(cls: type[msgspec.Struct]) -> SearchStrategy[Any]:
    """A hypothesis strategy for instances of a type that are valid by its schema, with all annotations and markers.

    Raises:
        TypeError: It cannot make values for an annotation or a format.
    """
    return Generation().struct(cls)


def check_round_trip(
    kind: Kind, version: str | None = None, *, normal: Normal | None = None, examples: int = 100
) -> None:
    """Assert that objects are unchanged after a conversion to the hub and back.

    Versions without a Python type are skipped.

    Args:
        kind: The kind whose conversions are tested.
        version: The version to begin in; None for every version.
        normal: Maps an object (a dict in that version) to what must stay the same, where a version leaves something open,
            such as the order of a list.
        examples: How many objects to try per version.

    Raises:
        AssertionError: An object changed; the smallest one found is shown.
        InternalError: A converter failed.
        TypeError: No valid values were found for a field.
        DeclarationError: A type has no schema.
    """
    converter = HubConverter(kind, _GROUP)
    for name in [version] if version is not None else list(kind.versions):
        form = kind.versions[name].type
        if isinstance(form, type):
            _check(converter, name, form, normal or _whole, examples)


def _check(converter: HubConverter, version: str, form: type[Object], same: Normal, examples: int) -> None:
    import hypothesis  # noqa: PLC0415 -- an extra, and slow to import

    start = {"apiVersion": converter.api_version(version), "kind": converter.kind.name}
    structural, values = compile_type(form), Generation()
    # Metadata does not pass through the author's functions, so its rules do not matter here.
    properties = {name: node for name, node in structural.properties.items() if name != "metadata"}
    schema = Schema(replace(structural, properties=properties))

    @hypothesis.settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(values.struct(form))
    def check(obj: Any) -> None:
        # As in a server, the version's schema prunes and defaults both the client's object and the converted one.
        before = {**msgspec.to_builtins(obj), **start}
        schema.prune_and_default(before)
        hypothesis.assume(schema.accepts(before))
        after = converter.from_hub(converter.to_hub(before, version), version)
        schema.prune_and_default(after)
        if same(after) != same(before):
            raise AssertionError(f"{version} > hub > {version} does not come back: {before} became {after}")

    try:
        check()
    except hypothesis.errors.Unsatisfiable as error:
        raise TypeError(f"{version}: {values.barren()}") from error


def _whole(obj: Obj) -> Obj:
    return obj
