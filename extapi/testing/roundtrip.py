"""Property tests of an author's conversions: random objects of every version go through the hub and back.

Needs hypothesis, which comes with the extra ``test``; it is imported only when something here is called::

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
from extapi.schema.program import Schema
from extapi.schema.structural import replace
from extapi.testing.generation import Generation

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_GROUP = "roundtrip.example.com"

Normal = Callable[[Obj], Any]


def objects(cls: type[msgspec.Struct]) -> SearchStrategy[Any]:
    """A hypothesis strategy of instances of a type that are valid by its schema: all annotations and markers are kept.

    Raises TypeError for what it has no values for: an annotation that no schema has, or a format that it does not know.
    """
    return Generation().struct(cls)


def check_round_trip(
    kind: Kind, version: str | None = None, *, normal: Normal | None = None, examples: int = 100
) -> None:
    """Assert that objects of ``version`` (of every version, if None) come back from the hub as they went in.

    ``normal`` maps an object (a dict, in the version it began in) to what has to be the same; use it where a version
    leaves something open, such as the order of a list. Versions without a Python type are passed over. Raises
    AssertionError with the smallest object found that does not come back, InternalError if a converter fails, TypeError for
    a field that it finds no valid values for, DeclarationError for a type that has no schema.
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
    # Names are carried around the author's functions: rules on them have nothing to say here.
    properties = {name: node for name, node in structural.properties.items() if name != "metadata"}
    schema = Schema(replace(structural, properties=properties))

    @hypothesis.settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(values.struct(form))
    def check(obj: Any) -> None:
        # As a server does: what a client sends and what a conversion makes is pruned and defaulted by the version's schema.
        before = {**msgspec.to_builtins(obj), **start}
        schema.coerce(before)
        hypothesis.assume(not schema.validate(before))
        after = converter.from_hub(converter.to_hub(before, version), version)
        schema.coerce(after)
        if same(after) != same(before):
            raise AssertionError(f"{version} > hub > {version} does not come back: {before} became {after}")

    try:
        check()
    except hypothesis.errors.Unsatisfiable as error:
        raise TypeError(f"{version}: {values.barren()}") from error


def _whole(obj: Obj) -> Obj:
    return obj
