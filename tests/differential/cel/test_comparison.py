"""How differences are counted and listed, and how the data of others is read."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.differential.cel import corpora, generation, malformed, objects, textproto, writing
from tests.differential.cel.comparison import Comparison, Disagreement, blanked, disagreements, unlisted


def test_what_differs_must_be_listed_and_what_is_listed_must_differ() -> None:
    comparison = Comparison("made up")
    assert comparison.note("value", "a", "1 + 1", 2, 2)
    assert not comparison.note("value", "b", "1 + 2", 3, 4)
    assert comparison.note("cost", "b", "1 + 2", 3, 4, again=lambda: [5, 4])
    listed = [Disagreement("made up", "b", "value", "for a reason"), Disagreement("made up", "a", "value", "for none")]
    assert list(comparison.rows()) == [("value", 1, 1), ("cost", 1, 0)]
    assert unlisted(comparison, listed) == ["made up, a, value: is the same, and yet listed"]
    assert unlisted(comparison, []) == ["made up, b: value\n    1 + 2\n    theirs 3\n    ours   4"]


def test_some_texts_of_syntax_errors_may_differ() -> None:
    comparison = Comparison("made up")
    for number in range(17):
        comparison.note("syntax error text", str(number), "(", "x", "x")
    for number in range(3):
        comparison.note("syntax error text", f"other {number}", "(", "x", "y")
    assert unlisted(comparison, []) == []
    comparison.note("syntax error text", "one more", "(", "x", "y")
    assert len(unlisted(comparison, [])) == 4


def test_every_disagreement_has_a_reason(tmp_path: Path) -> None:
    assert all(each.reason and each.name and each.aspect for each in disagreements())
    file = tmp_path / "x.toml"
    file.write_text('[[disagreement]]\ncorpus = "a"\nname = "b"\naspect = "c"\nreason = "d"\n')
    assert disagreements(file) == [Disagreement("a", "b", "c", "d")]


def test_names_that_the_original_makes_up_are_blanked() -> None:
    assert blanked("undefined: selfType123456789.spec and selfType7") == "undefined: selfType.spec and selfType"


def test_textproto_is_read() -> None:
    text = """# a comment
    name: "a\\x41\\101\\u00e9" 'more\\n'
    section { name: 'x' test: < n: -1, list: [1, 2] > test { [type.example/any]: true; } }"""
    assert textproto.parse(text) == {
        "name": [b"aAA\xc3\xa9more\n"],
        "section": [{"name": [b"x"], "test": [{"n": ["-1"], "list": ["1", "2"]}, {"type.example/any": ["true"]}]}],
    }
    with pytest.raises(ValueError, match="cannot read"):
        textproto.parse('a: "')


def test_without_corpora_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(corpora.VARIABLE, raising=False)
    assert corpora.VARIABLE in corpora.missing()
    monkeypatch.setenv(corpora.VARIABLE, str(tmp_path))
    assert "k8sdump.jsonl.gz" in corpora.missing()


def test_what_is_made_up_is_the_same_each_time() -> None:
    def made() -> object:
        random = Random("seed")  # noqa: S311 - the same each time
        schema = writing.with_rules(generation.schema(random), random, 5)
        return (
            schema,
            objects.pairs(schema, 4, random),
            [malformed.mutated("self.a == 'b' && self.c > 1", random) for _ in range(20)],
        )

    assert made() == made()
