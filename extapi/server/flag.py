"""Flags of commands, and how their texts are read: all mistakes are collected, and reported at once.

Must not know any flag. Nothing here opens a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extapi.api.duration import parse_seconds
from extapi.listener.address import parse_address


class OptionErrors(Exception):
    """Everything that is wrong with the flags, one problem per line."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the command line."""

    name: str
    default: str
    help: str
    multiple: bool = False
    """May be repeated; each value may be several, separated by commas."""
    boolean: bool = False

    @property
    def key(self) -> str:
        """The name as a Python identifier."""
        return self.name.replace("-", "_")


class FlagReader:
    """Reads raw values, and collects what is wrong with them."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw
        self.problems: list[str] = []

    def text(self, flag: str) -> str:
        """The text of a flag."""
        return str(self._raw[flag])

    def path(self, flag: str) -> Path | None:
        """A file, which need not exist; None: the flag is empty."""
        return Path(self.text(flag)) if self.text(flag) else None

    def paths(self, flag: str) -> tuple[Path, ...]:
        """Files or folders, which exist."""
        found = tuple(Path(value) for value in _each(self._raw[flag]) if value)
        for path in found:
            if not path.exists():
                self.problems.append(f"--{flag}: {path}: no such file or folder")
        return found

    def address(self, flag: str) -> str:
        """An IP address; empty: all."""
        text = self.text(flag)
        try:
            parse_address(text)
        except ValueError:
            self.problems.append(f"--{flag}: {text!r} is not an IP address, such as 0.0.0.0 or ::1")
        return text

    def number(self, flag: str, least: int, most: int) -> int:
        """A whole number."""
        text = self.text(flag)
        if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
            self.problems.append(f"--{flag}: {text!r} is not a whole number from {least} to {most}")
            return least
        return int(text)

    def duration(self, flag: str, *, zero: bool = True) -> float:
        """Seconds, written as in Go."""
        try:
            seconds = parse_seconds(self.text(flag))
        except ValueError as error:
            self.problems.append(f"--{flag}: {error}")
            return 0.0
        if seconds < 0:
            self.problems.append(f"--{flag}: must not be negative")
        if seconds == 0 and not zero:
            self.problems.append(f"--{flag}: must not be zero")
        return seconds

    def several(self, flag: str, check: Callable[[str], str | None] = lambda _: None) -> tuple[str, ...]:
        """Several values; ``check`` says what is wrong with one."""
        values = tuple(part for value in _each(self._raw[flag]) for part in value.split(",") if value)
        for value in values:
            why = check(value)
            if why is not None:
                self.problems.append(f"--{flag}: {why}")
        return values

    def one_of(self, flag: str, allowed: Iterable[str]) -> str:
        """One of some words."""
        text = self.text(flag)
        if text not in allowed:
            self.problems.append(f"--{flag}: {text!r} is not one of {', '.join(allowed)}")
        return text


def _each(value: Any) -> Sequence[str]:
    return (value,) if isinstance(value, str) else tuple(value)
