from __future__ import annotations

import pytest

from extapi.schema.cel.syntax.source import MistakeError
from extapi.schema.cel.syntax.tokens import BYTES, DOUBLE, END, IDENTIFIER, INT, STRING, UINT, tokenize


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a _b A1 in1", [IDENTIFIER] * 4),
        ("in true false null", ["in", "true", "false", "null"]),
        (
            "== != < <= > >= && || + - * / % ! ? :",
            ["==", "!=", "<", "<=", ">", ">=", "&&", "||", "+", "-", "*", "/", "%", "!", "?", ":"],
        ),
        ("[]{}().,", list("[]{}().,")),
        ("1 0x1F 007", [INT] * 3),
        ("1u 0xFU 1U", [UINT] * 3),
        ("1.5 .5 1e3 1E-3 1.5e+3 .5e1", [DOUBLE] * 6),
        ("1.a", [INT, ".", IDENTIFIER]),
        ("1..5", [INT, ".", DOUBLE]),
        ("a.5", [IDENTIFIER, DOUBLE]),
        ("0xg", [INT, IDENTIFIER]),
        ("1e", [INT, IDENTIFIER]),
        ("1.5u", [DOUBLE, IDENTIFIER]),
        ("'a' \"b\" r'\\' R\"\\d\" '''a'b''' \"\"\"a\nb\"\"\" r'''\\'''", [STRING] * 7),
        ("b'a' B\"b\" br'\\' bR'''x''' b\"\"\"y\"\"\"", [BYTES] * 5),
        ("rb'a'", [IDENTIFIER, STRING]),
        ("x in'a'", [IDENTIFIER, "in", STRING]),
        ("'' \"\" '''''' \"\"\"\"\"\"", [STRING] * 4),
        (r"'\a\b\f\n\r\t\v\"\'\\\?\`\x4f\X4F\u00e9\U0001F600\101'", [STRING]),
        ("a // b 'c'\n+ 1", [IDENTIFIER, "+", INT]),
        ("//", []),
        ("\t \r\n\fa", [IDENTIFIER]),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert tokenize(text).kinds == [*kinds, END]


def test_texts_and_places_are_in_code_points() -> None:
    assert tokenize("'é😀' == x\n  // 日本\n.y") == (
        [STRING, "==", IDENTIFIER, ".", IDENTIFIER, END],
        ["'é😀'", "==", "x", ".", "y", "<EOF>"],
        [0, 5, 8, 18, 19, 20],
    )


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("a # b", 2),
        ("a & b", 2),
        ("a = b", 2),
        ("a | b", 2),
        ("é", 0),
        ("٣", 0),
        ("a.`b`", 2),
        ("'abc", 0),
        ("x + 'a\nb'", 4),
        (r"'\q'", 0),
        (r'"a\q" + "b"', 0),
        (r"'\u12'", 0),
        (r"'\400'", 0),
        ('x + """a" + "b"', 4),
        ("r'a\n' + r'b'", 1),
        ("b'a\n'", 1),
    ],
)
def test_what_is_no_token_is_refused_where_it_begins(text: str, offset: int) -> None:
    with pytest.raises(MistakeError, match="token recognition error at") as refused:
        tokenize(text)
    assert refused.value.issue.offset == offset
