"""The result of a check: what it saw, what is wrong, and what to do. Pure.

Knows no checks and no output formats.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace

TEXT_LIMIT = 800
"""Characters per part of a finding, since servers' messages are quoted and may have any length."""


class Severity(enum.Enum):
    """How bad a finding is, the worst first. UNKNOWN: the check was not possible; the finding says why."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of one check.

    ``check``: its stable id, such as ``certificate.names``. ``subjects``: what it is about. ``saw``: facts. ``wrong``: what
    follows from them, or for UNKNOWN why nothing does; ``do``: the command or field that changes it. The last two are
    empty for OK.
    """

    check: str
    severity: Severity
    subjects: tuple[str, ...]
    saw: str
    wrong: str = ""
    do: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "subjects", tuple(map(plain, self.subjects)))
        for name in ("saw", "wrong", "do"):
            object.__setattr__(self, name, plain(getattr(self, name)))


def ok(check: str, subject: str, saw: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check, Severity.OK, (subject,), saw)


def unknown(check: str, subject: str, why: str, *, do: str = "", saw: str = "") -> Finding:
    """The check was not possible, because of ``why``."""
    return Finding(check, Severity.UNKNOWN, (subject,), saw, why, do)


def warning(check: str, subject: str, *, saw: str, wrong: str, do: str) -> Finding:
    """It works, but will not for long, or is not safe."""
    return Finding(check, Severity.WARNING, (subject,), saw, wrong, do)


def error(check: str, subject: str, *, saw: str, wrong: str, do: str) -> Finding:
    """It does not work."""
    return Finding(check, Severity.ERROR, (subject,), saw, wrong, do)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Equal findings about several subjects as one; the worst first, otherwise in the order of the checks."""
    found: dict[Finding, list[str]] = {}
    for each in findings:
        subjects = found.setdefault(replace(each, subjects=()), [])
        subjects += [subject for subject in each.subjects if subject not in subjects]
    whole = [replace(each, subjects=tuple(subjects)) for each, subjects in found.items()]
    order = list(Severity)
    return sorted(whole, key=lambda each: order.index(each.severity))


def plain(text: str) -> str:
    """One bounded line without control characters, which a server's message could otherwise send to a terminal."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= TEXT_LIMIT else line[: TEXT_LIMIT - 3] + "..."
