"""Tracebacks as Python prints them, folded."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import twisted

from extapi.dev.folding import MOST_LINES, fold
from extapi.loading import authorscode as development
from extapi.loading.authorscode import AuthorsCode

OURS = Path(development.__file__).parents[1] / "listener" / "exchange.py"
TWISTED = Path(twisted.__file__).parent / "internet" / "defer.py"
STANDARD = Path(sysconfig.get_path("stdlib")) / "json" / "decoder.py"


def frame(path: Path | str, line: int, name: str) -> str:
    return f'  File "{path}", line {line}, in {name}\n    {name}()\n    ~~~~^^\n'


def folded(text: str, *places: str) -> list[str]:
    return fold(text.split("\n"), AuthorsCode(places))


def test_the_authors_frames_come_first_and_the_others_are_counted() -> None:
    here = Path.cwd() / "mine.py"
    text = (
        "Traceback (most recent call last):\n"
        + frame(OURS, 1, "run")
        + frame(TWISTED, 2, "turn")
        + frame(here, 3, "validate")
        + frame(STANDARD, 4, "decode")
        + frame("<frozen importlib._bootstrap>", 4, "load")
        + "ValueError: no\nof two lines\n"
    )
    assert folded(text) == [
        '  File "mine.py", line 3, in validate',
        "    validate()",
        "    ~~~~^^",
        "ValueError: no",
        "of two lines",
        "  (4 frames of extapi, twisted and Python: see the log)",
    ]


def test_without_an_authors_frame_the_last_one_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    text = "Traceback (most recent call last):\n" + frame(TWISTED, 2, "turn") + frame(OURS, 1, "run") + "KeyError: 'x'"
    assert folded(text) == [
        f'  File "{OURS}", line 1, in run',
        "    run()",
        "    ~~~~^^",
        "KeyError: 'x'",
        "  (1 frame of twisted: see the log)",
    ]


def test_an_installed_package_may_be_the_authors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    site = Path(twisted.__file__).parents[1]
    text = "Traceback (most recent call last):\n" + frame(site / "mine" / "api.py", 7, "run") + "KeyError: 'x'"
    assert folded(text, f"{site}/mine/")[0] == f'  File "{site}/mine/api.py", line 7, in run'
    assert len(folded(text, f"{site}/mine/")) == 4
    assert folded(text + "\n\nTraceback (most recent call last):\n" + frame("/a.py", 1, "f") + "E")[-1].startswith("E")


def raised(function: Callable[[], object]) -> list[str]:
    """What Python prints of an error, folded."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whichever
        function()
    return fold("".join(traceback.format_exception(caught.value)).split("\n"), AuthorsCode())


def test_causes_are_folded_as_well() -> None:
    def fail() -> None:
        try:
            int("x")
        except ValueError as error:
            raise KeyError("y") from error

    lines = raised(fail)
    assert [line for line in lines if not line.startswith("  ")] == [
        "ValueError: invalid literal for int() with base 10: 'x'",
        "The above exception was the direct cause of the following exception:",
        "KeyError: 'y'",
    ]
    assert sum(line.startswith('  File "tests/unit/dev/test_folding.py"') for line in lines) == 3


def test_an_endless_recursion_is_short() -> None:
    def fail() -> None:
        fail()

    lines = raised(fail)
    assert any("[Previous line repeated" in line for line in lines)
    assert lines[-1].startswith("RecursionError: ")


def test_a_traceback_of_many_lines_keeps_its_ends() -> None:
    text = "Traceback (most recent call last):\n" + "".join(frame("/a.py", n, f"f{n}") for n in range(500)) + "E: x"
    lines = folded(text)
    assert len(lines) == MOST_LINES + 1
    assert lines[0] == '  File "/a.py", line 0, in f0'
    assert lines[MOST_LINES // 2] == f"  ... {1501 - MOST_LINES} more lines"
    assert lines[-1] == "E: x"


def test_a_traceback_that_breaks_off_is_shown_so_far() -> None:
    assert folded("Traceback (most recent call last):\n" + frame("/a.py", 1, "f").rstrip("\n")) == [
        '  File "/a.py", line 1, in f',
        "    f()",
        "    ~~~~^^",
    ]
    assert folded('Traceback (most recent call last):\n  File "/a.py"\nE') == ["E"]


def test_a_group_of_errors_stays_as_it_is() -> None:
    def fail() -> None:
        raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])

    text = "\n".join(raised(fail))
    assert "| ValueError: a" in text
    assert "| KeyError: 'b'" in text
