"""``tests/unit`` mirrors ``extapi``: ``extapi/PACKAGE/NOUN.py`` is tested by ``tests/unit/PACKAGE/test_NOUN.py``.

Modules that are tested elsewhere are listed in ``elsewhere.txt``, one per line::

    extapi/PACKAGE/NOUN.py: tests/unit/PACKAGE/test_OTHER.py, why

The reason may be left out. A test file has to reach what it tests: it imports or runs the module, directly or through others.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

OURS = ("extapi", "examples", "tests")
OBJECT = re.compile(r"(extapi|examples|tests)(\.\w+)*:\w+")
ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("elsewhere.txt")
MODULES = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "extapi").rglob("*.py") if not path.name.startswith("__")
)


def parsed(lines: str) -> dict[str, str]:
    """The test file of each listed module."""
    entries = {}
    for line in lines.splitlines():
        if line.strip() and not line.startswith("#"):
            module, _, rest = line.partition(": ")
            assert module not in entries, f"{module} is listed twice"
            entries[module] = rest.partition(",")[0].strip()
    return entries


def twin(module: str) -> str:
    """Where the tests of a module are by rule."""
    path = Path(module)
    return str(Path("tests", "unit", *path.parts[1:-1], f"test_{path.name}"))


def file_of(module: str) -> Path | None:
    """The file of a module of ours; None for other modules, and for names in modules."""
    path = ROOT.joinpath(*module.split("."))
    for found in (path.with_suffix(".py"), path / "__init__.py"):
        if found.is_file():
            return found
    return None


@cache
def promised() -> Mapping[str, str]:
    """The modules that define the names of ``extapi``: importing one of these names reaches its module alone."""
    tree = ast.parse((ROOT / "extapi" / "__init__.py").read_text())
    return {
        name.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }


def imported(node: ast.AST) -> Iterator[str]:
    """The modules that an import statement names, and what may be modules."""
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module == "extapi":
        yield from (promised().get(name.name, f"extapi.{name.name}") for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{name.name}" for name in node.names)


def named(node: ast.AST, folder: Path) -> Iterator[Path | None]:
    """The files that strings name, for an interpreter to run: ``-m MODULE``, ``MODULE:NAME``, and a script beside."""
    if isinstance(node, ast.List | ast.Tuple):
        texts = [each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        for flag, module in itertools.pairwise(texts):
            if flag == "-m" and module.startswith(OURS):
                yield file_of(module)
                yield file_of(f"{module}.__main__")
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100:
        if OBJECT.fullmatch(node.value):
            yield file_of(node.value.partition(":")[0])
        elif node.value.endswith(".py") and (folder / node.value).is_file():
            yield folder / node.value


@cache
def imports(path: Path) -> frozenset[Path]:
    """Our files that a file imports or runs."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {name for node in nodes for name in imported(node) if name.startswith(OURS)}
    found = [*map(file_of, names), *(each for node in nodes for each in named(node, path.parent))]
    return frozenset(each for each in found if each is not None)


@cache
def reached(test: Path) -> frozenset[Path]:
    """Every file of ours that a test file imports or runs, directly or not; its conftest files belong to it."""
    waiting = [test, *(found for folder in test.parents if (found := folder / "conftest.py").is_file())]
    seen = set(waiting)
    while waiting:
        new = imports(waiting.pop()) - seen
        seen |= new
        waiting += new
    return frozenset(seen)


def wrong(module: str, elsewhere: Mapping[str, str]) -> str:
    """What is wrong with where a module is tested, or the empty string."""
    own, listed = twin(module), elsewhere.get(module)
    exists = (ROOT / own).is_file()
    if not (ROOT / module).is_file():
        return "it is listed and does not exist"
    if listed is None and not exists:
        return f"it has neither {own} nor a line in {LIST.relative_to(ROOT)}"
    if listed is not None and exists:
        return f"it is listed although it has {own}"
    test = listed or own
    if not (ROOT / test).is_file() or not Path(test).name.startswith("test_"):
        return f"{test} is not a test file"
    text, name = (ROOT / test).read_text(), module.removesuffix(".py").replace("/", ".")
    if ROOT / module not in reached(ROOT / test) and f"from {name} import" not in text:  # in a program that it writes
        return f"{test} neither imports nor runs it"
    return ""


@pytest.mark.parametrize("module", sorted({*MODULES, *parsed(LIST.read_text())}))
def test_every_module_is_tested_where_a_reader_looks(module: str) -> None:
    assert wrong(module, parsed(LIST.read_text())) == ""


QUANTITY = "extapi/api/quantity.py"
LISTED = next(iter(parsed(LIST.read_text())))


@pytest.mark.parametrize(
    ("module", "elsewhere", "text"),
    [
        (LISTED, {}, "neither"),
        (QUANTITY, {QUANTITY: "tests/unit/api/test_quantity.py"}, "although"),
        ("extapi/api/gone.py", {"extapi/api/gone.py": "tests/unit/api/test_names.py"}, "does not exist"),
        (LISTED, {LISTED: "tests/unit/api/test_gone.py"}, "not a test file"),
        (LISTED, {LISTED: "tests/unit/worst_cases.py"}, "not a test file"),
        (LISTED, {LISTED: "tests/unit/api/test_strconv.py"}, "neither imports nor runs"),
    ],
)
def test_mistakes_are_found(module: str, elsewhere: dict[str, str], text: str) -> None:
    assert text in wrong(module, elsewhere)
