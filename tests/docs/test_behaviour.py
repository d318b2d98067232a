"""Every rule that is cited stands on the page, and the page names only modules that there are."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

from tests.docs.behaviour import bare, cited, prose, references, rules, sections
from tests.docs.samples import ROOT

PAGE = ROOT / "docs" / "reference" / "behaviour.md"
TEXT = PAGE.read_text(encoding="utf-8")
RULES = list(rules(TEXT))
NAMES = {rule.name for rule in RULES}
LETTERS = sections(TEXT)
OBSERVED = "not read; observed on 1.36.3"
READ = {".py", ".md", ".yaml", ".yml", ".toml", ".sh", ".c", ".go"}
FOLDERS = ("extapi", "tests", "examples", "docs", "scripts", "deploy")
FILES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("*.toml"),
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in READ and path.is_file()),
        *(path for path in (ROOT / "scripts").iterdir() if not path.suffix and path.is_file()),
        *ROOT.glob("deploy/Dockerfile*"),
    ]
)
SOURCES = [path for path in FILES if path not in {PAGE, Path(__file__)} and "__pycache__" not in path.parts]


def test_every_citation_is_of_a_rule_that_there_is() -> None:
    known = NAMES.union(LETTERS)
    unknown = {}
    for path in SOURCES:
        found = set(cited(prose(path))) - known
        if found:
            unknown[str(path.relative_to(ROOT))] = sorted(found)
    assert unknown == {}


def test_citations_are_found_at_all() -> None:
    """Else the test above would pass if the parser broke."""
    found = {name for path in SOURCES for name in cited(prose(path))}
    assert {"A1", "B16", "C13", "D8", "E24", "F17", "G10", "H12", "I5", "J26", "K3", "L4", "M15", "N3"} <= found


def test_no_rule_is_cited_without_the_word() -> None:
    """It is the word that a reader looks up in CONTRIBUTING, and by which these tests find citations."""
    found = {str(path.relative_to(ROOT)): names for path in SOURCES if (names := bare(prose(path)))}
    assert found == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("(behaviour E24)", ["E24"]),
        ("Behaviour C22, C25.", ["C22", "C25"]),
        ("(behaviour A13, step 0)", ["A13"]),
        ("behaviour B10-B12", ["B10", "B11", "B12"]),
        ("behaviour E9 to E11, and more", ["E9", "E10", "E11"]),
        ("behaviour G1-G2, G5 and J9", ["G1", "G2", "G5", "J9"]),
        ("behaviour C18,\n    C19", ["C18", "C19"]),
        ("(behaviour A, B)", ["A", "B"]),
        ("(behaviour A9, A10, L)", ["A9", "A10", "L"]),
        ("The behaviour E40's 422", ["E40"]),
        ("behaviour (E24); behaviour: E24; its behaviour. A client", []),
    ],
)
def test_the_forms_of_citations(text: str, names: list[str]) -> None:
    assert list(cited(text)) == names


@pytest.mark.parametrize("text", ["behaviour E9-E9", "behaviour E9-E3", "behaviour E9-F12"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ValueError, match="is no range"):
        list(cited(text))


@pytest.mark.parametrize(
    ("text", "names"), [("(E24)", ["E24"]), ("behaviour E24 (E25)", ["E25"]), ("/%C3%A4, U+0009, v1.F2", [])]
)
def test_citations_without_the_word(text: str, names: list[str]) -> None:
    assert bare(text) == names


def test_letters_and_numbers_have_no_gaps() -> None:
    assert [chr(code) for code in range(ord("A"), ord("N") + 1)] == LETTERS
    of_letter = [(letter, [rule.name for rule in group]) for letter, group in groupby(RULES, lambda rule: rule.name[0])]
    assert [letter for letter, _ in of_letter] == LETTERS
    for letter, names in of_letter:
        assert names == [f"{letter}{number}" for number in range(1, len(names) + 1)]


def test_each_rule_stands_in_its_section() -> None:
    for part in re.split(r"^## (?=[A-Z]\. )", TEXT, flags=re.MULTILINE)[1:]:
        assert {rule.name[0] for rule in rules(part)} == {part[0]}


def test_every_rule_is_complete() -> None:
    for rule in RULES:
        assert rule.text, rule.name
        (go,) = rule.go
        assert go == OBSERVED or re.match(r"`[\w.-]+/[\w./-]+`", go), rule.name
        (here,) = rule.here
        assert here.startswith("not supported") or re.match(r"`extapi/[^`]+`", here), rule.name


def test_every_module_named_exists() -> None:
    """Mend the page where a module was moved."""
    named = {(rule.name, module) for rule in RULES for module in rule.modules}
    assert sorted(each for each in named if not (ROOT / each[1]).is_file()) == []


def test_the_page_refers_to_rules_that_there_are() -> None:
    body = "\n".join(rule.text + "\n" + "\n".join(rule.here) for rule in RULES)
    assert set(references(body)) <= NAMES


def test_the_table_of_sections() -> None:
    headings = re.findall(r"^## (([A-Z])\. .+)$", TEXT, re.MULTILINE)
    anchors = [(letter, re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")) for title, letter in headings]
    assert re.findall(r"^\| \[([A-Z])\]\(#([\w-]+)\) \|", TEXT, re.MULTILINE) == anchors
