"""Docstrings have one style, Google's: sections, not reST fields, and not sentences that only say what is raised.

Ruff's ``convention = "google"`` judges the form of sections; these tests find what was never made a section.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PRODUCT = Path(__file__).parents[2] / "extapi"
MODULES = sorted(PRODUCT.rglob("*.py"))
FIELD = re.compile(r"^\s*:(param|raises?|returns?|rtype|type)\b", re.MULTILINE)
SENTENCE = re.compile(r"(?:^|[.;:)] +)[Rr]aises (?!only\b)(?=[`:A-Z])", re.MULTILINE)
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Example|Examples|Attributes|Note):$", re.MULTILINE)


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The line of each definition, and its docstring without indentation."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


def wrong(text: str) -> str:
    """What is wrong with a docstring, or the empty string."""
    if FIELD.search(text):
        return "a reST field; write a section (Args:, Returns:, Raises:)"
    prose = text[: found.start()] if (found := SECTION.search(text)) else text
    if SENTENCE.search(prose):
        return "a sentence says what is raised; write a Raises section"
    return ""


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PRODUCT)) for path in MODULES])
def test_docstrings_have_sections(path: Path) -> None:
    assert [f"line {line}: {why}" for line, text in docstrings(path) if (why := wrong(text))] == []


@pytest.mark.parametrize(
    "text",
    [
        "Short.\n\n:raises ValueError: never.",
        "Short. Raises ``ValueError`` with Go's text.",
        "Short.\n\nRaises :class:`BadRequest` for metadata of a wrong type.",
        "Short; raises NotFound.",
    ],
)
def test_other_styles_are_found(text: str) -> None:
    assert wrong(text)


def test_a_section_is_right() -> None:
    assert not wrong("Short.\n\nRaises:\n    ValueError: The text is no number.")


RAISED = re.compile(r"^    ([\w.]+):", re.MULTILINE)
KNOWN = {
    node.name for path in MODULES for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)
} | set(dir(builtins))


def raised(text: str) -> list[str]:
    """The errors that a Raises section names."""
    section = text.partition("\nRaises:\n")[2].partition("\n\n")[0]
    return RAISED.findall(section)


def test_errors_in_raises_sections_exist() -> None:
    """Those of other libraries are named with their module, such as ``subprocess.TimeoutExpired``."""
    unknown = {
        f"{path.relative_to(PRODUCT)}:{line}: {name}"
        for path in MODULES
        for line, text in docstrings(path)
        for name in raised(text)
        if "." not in name and name not in KNOWN
    }
    assert unknown == set()
