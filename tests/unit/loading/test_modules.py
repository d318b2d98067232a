"""An author's modules, imported anew: what changes, what stays, and that a mistake leaves everything as it was."""

from __future__ import annotations

import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from extapi.api.definition import Api, Kind
from extapi.loading.module import LoadingError, load_api
from extapi.loading.modules import AuthorsModules

TOPPINGS = """\
from extapi import Kind, Object, Struct, Version
class Spec(Struct):
    cost: int = 1
class Topping(Object):
    spec: Spec
TOPPING = Kind("Topping", storage="v1", versions={"v1": Version(Topping)})
"""
PIZZAS = TOPPINGS.replace("Topping", "Pizza").replace("TOPPING", "PIZZA")
API = """\
from extapi import Api, Group
from mine import pizzas
from mine.toppings import TOPPING
api = Api(Group("mine.example.com", pizzas.PIZZA, TOPPING))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The author's package ``mine``, with two modules of kinds and one that puts them together."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    before = set(sys.modules)
    directory = tmp_path / "mine"
    directory.mkdir()
    for name, text in {"__init__": "", "toppings": TOPPINGS, "pizzas": PIZZAS, "api": API}.items():
        (directory / f"{name}.py").write_text(text)
    yield directory
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"mine", "besides"}:
            del sys.modules[name]


def write(path: Path, text: str) -> None:
    """Replace a file as an editor does; it has another number afterwards."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def kinds(api: Api) -> dict[str, Kind]:
    return {kind.name: kind for group in api.groups for kind in group.kinds}


def cost() -> object:
    """The default in the module of toppings that is imported now."""
    return sys.modules["mine.toppings"].Spec().cost


def ours() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "mine"}


def test_only_what_depends_on_a_file_that_changed_is_imported_again(package: Path) -> None:
    before = load_api("mine.api:api")
    modules, loaded = AuthorsModules("mine.api:api"), ours()
    seen = modules.look()
    write(package / "toppings.py", TOPPINGS.replace("cost: int = 1", "cost: int = 2"))
    assert modules.look() != seen
    reimport = modules.import_changed()
    reimport.accept()
    assert cost() == 2
    assert kinds(reimport.api)["Topping"] is not kinds(before)["Topping"]
    assert kinds(reimport.api)["Pizza"] is kinds(before)["Pizza"]
    again = ours()
    assert {name for name in loaded if again[name] is not loaded[name]} == {"mine.api", "mine.toppings"}


def test_source_of_the_same_second_and_size_is_not_taken_for_what_is_cached(package: Path) -> None:
    """Python compares seconds and sizes."""
    source = package / "toppings.py"
    py_compile.compile(str(source))
    load_api("mine.api:api")
    modules = AuthorsModules("mine.api:api")
    times = source.stat().st_mtime_ns
    write(source, TOPPINGS.replace("cost: int = 1", "cost: int = 2"))
    os.utime(source, ns=(times, times))
    modules.import_changed()
    assert cost() == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "import nothing_of_this_name\n",
            "mine/toppings.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
        ("x = (\n", "mine/toppings.py:1: '(' was never closed"),
        (
            TOPPINGS.replace("cost: int", "cost: complex"),
            "mine/toppings.py:3: Spec.cost: complex has no structural schema",
        ),
    ],
)
def test_after_a_mistake_everything_is_as_before_until_it_is_repaired(package: Path, text: str, problem: str) -> None:
    before = load_api("mine.api:api")
    modules, loaded = AuthorsModules("mine.api:api"), ours()
    write(package / "toppings.py", text)
    with pytest.raises(LoadingError) as caught:
        modules.import_changed()
    assert problem.replace("SyntaxError: ", "") in str(caught.value).replace("SyntaxError: ", "")
    assert ours() == loaded
    assert sys.modules["mine"].toppings is loaded["mine.toppings"]
    seen = modules.look()
    write(package / "toppings.py", TOPPINGS.replace("cost: int = 1", "cost: int = 3"))
    assert modules.look() != seen
    reimport = modules.import_changed()
    assert cost() == 3
    assert kinds(reimport.api)["Pizza"] is kinds(before)["Pizza"]


def test_a_module_that_was_missing_is_noticed_when_it_comes(package: Path) -> None:
    load_api("mine.api:api")
    modules = AuthorsModules("mine.api:api")
    write(package / "toppings.py", f"from mine.prices import CHEAP\n{TOPPINGS.replace('= 1', '= CHEAP')}")
    with pytest.raises(LoadingError, match=r"No module named 'mine\.prices'"):
        modules.import_changed()
    seen = modules.look()
    (package / "prices.py").write_text("CHEAP = 7\n")
    assert modules.look() != seen
    modules.import_changed().accept()
    write(package / "prices.py", "CHEAP = 8\n")
    modules.import_changed()
    assert cost() == 8


def test_a_mistake_in_a_module_that_is_new_is_noticed_when_it_is_repaired(package: Path) -> None:
    """It is not among the modules, as its import has failed."""
    load_api("mine.api:api")
    modules = AuthorsModules("mine.api:api")
    (package / "prices.py").write_text("CHEAP = 1 / 0\n")
    write(package / "toppings.py", f"from mine.prices import CHEAP\n{TOPPINGS.replace('= 1', '= CHEAP')}")
    with pytest.raises(LoadingError, match="ZeroDivisionError"):
        modules.import_changed()
    assert "mine.prices" not in sys.modules
    seen = modules.look()
    write(package / "prices.py", "CHEAP = 7\n")
    assert modules.look() != seen
    modules.import_changed()
    assert cost() == 7


def test_what_cannot_be_served_is_taken_back(package: Path) -> None:
    load_api("mine.api:api")
    modules, loaded = AuthorsModules("mine.api:api"), ours()
    write(package / "toppings.py", TOPPINGS.replace("cost: int = 1", "cost: int = 2"))
    (package / "prices.py").write_text("")
    write(package / "api.py", f"import mine.prices\n{API}")
    modules.import_changed().undo()
    assert ours() == loaded
    assert not hasattr(sys.modules["mine"], "prices")
    write(package / "api.py", API)
    modules.import_changed()
    assert cost() == 2  # it still differs from what is imported


def test_libraries_are_not_followed(package: Path) -> None:
    """An author's directory may hold the environment with all libraries."""
    library = package.parent / "venv" / "lib" / "site-packages" / "besides"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    write(package / "toppings.py", f"import sys\nsys.path.append({str(library.parent)!r})\nimport besides\n{TOPPINGS}")
    load_api("mine.api:api")
    sys.path.remove(str(library.parent))
    names = {str(Path(path).relative_to(package.parent)) for path in AuthorsModules("mine.api:api").look()}
    assert names == {"mine/__init__.py", "mine/api.py", "mine/pizzas.py", "mine/toppings.py"}


def test_the_examples_within_extapi_are_an_authors_code() -> None:
    load_api("extapi.pizza:api")
    names = {Path(path).parent.name for path in AuthorsModules("extapi.pizza:api").look()}
    assert names == {"pizza"}


def test_a_file_that_is_gone_is_a_mistake_of_those_who_import_it(package: Path) -> None:
    load_api("mine.api:api")
    modules, loaded = AuthorsModules("mine.api:api"), ours()
    (package / "toppings.py").unlink()
    with pytest.raises(LoadingError, match=r"cannot import mine\.api"):
        modules.import_changed()
    assert ours() == loaded


def test_without_a_change_the_api_is_the_same_object(package: Path) -> None:
    del package
    api = load_api("mine.api:api")
    assert AuthorsModules("mine.api:api").import_changed().api is api
