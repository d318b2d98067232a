"""What each version of Kubernetes lets expressions use: asked of ``k8s.io/apiserver`` 1.36.3's ``EnvSet`` of that version."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from extapi.schema.cel import environment as module
from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declarations import overload
from extapi.schema.cel.declared import declare
from extapi.schema.cel.environment import (
    COMPATIBLE,
    CURRENT,
    LIBRARIES,
    STORED,
    Library,
    Version,
    base_environment,
    rule_environment,
)
from extapi.schema.cel.errors import CompileError, InstantiationError
from extapi.schema.structural import from_openapi
from tests.unit.schema.cel.compiling import declaration, of

INTRODUCED: list[tuple[str, int]] = [
    ("url('https://a')", 27),
    ("'a'.find('b')", 27),
    ("[1].sum()", 27),
    ("'a'.charAt(0)", 27),
    ("['a'].join()", 27),
    ("[1].isSorted()", 27),
    ("optional.of(1)", 28),
    ("{}.?a", 28),
    ("optional_type", 28),
    ("quantity('1') == quantity('1')", 28),
    ("1 < 1.0", 28),
    ("'%s'.format(['a'])", 29),
    ("strings.quote('a')", 29),
    ("sets.contains([1], [1])", 29),
    ("ip('1.1.1.1').family() == 4", 30),
    ("net.IP", 30),
    ("cidr('1.1.1.0/24')", 30),
    ("format.named('uuid')", 31),
    ("[1].all(i, x, x > i)", 32),
    ("[1].transformMap(i, x, x)", 32),
    ("semver('1.0.0')", 33),
    ("[2].sort()", 34),
    ("[1].sortBy(x, x)", 34),
    ("[1].distinct()", 34),
    ("lists.range(3)", 34),
]


def compiles(text: str, version: Version) -> bool:
    try:
        compile_expression(text, base_environment(version))
    except CompileError:
        return False
    return True


@pytest.mark.parametrize(("text", "minor"), INTRODUCED)
def test_what_a_version_brings(text: str, minor: int) -> None:
    versions = [(1, each) for each in range(27, 37)]
    assert [each for each in versions if compiles(text, each)] == [each for each in versions if each >= (1, minor)]
    assert compiles(text, STORED)


@pytest.mark.parametrize(
    "text", ["duration('x') == duration('1s')", "timestamp('x') == timestamp(0)", "'a'.matches('[')"]
)
def test_literals_are_checked_since_1_29(text: str) -> None:
    with pytest.raises(InstantiationError):
        compile_expression(text, base_environment((1, 28)))
    with pytest.raises(CompileError, match=r"invalid \w+ argument"):
        compile_expression(text, base_environment((1, 29)))


@pytest.mark.parametrize(
    "text",
    [
        "1 == 1.0",
        "'a'.reverse()",
        "math.greatest(1, 2)",
        "base64.encode(b'a')",
        "jsonpatch.escapeKey('a')",
        "cel.bind(x, 1, x)",
        "dyn({}).`a`",
        "authorizer",
        "dyn",
        "duration",
    ],
)
def test_what_no_rule_may_use(text: str) -> None:
    assert not compiles(text, COMPATIBLE)
    assert not compiles(text, STORED)


@pytest.mark.parametrize("minor", [27, 28, 29, 35])
def test_what_one_library_replaces_is_there_once(minor: int) -> None:
    functions = base_environment((1, minor)).language.functions
    identifiers = [each.id for several in functions.values() for each in several]
    assert len(identifiers) == len(set(identifiers))


def test_new_rules_may_use_what_the_version_before_has() -> None:
    assert (CURRENT[0], CURRENT[1] - 1) == COMPATIBLE  # DefaultCompatibilityVersion: n - 1


@pytest.fixture
def _new_function(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    brand_new = overload("brand_new", "brandNew(int) -> bool", bool)
    monkeypatch.setattr(module, "LIBRARIES", (*LIBRARIES, Library(CURRENT, (brand_new,))))
    base_environment.cache_clear()
    yield
    base_environment.cache_clear()


@pytest.mark.usefixtures("_new_function")
def test_what_this_version_brings_only_stored_rules_may_use() -> None:
    declared = declaration({"type": "integer"})
    with pytest.raises(CompileError, match="undeclared reference to 'brandNew'"):
        compile_expression("brandNew(self)", rule_environment(declared))
    assert compile_expression("brandNew(self)", rule_environment(declared, stored=True)).cost == (2, 2)


def test_reserved_words_are_fields_for_expressions_of_1_31() -> None:
    environment = rule_environment(declaration(of({"namespace": {"type": "string"}})))
    before = base_environment((1, 30)).with_variables(environment.variables)
    compile_expression("self.namespace == self.__namespace__", environment)
    compile_expression("self.__namespace__ == ''", before)
    with pytest.raises(CompileError, match="undefined field 'namespace'"):
        compile_expression("self.namespace == ''", before)


def test_the_variables_of_a_rule() -> None:
    declared = declaration({"type": "string"})
    (value, old) = rule_environment(declared).variables
    assert (value.name, value.type, value.declared, value.optional) == ("self", declared.type, declared, False)
    assert (old.name, old.type, old.declared, old.optional) == ("oldSelf", declared.type, declared, False)
    (value, old) = rule_environment(declared, optional_old_self=True).variables
    assert (value.type.name, old.type.name, old.optional) == ("string", "optional_type", True)


def test_schemas_add_names_of_types() -> None:
    """``duration`` and ``timestamp`` of ``k8s.io/apiserver/pkg/cel`` DeclTypeProvider; see test_folding.py."""
    made = rule_environment(declaration({"type": "string"}))
    assert set(made.types) - set(made.language.types) == {"duration", "timestamp"}
    assert base_environment().types.keys() == made.language.types.keys()


def test_objects_are_found_by_the_name_of_their_type() -> None:
    declared = declaration(of({"a": of({"b": {"type": "array", "items": of({})}}), "1x": of({})}))
    made = rule_environment(declared)
    found = {
        name: made.struct(name)
        for name in ("selfType1", "selfType1.a", "selfType1.a.b.@idx", "selfType1.1x", "selfType1.a.b")
    }
    inner = declared.properties["a"]
    assert found == {
        "selfType1": declared,
        "selfType1.a": inner,
        "selfType1.a.b.@idx": inner.properties["b"].element,
        "selfType1.1x": declared.properties["1x"],
        "selfType1.a.b": None,
    }
    assert (made.root_name, base_environment().root_name) == ("selfType1", "selfType1")


def test_the_name_of_the_schema_is_that_of_the_variables() -> None:
    declared = declare(from_openapi(of({})), name="selfType1.spec")
    assert declared is not None
    assert rule_environment(declared).root_name == "selfType1.spec"
