"""From lines in a log to lines on a terminal."""

from __future__ import annotations

import fcntl
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.dev.console import IDLE, RATE, Console
from extapi.dev.terminal import Terminal
from extapi.loading.authorscode import AuthorsCode


class Stage:
    """A console, a log that it follows, and the time."""

    def __init__(self, log: Path) -> None:
        self.log = log
        log.touch()
        self.now = 0.0
        self.stream = io.StringIO()
        self.console = Console(Terminal.of(self.stream, {}), AuthorsCode(), clock=lambda: self.now)
        self.console.follow("server", log)
        self.console.starting = False

    def add(self, *lines: str | dict[str, Any]) -> None:
        with self.log.open("a", encoding="utf-8", errors="surrogateescape") as file:
            for line in lines:
                file.write(line if isinstance(line, str) else json.dumps(event(**line)) + "\n")

    def shown(self, seconds: float = 0.1) -> list[str]:
        """What is new on the terminal after so long."""
        self.now += seconds
        self.console.show()
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return text.splitlines()


def event(event: str, level: str = "warning", **more: Any) -> dict[str, Any]:
    return {"event": event, "level": level, "timestamp": "2026-11-22T12:00:00Z", **more}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path / "server.log")
    with made.console.until_the_end():
        yield made


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ({"event": "hot"}, ["server | warning: hot"]),
        (
            {"event": "hot", "level": "error", "degrees": 300, "where": "oven"},
            ["server | error: hot degrees=300 where=oven"],
        ),
        ({"event": "hot", "level": "critical"}, ["server | error: hot"]),
        ({"event": "two\nlines", "source": "twisted.web"}, ["server | warning: two", "server |   lines"]),
        ({"event": "done", "level": "info", "source": "mine.oven"}, ["server | mine.oven | done"]),
        ({"event": "done", "level": "info", "source": "extapi.pizza.api"}, ["server | extapi.pizza.api | done"]),
        ({"event": "done", "level": "info", "source": "extapi.client.informer"}, []),
        ({"event": "serving", "level": "info"}, []),
        ({"event": "reloaded mine:api", "level": "info", "all": "0.1 s"}, ["server | reloaded mine:api all=0.1 s"]),
        ({"event": "done", "level": "debug", "source": "mine"}, []),
        ({"event": "request", "level": "info", "method": "GET", "uri": "/", "status": 500}, []),
        (
            {
                "event": "controller Cook ended",
                "component": "controller Cook",
                "controller": "Cook",
                "source": "extapi.x",
            },
            ["server | controller Cook | warning: ended"],
        ),
        ({"event": "/a/lib.py:3: builtins.UserWarning: x"}, ["server | warning: /a/lib.py:3: UserWarning: x"]),
        ({"event": "\x1b[2J\u202e"}, ["server | warning: \\x1b[2J\\u202e"]),
    ],
)
def test_events_that_are_an_authors_business_are_shown(stage: Stage, line: dict[str, Any], shown: list[str]) -> None:
    stage.add(line)
    assert stage.shown() == shown


def test_a_request_is_known_by_its_beginning(stage: Stage) -> None:
    """As ``AccessLog`` writes it, without a space."""
    stage.add('{"event":"request","level":"info","timestamp":"2026-11-22T12:00:00Z","uri":"/x"}\n')
    assert stage.shown() == []


def test_a_traceback_of_an_event_is_folded(stage: Stage) -> None:
    trace = 'Traceback (most recent call last):\n  File "/mine.py", line 1, in f\n    f()\nValueError: x\n'
    stage.add({"event": "it failed", "level": "critical", "traceback": trace, "source": "extapi.listener"})
    assert stage.shown() == [
        "server | error: it failed",
        'server |     File "/mine.py", line 1, in f',
        "server |       f()",
        "server |   ValueError: x",
    ]


@pytest.mark.parametrize(
    "text", ["{}", '{"event": "x"}', "[1]", "{not json", '{"a":' * 100_000, '{"event":"x","level":1}', "null"]
)
def test_what_is_no_event_of_ours_is_shown_as_text(stage: Stage, text: str) -> None:
    stage.add(f"{text}\n")
    [line] = stage.shown()
    assert line.startswith(f"server | {text[:100]}")


