"""What an author is told of their code, and what counts as theirs."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import click
import pytest
import yaml

import extapi.loading.authorscode as ours
from extapi.loading.authorscode import LONGEST, AuthorsCode, library, short


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (ours.__file__, "extapi"),
        (click.__file__, "click"),
        (yaml.__file__, "yaml"),
        ("/usr/lib/python3/dist-packages/six.py", "six"),
        (json.__file__, "Python"),
        (f"{sysconfig.get_path('stdlib')}/lib-dynload/math.so", "Python"),
        ("<frozen importlib._bootstrap>", "Python"),
        ("<string>", "Python"),
        (__file__, None),
        ("/home/me/library.py", None),
    ],
)
def test_a_file_belongs_to_a_library_or_to_the_author(path: str, name: str | None) -> None:
    assert library(path) == name
    assert AuthorsCode().owns(path) is (name is None)


def test_what_is_not_there_is_nobodys() -> None:
    assert not AuthorsCode().owns("relative.py")


def test_the_package_of_the_api_is_the_authors_wherever_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    (site / "shop" / "kinds").mkdir(parents=True)
    for name in ("shop/__init__.py", "shop/kinds/__init__.py", "single.py"):
        (site / name).touch()
    monkeypatch.syspath_prepend(str(site))
    importlib.import_module("shop.kinds")
    importlib.import_module("single")
    package = AuthorsCode.of("shop.kinds:api")
    assert package.owns(f"{site}/shop/api.py")
    assert package.owns(f"{site}/shop/kinds/api.py")
    assert not package.owns(f"{site}/shopping.py")
    assert AuthorsCode.of("single:api").owns(f"{site}/single.py")
    assert not AuthorsCode.of("single:api").owns(f"{site}/single.pyx")
    assert AuthorsCode.of("not_imported:api") == AuthorsCode()


def test_the_example_is_an_authors_and_the_rest_of_us_is_not() -> None:
    importlib.import_module("extapi.pizza")
    home = Path(ours.__file__).parents[1]
    example = AuthorsCode.of("extapi.pizza:api")
    assert example.owns(str(home / "pizza" / "api.py"))
    assert not example.owns(str(home / "server" / "chain.py"))


def test_an_error_is_described_in_one_line_with_the_authors_last_frame() -> None:
    def validate() -> None:
        json.loads("{]")

    with pytest.raises(ValueError, match="Expecting property name") as caught:
        validate()
    line = validate.__code__.co_firstlineno + 1
    assert AuthorsCode().describe(caught.value) == (
        "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1) "
        f"(File 'tests/unit/loading/test_authorscode.py', line {line}, in {validate.__qualname__})"
    )


def test_a_description_is_short_whatever_the_error_says() -> None:
    assert AuthorsCode().describe(ValueError("a\n\n  b")) == "ValueError: a b"
    assert AuthorsCode().describe(ValueError("x" * 10_000)) == f"ValueError: {'x' * (LONGEST - 12)}..."


def test_an_error_that_never_was_in_the_authors_code_names_its_last_frame() -> None:
    namespace: dict[str, object] = {}
    exec(compile("def f():\n    raise KeyError('x')", json.__file__, "exec"), namespace)  # noqa: S102 - no file of its own
    with pytest.raises(KeyError) as caught:
        namespace["f"]()  # type: ignore[operator]  # a function
    frames = caught.value.__traceback__
    assert frames is not None
    error = caught.value.with_traceback(frames.tb_next)  # without the one of this test
    assert AuthorsCode().describe(error) == f"KeyError: 'x' (File {short(json.__file__)!r}, line 2, in f)"


def test_a_path_is_shown_from_the_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert short(f"{tmp_path}/a/b.py") == "a/b.py"
    assert short(f"{tmp_path}er/b.py") == f"{tmp_path}er/b.py"
    monkeypatch.chdir("/")
    assert short("/a/b.py") == "/a/b.py"


BREAKPOINT = """
import sys
from twisted.logger import globalLogPublisher, formatEvent
from extapi.loading.authorscode import skip_breakpoints
globalLogPublisher.addObserver(lambda event: print(formatEvent(event)))
skip_breakpoints()
breakpoint()
print("went on")
"""


def run(stdin: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program above."""
    return subprocess.run(
        [sys.executable, "-c", BREAKPOINT],
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=60,
    )


def test_a_breakpoint_is_passed_over_where_nobody_can_type() -> None:
    assert run(subprocess.DEVNULL).stdout == (
        "breakpoint() in <string>, line 7, is skipped, as there is no terminal: debug with extapi dev --foreground\n"
        "went on\n"
    )


def test_a_breakpoint_counts_where_somebody_can_type_or_has_another_debugger() -> None:
    read, write = os.pipe()
    os.write(write, b"quit\n")
    os.close(write)
    stopped = run(read)
    os.close(read)
    assert "(Pdb) " in stopped.stdout
    assert "went on" not in stopped.stdout
    assert run(subprocess.DEVNULL, PYTHONBREAKPOINT="0").stdout == "went on\n"
