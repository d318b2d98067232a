from __future__ import annotations

import json

import pytest

from extapi.doctor.finding import Finding, error, ok, unknown, warning
from extapi.doctor.report import as_json, as_text, status

OK = ok("a.ok", "APIService v1.x", "fine")
UNKNOWN = unknown("a.hidden", "Service x/y", "needs get on services", do="ask")
WARNING = warning("a.soon", "APIService v1.x", saw="saw", wrong="wrong", do="do")
ERROR = error("a.bad", "APIService v1.x", saw="saw", wrong="wrong", do="kubectl patch apiservice v1.x -p '{\"a\": 1}'")


@pytest.mark.parametrize(("findings", "expected"), [([], 0), ([OK, UNKNOWN], 0), ([OK, WARNING], 1), ([OK, ERROR], 1)])
def test_the_exit_status(findings: list[Finding], expected: int) -> None:
    assert status(findings) == expected


def test_json() -> None:
    report = json.loads(as_json("https://x", [ERROR, OK]))
    assert report["server"] == "https://x"
    assert report["counts"] == {"error": 1, "warning": 0, "unknown": 0, "ok": 1}
    assert report["findings"][0] == {
        "check": "a.bad",
        "severity": "error",
        "subjects": ["APIService v1.x"],
        "saw": "saw",
        "wrong": "wrong",
        "do": "kubectl patch apiservice v1.x -p '{\"a\": 1}'",
    }


def test_text() -> None:
    assert as_text("https://x", [ERROR, UNKNOWN, OK]).splitlines() == [
        "https://x",
        "",
        "error   a.bad  APIService v1.x",
        "        saw:   saw",
        "        wrong: wrong",
        "        do:    kubectl patch apiservice v1.x -p '{\"a\": 1}'",
        "",
        "unknown a.hidden  Service x/y",
        "        why:   needs get on services",
        "        do:    ask",
        "",
        "ok      a.ok  APIService v1.x: fine",
        "",
        "1 error, 0 warnings, 1 unknown, 1 ok",
    ]
    assert (
        as_text("https://x", [ERROR, ERROR, WARNING, OK, OK]).splitlines()[-1] == "2 errors, 1 warning, 0 unknown, 2 ok"
    )


def test_long_lines_are_wrapped_between_words_and_commands_are_not() -> None:
    command = "kubectl " + " ".join(["--some-long-flag=with-a-value"] * 12)
    *lines, do, _, _ = as_text("https://x", [error("a.b", "x", saw=command, wrong="w", do=command)]).splitlines()
    assert max(map(len, lines)) <= 120
    assert command in " ".join(" ".join(lines).split())
    assert do == f"        do:    {command}"


def test_subjects_of_one_kind_name_it_once() -> None:
    both = Finding("a.b", OK.severity, ("APIService v1.x", "APIService v2.x"), "fine")
    mixed = Finding("a.b", OK.severity, ("APIService v1.x", "Service x/y"), "fine")
    text = as_text("https://x", [both, mixed])
    assert "a.b  APIService v1.x, v2.x: fine" in text
    assert "a.b  APIService v1.x, Service x/y: fine" in text