def test_binary_garbage_is_text_as_well(stage: Stage) -> None:
    with stage.log.open("ab") as file:
        file.write(b"\xff\xfe\x00\x9b2J caf\xc3\xa9\r\n")
    assert stage.shown() == ["server | \\xff\\xfe\\x00\\x9b2J café"]


def test_a_line_without_an_end_is_shown_when_nothing_follows(stage: Stage) -> None:
    stage.add("working...")
    assert stage.shown() == []
    assert stage.shown(IDLE / 2) == []
    assert stage.shown(2 * IDLE) == ["server | working..."]
    stage.add(" done\n")
    assert stage.shown() == ["server |  done"]


def test_a_traceback_that_is_printed_is_folded_once_it_is_complete(stage: Stage) -> None:
    stage.add('Traceback (most recent call last):\n  File "/mine.py", line 1, in f\n    f()\n')
    assert stage.shown() == []
    stage.add("ValueError: x\nnext\n")
    expected = ['server |     File "/mine.py", line 1, in f', "server |       f()", "server |   ValueError: x"]
    assert stage.shown() == [*expected, "server | next"]
    stage.add('Traceback (most recent call last):\n  File "/mine.py", line 1, in f\n    f()\n')
    assert stage.shown(IDLE / 2) == []
    assert stage.shown(2 * IDLE) == expected[:2]
    stage.add('Traceback (most recent call last):\n  File "/mine.py", line 1, in f\n', {"event": "between"})
    assert stage.shown() == [*expected[:1], "server | warning: between"]


def test_a_flood_is_counted(stage: Stage) -> None:
    stage.now = 10.0
    stage.add("x\n" * 1000)
    assert stage.shown() == ["server | x"] * RATE
    stage.add("y\n" * 10)
    assert stage.shown(0.5) == []
    stage.add("z\n")
    assert stage.shown(1) == [f"server | ... {1000 - RATE + 10} more lines; they are in {stage.log}", "server | z"]


def test_what_nobody_had_time_to_look_at_is_counted(stage: Stage) -> None:
    stage.add("x" * 99 + "\n")
    stage.shown()
    stage.add(("x" * 999 + "\n") * 20_000)
    lines = stage.shown(2)
    assert lines[0].startswith("server | ... 189")
    assert lines[0].endswith(f" bytes of output were skipped; they are in {stage.log}")


def test_what_is_ordinary_at_the_start_is_not_shown_then(stage: Stage) -> None:
    stage.console.starting = True
    stage.add({"event": "health check failed", "check": "informer-sync"}, {"event": "hot"})
    assert stage.shown() == ["server | warning: hot"]
    stage.console.starting = False
    stage.add({"event": "health check failed", "check": "storage"})
    assert stage.shown() == ["server | warning: health check failed check=storage"]


def test_a_terminal_that_takes_nothing_holds_nobody_up(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch()
    read, write = os.pipe()
    size = fcntl.fcntl(write, fcntl.F_GETPIPE_SZ)
    os.write(write, b"x" * size)
    with os.fdopen(write, "w") as stream:
        console = Console(Terminal.of(stream, {}), AuthorsCode())
        console.follow("server", log)
        with console.until_the_end():
            log.write_text("late\n")
            console.show()  # returns
            assert os.read(read, size) == b"x" * size
            console.show()
            assert os.read(read, size) == b"server | late\n"
    os.close(read)


def test_the_rest_is_shown_at_the_end(stage: Stage) -> None:
    with stage.console.until_the_end():
        stage.now = 5.0
        stage.add("x\n" * (RATE + 5), "Traceback (most recent call last):\n", '  File "/mine.py", line 1, in f\n')
    assert stage.shown()[-1] == f"server | ... 6 more lines; they are in {stage.log}"


def test_a_line_that_never_ended_is_shown_at_the_end(stage: Stage) -> None:
    with stage.console.until_the_end():
        stage.add("last words")
    assert stage.shown() == ["server | last words"]
