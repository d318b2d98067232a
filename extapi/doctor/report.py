"""Findings as text for people and as JSON for programs. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap

from extapi.doctor.finding import Finding, Severity

WIDTH = 120
"""Characters per line, except in lines that say what to do."""


def status(findings: Sequence[Finding]) -> int:
    """The exit status: 1 if anything is wrong. UNKNOWN findings do not count."""
    return int(any(each.severity in {Severity.ERROR, Severity.WARNING} for each in findings))


def as_json(server: str, findings: Sequence[Finding]) -> str:
    """One JSON object: the server, the findings, and their number per severity."""
    listed = [
        {
            "check": each.check,
            "severity": each.severity.value,
            "subjects": list(each.subjects),
            "saw": each.saw,
            "wrong": each.wrong,
            "do": each.do,
        }
        for each in findings
    ]
    return json.dumps({"server": server, "findings": listed, "counts": _counts(findings)}, indent=2)


def as_text(server: str, findings: Sequence[Finding]) -> str:
    """The findings in paragraphs; an OK finding takes one line."""
    lines = [server, ""]
    for each in findings:
        head = f"{each.severity.value:<8}{each.check}  {_subjects(each.subjects)}"
        if each.severity is Severity.OK:
            lines += _wrapped(f"{head}: {each.saw}", 8)
            continue
        lines += _wrapped(head, 8)
        for name, text in (
            ("saw", each.saw),
            ("wrong" if each.severity is not Severity.UNKNOWN else "why", each.wrong),
        ):
            lines += _wrapped(f"        {name + ':':<7}{text}", 15) if text else []
        # Not wrapped: commands are copied from here.
        lines += [f"        {'do:':<7}{each.do}"] if each.do else []
        lines.append("")
    counts = _counts(findings)
    if findings and findings[-1].severity is Severity.OK:
        lines.append("")
    lines.append(", ".join(f"{counts[each.value]} {_name(each, counts[each.value])}" for each in Severity))
    return "\n".join(lines)


def _name(severity: Severity, count: int) -> str:
    countable = severity in {Severity.ERROR, Severity.WARNING}
    return f"{severity.value}s" if countable and count != 1 else severity.value


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    counted = Counter(each.severity for each in findings)
    return {each.value: counted[each] for each in Severity}


def _subjects(subjects: Sequence[str]) -> str:
    """All subjects; a kind that they share is named once."""
    kind, space, _ = subjects[0].partition(" ")
    if space and all(each.startswith(kind + space) for each in subjects):
        return f"{kind} {', '.join(each.removeprefix(kind + space) for each in subjects)}"
    return ", ".join(subjects)


def _wrapped(text: str, indent: int) -> list[str]:
    """Lines of at most :data:`WIDTH` characters; words stay whole, so that URLs and names can be copied."""
    first = text[: len(text) - len(text.lstrip())]
    return wrap(
        text.lstrip(),
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
