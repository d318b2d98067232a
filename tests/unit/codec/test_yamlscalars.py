"""The patterns of https://yaml.org/type/ for YAML 1.1, and those of go-yaml v2's ``resolve.go``, as the judges of scans."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given, strategies as st

from extapi.codec.yamlscalars import is_ambiguous, resolve

INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?")
BOOL = re.compile(r"y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF")
NOT_BETWEEN_DIGITS = re.compile(r"(?<![0-9])_|_(?![0-9])")
TEXTS = st.lists(
    st.sampled_from([*"017859xXbBoO_-+.:eEafz", "2020", "-01", "59", "60", "T", "t", " ", "\n", "\u0663"]),
    min_size=1,
    max_size=9,
).map("".join)


@given(TEXTS)
@example("1e2020")
@example(".5_0")
@example(".5_")
@example("._5")
def test_what_is_a_number(text: str) -> None:
    plain = text.replace("_", "")
    # strconv.ParseFloat refuses what is beyond a float64, and go-yaml takes it for a string then.
    is_float = FLOAT.fullmatch(plain) is not None and math.isfinite(float(plain))
    if text[0] == ".":
        is_float = is_float and NOT_BETWEEN_DIGITS.search(text) is None  # this one goes to strconv.ParseFloat as it is
    numeric = text[0] in "+-.0123456789" and (is_float or (text[0] != "." and INTEGER.fullmatch(plain) is not None))
    assert (not isinstance(resolve(text), str)) == numeric or BOOL.fullmatch(text) is not None


@given(TEXTS)
def test_what_has_to_be_quoted(text: str) -> None:
    special = SEXAGESIMAL.fullmatch(text) or TIMESTAMP.fullmatch(text)
    assert is_ambiguous(text) == (special is not None or not isinstance(resolve(text), str))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("-0b11", -3),
        ("0o17", 15),
        ("017", 15),
        ("08", 8.0),
        ("1_000", 1000),
        ("+0", 0),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("+9223372036854775808", 9223372036854775808.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1" * 400 + "0", "1" * 400 + "0"),
        ("0x", "0x"),
        ("1e", "1e"),
        ("-", "-"),
        ("_1", "_1"),
    ],
)
def test_values(text: str, value: object) -> None:
    found = resolve(text)
    assert (type(found), found) == (type(value), value)
