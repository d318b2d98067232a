from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from extapi.loading.module import LoadingError, load_api

IMPORTS = """\
from typing import Annotated
from extapi import *
"""
API = """
api = Api(Group("things.example.com", Kind("Thing", storage="v1", versions={"v1": Version(Thing)})))
"""
AUTHORS_MODULE = f"{IMPORTS}class Thing(Object): pass\n{API}number = 1\n"

Load = Callable[[str], list[str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")  # and taken away again
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "authors_module.py").write_text(AUTHORS_MODULE)
    return tmp_path


@pytest.fixture
def load(here: Path) -> Load:
    """Loads ``mine:api`` with this text as ``mine.py``; the lines of what is wrong."""

    def problems(text: str) -> list[str]:
        (here / "mine.py").write_text(text)
        sys.modules.pop("mine", None)
        with pytest.raises(LoadingError) as caught:
            load_api("mine:api")
        sys.modules.pop("mine", None)  # for good: monkeypatch would put it back
        return str(caught.value).splitlines()

    return problems


@pytest.mark.usefixtures("here")
def test_a_module_in_the_working_directory_is_found() -> None:
    assert [group.name for group in load_api("authors_module:api").groups] == ["things.example.com"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("extapi.pizza", "'extapi.pizza' is not of the form MODULE:NAME, such as extapi.pizza:api"),
        (":api", "':api' is not of the form MODULE:NAME, such as extapi.pizza:api"),
        ("module:", "'module:' is not of the form MODULE:NAME, such as extapi.pizza:api"),
        ("authors_module:nothing", "module authors_module has no 'nothing'; write authors_module:api"),
        ("authors_module:number", "authors_module:number is int, not an extapi.Api; write authors_module:api"),
        ("extapi.pizza.cost:api", "module extapi.pizza.cost has no 'api'"),
    ],
)
def test_a_target_that_is_no_api_is_refused_with_what_to_write(target: str, message: str) -> None:
    with pytest.raises(LoadingError) as caught:
        load_api(target)
    assert str(caught.value) == message


def test_a_module_that_is_not_there_says_where_it_was_looked_for(here: Path) -> None:
    with pytest.raises(LoadingError) as caught:
        load_api("no_module:api")
    assert str(caught.value) == (
        f"cannot import no_module: No module named 'no_module'; searched in {here} and on Python's path"
    )


# -- errors of the author's own code: file, line, class and field, and the author's frames alone


def test_an_error_in_a_function_shows_the_way_to_it(load: Load) -> None:
    text = IMPORTS + "def size():\n    return Missing\nclass Spec(Struct):\n    size: int = size()\n"
    assert load(text) == [
        "cannot import mine: mine.py:4: Spec.size: NameError: name 'Missing' is not defined",
        "  mine.py:5 in <module>",
        "    class Spec(Struct):",
        "  mine.py:6 in Spec",
        "    size: int = size()",
        "  mine.py:4 in size",
        "    return Missing",
    ]


def test_an_error_in_another_module_of_the_author_names_that_one(here: Path, load: Load) -> None:
    (here / "parts_of_mine.py").write_text("\nraise RuntimeError('two\\nlines')\n")
    assert load("import parts_of_mine\n") == [
        "cannot import mine: parts_of_mine.py:2: RuntimeError: two lines",
        "  mine.py:1 in <module>",
        "    import parts_of_mine",
        "  parts_of_mine.py:2 in <module>",
        "    raise RuntimeError('two\\nlines')",
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("\nclass Spec(Struct:\n    pass\n", "mine.py:2: SyntaxError: invalid syntax"),
        ("\nimport nowhere_to_be_found\n", "mine.py:2: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("x = 1\nx.y\n", "mine.py:2: AttributeError: 'int' object has no attribute 'y'"),
        ("import json\njson.loads('{')\n", "mine.py:2: JSONDecodeError: Expecting property name"),
        ("assert False, 'no'\n", "mine.py:1: AssertionError: no"),
    ],
)
def test_every_error_names_file_and_line(load: Load, text: str, first: str) -> None:
    problems = load(text)
    assert problems[0].startswith(f"cannot import mine: {first}")
    assert not any("importlib" in line or "extapi" in line for line in problems)


def test_a_marker_that_is_called_wrongly_names_class_and_field(load: Load) -> None:
    text = IMPORTS + "class Spec(Struct):\n    size: Annotated[\n        int, Minimum(5, foo=1)\n    ] = 5\n"
    assert load(text)[0] == (
        "cannot import mine: mine.py:5: Spec.size: TypeError: Minimum.__init__() got an unexpected keyword argument 'foo'"
    )
    text = IMPORTS + 'class Spec(Struct):\n    size: Annotated[int, Minimum("a")] = 5\n'
    assert load(text) == ["mine.py:4: Spec.size: Minimum: value must be a number, not 'a'"]


