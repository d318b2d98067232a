from __future__ import annotations

from extapi.doctor.finding import TEXT_LIMIT, Severity, error, merged, ok, plain, unknown, warning


def test_a_servers_message_cannot_reach_the_terminal_as_it_is() -> None:
    assert plain("a\x1b[31mred\x07\n  b\u202e") == "a [31mred b"
    assert len(plain("x" * 5000)) == TEXT_LIMIT
    finding = error("a.b", "x", saw="\x1b]0;title\x07", wrong="\r", do="\n")
    assert (finding.saw, finding.wrong, finding.do) == ("]0;title", "", "")
    assert ok("a.b", "Namespace \x1b[31m", "fine").subjects == ("Namespace [31m",)


def test_the_same_is_said_once_and_the_worst_first() -> None:
    findings = merged(
        [
            ok("a.b", "one", "fine"),
            unknown("a.c", "one", "hidden"),
            ok("a.b", "two", "fine"),
            warning("a.d", "one", saw="s", wrong="w", do="d"),
            ok("a.b", "three", "better"),
            error("a.e", "one", saw="s", wrong="w", do="d"),
            ok("a.b", "one", "fine"),
        ]
    )
    assert [(each.severity, each.check, each.subjects) for each in findings] == [
        (Severity.ERROR, "a.e", ("one",)),
        (Severity.WARNING, "a.d", ("one",)),
        (Severity.UNKNOWN, "a.c", ("one",)),
        (Severity.OK, "a.b", ("one", "two")),
        (Severity.OK, "a.b", ("three",)),
    ]
