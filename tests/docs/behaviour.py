"""The page of rules in pieces, and the citations of rules in a text."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_RULE = re.compile(r"^#### (.+)\n((?:(?!#).*\n)*)", re.MULTILINE)
_GO = re.compile(r"^- Go: (.*)$", re.MULTILINE)
_HERE = re.compile(r"^- Here: (.*)$", re.MULTILINE)

_ONE = r"[A-N][1-9][0-9]?"
_ITEM = rf"(?:{_ONE}(?:(?:-|\s+to\s+){_ONE})?|[A-N])\b"
_CITATION = re.compile(rf"\bbehaviour\s+({_ITEM}(?:(?:,\s+and|,|\s+and)\s+{_ITEM})*)", re.IGNORECASE)
_NUMBER = re.compile(rf"(?<![\w%+./#$-]){_ONE}(?![\w%])")
_CODE = re.compile(r"`[^`]*`")


@dataclass(frozen=True)
class Rule:
    """A rule of the page: its name, what it says, and what its two lines hold."""

    name: str
    text: str
    go: list[str]
    here: list[str]

    @property
    def modules(self) -> list[str]:
        """The files of ours that it names."""
        return re.findall(r"`(extapi/[^`]*)`", "\n".join(self.here))


def rules(page: str) -> Iterator[Rule]:
    for name, body in _RULE.findall(page):
        text = body.partition("\n- ")[0].strip()
        yield Rule(name, text, _GO.findall(body), _HERE.findall(body))


def sections(page: str) -> list[str]:
    """The letters of its headings, in order."""
    return re.findall(r"^## ([A-Z])\. ", page, re.MULTILINE)


def cited(text: str) -> Iterator[str]:
    """The rules that a text cites, and the letters of whole sections.

    Raises:
        ValueError: a range goes backwards or from one letter to another.
    """
    for citation in _CITATION.finditer(text):
        for first, last in re.findall(rf"({_ONE}|[A-N])\b(?:(?:-|\s+to\s+)({_ONE}))?", citation[1]):
            if not last:
                yield first
                continue
            letter, low, high = first[0], int(first[1:]), int(last[1:])
            if last[0] != letter or high <= low:
                raise ValueError(f"{first} to {last} is no range")
            yield from (f"{letter}{number}" for number in range(low, high + 1))


def bare(text: str) -> list[str]:
    """What looks like a rule's name and is not part of a citation."""
    return _NUMBER.findall(_CITATION.sub("", text))


def references(text: str) -> list[str]:
    """The rules that the page itself refers to, outside of code."""
    return _NUMBER.findall(_CODE.sub("", text))


@cache
def prose(path: Path) -> str:
    """What people read of a file: of Python the docstrings and comments, of others everything."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py" or not (_CITATION.search(text) or _NUMBER.search(text)):
        return text
    return "\n\n".join([*_docstrings(text), *_comments(text)])


def _docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def _comments(source: str) -> Iterator[str]:
    """Comments on lines that follow each other are one text."""
    lines: list[str] = []
    before = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if lines and token.start[0] != before + 1:
                yield "\n".join(lines)
                lines = []
            lines.append(token.string.lstrip("#: "))
            before = token.start[0]
    if lines:
        yield "\n".join(lines)