def test_a_field_that_hides_a_builtin_says_so(load: Load) -> None:
    text = "class Spec(Struct):\n    float: float = 1.0\n    rate: float | None = None\n"
    assert load(IMPORTS + text)[0] == (
        "cannot import mine: mine.py:5: Spec.rate: TypeError: unsupported operand type(s) for |: 'float' and 'NoneType'; "
        "float is a field here and no type: write 'from __future__ import annotations' at the top of the module"
    )
    thing = f"class Thing(Object):\n    spec: Spec\n{API}"
    (Path("mine.py")).write_text(f"from __future__ import annotations\n{IMPORTS}{text}{thing}")
    assert load_api("mine:api").groups


# -- mistakes in declarations: no traceback, all of them at once


def test_a_declaration_that_is_refused_at_once_names_its_line(load: Load) -> None:
    text = (
        IMPORTS + "class Thing(Object): pass\n" + API.replace('storage="v1"', 'storage="v1", strategy=Strategy, hub=5')
    )
    assert load(text) == [
        "mine.py:5: kind Thing: strategy is the class Strategy; write Strategy(...)",
        "mine.py:5: kind Thing: hub must be a subclass of extapi.Object, not 5",
    ]


MANY = """
class Spec(Struct):
    size: Annotated[int, Minimum(5)] = 1
    paid: complex

class Outer:
    class Inner(Struct):
        when: Annotated[str, Minimum(5)] = ""

class Thing(Object):
    spec: Spec

class Other(Object):
    spec: Outer.Inner

versions = {"v1": Version(Thing)}
api = Api(
    Group("a.example.com", Kind("Thing", storage="v1", versions=versions, columns=[Column("Size", ".spec.sise")])),
    Group("b.example.com", Kind("Other", storage="v1", versions={"v1": Version(Other)}, selectable=[".spec.what"])),
)
"""


@pytest.mark.parametrize("postponed", ["", "from __future__ import annotations\n"])
def test_what_only_compiling_finds_is_told_at_once_with_file_line_class_and_field(load: Load, postponed: str) -> None:
    first = len((postponed + IMPORTS).splitlines())
    problems = load(postponed + IMPORTS + MANY)
    assert [problem.partition("; write")[0] for problem in problems] == [
        f"mine.py:{first + 4}: Spec.paid: complex has no structural schema",
        f"mine.py:{first + 3}: Spec.size: default: Invalid value: 1:  in body should be greater than or equal to 5",
        f"mine.py:{first + 8}: Inner.when: Minimum is for int, float; move it to the part of the annotation that it is about",
    ]


def test_a_kind_names_version_and_path(load: Load) -> None:
    text = IMPORTS + MANY.replace(" = 1", " = 5").replace("complex", "str").replace('Minimum(5)] = ""', 'MinLength(0)] = ""')  # fmt: skip
    assert load(text) == [
        "kind Thing: version v1: column Size: .spec.sise leads nowhere: there is no 'sise'; did you mean 'size'?",
        "kind Other: version v1: selectable .spec.what: there is no 'what' beside when",
    ]


# -- the same words of every command


@pytest.mark.parametrize(
    ("command", "status"),
    [(["serve", "mine:api"], 1), (["dev", "mine:api"], 1), (["manifests", "mine:api"], 1), (["doctor", "--app=mine:api"], 2)],
)  # fmt: skip
def test_every_command_tells_a_mistake_in_the_same_words(here: Path, command: list[str], status: int) -> None:
    """``extapi doctor`` has 1 for its findings, and 2 where there is nothing to report."""
    (here / "mine.py").write_text(IMPORTS + MANY)
    done = subprocess.run(
        [sys.executable, "-m", "extapi", *command], cwd=here, capture_output=True, text=True, timeout=120, check=False,
        env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert [line.partition(";")[0] for line in lines] == [
        "Error: mine.py:6: Spec.paid: complex has no structural schema",
        "Error: mine.py:5: Spec.size: default: Invalid value: 1:  in body should be greater than or equal to 5",
        "Error: mine.py:10: Inner.when: Minimum is for int, float",
    ]


def test_an_api_without_groups_has_nothing_to_serve(load: Load) -> None:
    assert load("from extapi import Api\napi = Api()\n") == [
        "mine:api has no groups: an Api needs at least one extapi.Group"
    ]


@pytest.mark.parametrize("call", ["sys.exit()", "sys.exit(3)", "sys.exit('bye')"])
def test_a_module_that_ends_the_process(load: Load, call: str) -> None:
    """Without a word, it would seem that the command has done its work."""
    (problem,) = load(f"import sys\n{call}\n")
    assert problem.startswith(
        f"cannot import mine: mine.py:2: the module ends the process when it is imported: {call}; put"
    )


@pytest.mark.parametrize(("flag", "warnings"), [("-O", 0), ("-OO", 1)])
def test_docstrings_that_python_dropped_are_missed_once(flag: str, warnings: int) -> None:
    script = "from extapi.loading.module import load_api\nfor _ in range(2): load_api('extapi.pizza:api')"
    command = [sys.executable, flag, "-B", "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in result.stderr.splitlines() if line.startswith("Warning: Python runs with -OO")]
    assert (result.stdout, len(lines)) == ("", warnings)
