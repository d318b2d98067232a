"""Behaviour J23; the odd ones are what kube-apiserver was seen to accept or refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extapi.schema.formats import enforced, string_format

RECORDED: dict[str, dict[str, list[str]]] = json.loads((Path(__file__).parent / "strfmt_cases.json").read_text())
"""What ``k8s.io/kube-openapi/pkg/validation/strfmt`` said in the version of Kubernetes 1.36.3, compiled with Go 1.26."""

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "uri": ["http://x/y?a b", "/abs", "mailto:a@b", "urn:a:b", "*", "http://[::1]:80/", "fe80::1%eth0", "/a b"],
    "email": ["a@b", "Bob <a@b.c>", "<a@b>", '"q q"@x', "a@[1.2.3.4]"],
    "hostname": ["example.com", "localhost", "1.2.3.4x.com", "a-b.example.london", "☃.net", "münchen.de"],
    "ipv4": ["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "2001:db8::", "::ffff:1.2.3.4"],
    "cidr": ["1.2.3.4/8", "::/0", "01.2.3.4/32"],
    "mac": ["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11:22:33:44:55:66:77"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    "uuid3": ["123e4567-e89b-32d3-1456-426614174000"],
    "uuid4": ["123e4567-e89b-42d3-a456-426614174000"],
    "uuid5": ["123e4567-e89b-52d3-a456-426614174000"],
    "isbn": ["0321751043", "9780321751041", "978-0321751041"],
    "isbn10": ["0321751043"],
    "isbn13": ["978-0321751041"],
    "creditcard": ["4111111111111111", "4111-1111-1111-1111"],
    "ssn": ["123-45-6789", "123 45 6789"],
    "hexcolor": ["#FFFFFF", "fff"],
    "rgbcolor": ["rgb(1,2,3)", "rgb( 255 , 0 , 99 )"],
    "byte": ["YQ==", "YWJj"],
    "password": ["", "anything"],
    "date": ["2020-02-29", "0000-01-01"],
    "duration": ["1h30m", "-1.5h", "22 ns", "2d", "1 hour", "3 weeks", "0"],
    "date-time": ["2014-12-15T19:30:20.000Z", "2020-01-01t23:59:59+01:00"],
    "k8s-short-name": ["a", "a-1", "x" * 63],
    "k8s-long-name": ["a.b-c", "x" * 200],
}
BAD = {
    "bsonobjectid": ["507f1f77bcf86cd79943901", ""],
    "uri": [
        "",
        "relative",
        "http://x:port/",
        "http:// x",
        "/%zz",
        "http://x/%zz",
        "http://x\n",
        "?a",
        "1:2",
        "http://[x",
    ],
    "email": ["", "a", "a b@c", "a..b@c", "a@b.", "a@b c", "<a@b", "a@"],
    "hostname": [
        "",
        "-a.com",
        "a_b",
        "a..com",
        "1.2.3.4",
        "a-.com",
        "foo.c",
        "x" * 64,
        ".".join(["a" * 60] * 5),
        "abc-def",
    ],
    "ipv4": ["1.2.3", "::1", "1.2.3.256", "1.2.3.4%eth0", "1.2.3.4\n", "99999999999999999999.1.1.1"],
    "ipv6": ["1.2.3.4", "fe80::1%eth0", ":::", "x:y"],
    "cidr": ["1.2.3.4", "1.2.3.4/33", "::/129", "x/8", "1.2.3.4/+8"],
    "mac": ["00:11:22:33:44", "00:11-22:33:44:55", "x"],
    "uuid": ["123e4567-e89b-12d3-a456", "x"],
    "uuid3": ["123e4567-e89b-42d3-a456-426614174000"],
    "uuid4": ["123e4567-e89b-42d3-7456-426614174000"],
    "uuid5": ["123e4567-e89b-42d3-a456-426614174000"],
    "isbn": ["0321751044", "9780321751042", "x"],
    "isbn10": ["9780321751041"],
    "isbn13": ["0321751043"],
    "creditcard": ["4111111111111112", "1", ""],
    "ssn": ["123456789", "12-345-6789"],
    "hexcolor": ["#ffff", "ggg"],
    "rgbcolor": ["rgb(255,255,2559)", "rgb(1,2)"],
    "byte": ["", "YQ", "Y===", "YW\nJ", "YWJj====", "WJjA========", "YQ==YQ=="],
    "date": ["2020-02-30", "2020-2-3", "20200101", "2020-01-01\n"],
    "duration": ["", "5 parsecs", "hour", "1"],
    "date-time": ["2020-01-01T24:00:00Z", "2020-01-01T00:00:00", "2020-01-01", "2020-13-01T00:00:00Z"],
    "k8s-short-name": ["A", "-a", "a-", "x" * 64, ""],
    "k8s-long-name": ["a..b", "a.B", "x" * 254],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_accepted(name: str, text: str) -> None:
    check = string_format(name)
    assert check is not None
    assert check(text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_refused(name: str, text: str) -> None:
    check = string_format(name)
    assert check is not None
    assert not check(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com#frag",
        "http://a%41",
        "http://%20/",
        "http://h\\x/",
        "http://h`/",
        "http://{h}/",
        "http://a|b/",
        "http://a^b/",
        "http://[fe80::1%en0]/",
        "http://[::1]a/",
    ],
)
def test_what_a_host_must_not_hold(text: str) -> None:
    """Each was asked of ``net/url.ParseRequestURI`` (``tests/differential/formats.py``), as those below were."""
    check = string_format("uri")
    assert check is not None
    assert not check(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("uri", text) for text in ("http://h:65536", "http://a/ b", "/ b", "/`{|}^", "http://a/`{|}^")),
        ("hostname", "a-"),
        ("email", "=?utf-8?q?x?= y(c) <a@b>"),
        ("email", "=?utf-8?q?x?= =?utf-8?q?y?= <a@b>"),
        ("email", "=?utf-8?q??= x <a@b>"),
        ("email", "=?u\u017f-ascii?q?x?= <a@b>"),
    ],
)
def test_what_go_lets_pass(name: str, text: str) -> None:
    check = string_format(name)
    assert check is not None
    assert check(text)


@pytest.mark.parametrize(
    "text", ["=?utf-8?q?x?=(c)y <a@b>", "=?utf-8?q?x?= (c) <a@b>", "=?utf-8?q??= <a@b>", "=?x?b?YQ==?= <a@b>"]
)
def test_encoded_words_that_go_refuses(text: str) -> None:
    """``net/mail`` skips comments after a word that is not encoded only, and an encoded word without text is none."""
    check = string_format("email")
    assert check is not None
    assert not check(text)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("\U00031350", True),
        ("a.\U00031350b", True),
        ("\U0001fae8.com", True),
        ("\U0001fae8b.\U0001fae8b", False),
        ("\U0002ebf0", False),
        ("a.\U0002ebf0b", False),
        ("\u2ffc", False),
    ],
)
def test_host_names_have_the_letters_and_symbols_of_unicode_15_0(text: str, fits: bool) -> None:
    """As Go's, whatever version of Unicode the interpreter knows: 3.11 knows 14.0, 3.13 knows 15.1."""
    check = string_format("hostname")
    assert check is not None
    assert check(text) is fits


@pytest.mark.parametrize("name", RECORDED)
def test_kube_apiserver_says_the_same(name: str) -> None:
    check = string_format(name)
    assert check is not None
    assert [text for text in RECORDED[name]["accepted"] if not check(text)] == []
    assert [text for text in RECORDED[name]["refused"] if check(text)] == []


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("text", ["\ud800", "1\udfff", "a@\ud800", "http://\ud800/", "http://[\ud800]", "a/\udfff"])
def test_lone_surrogates_are_harmless(name: str, text: str) -> None:
    """They come from an author's code at most: whatever a check says of them, it must not fail."""
    check = string_format(name)
    assert check is not None
    assert check(text) in {True, False}


def test_dashes_in_names_do_not_matter() -> None:
    assert string_format("datetime") is string_format("date-time")
    assert string_format("no-such-format") is None


@pytest.mark.parametrize(
    ("types", "name", "held"),
    [
        (("string",), "date-time", "date-time"),
        (("string",), "int64", ""),
        ((), "date", "date"),
        (("integer", "string"), "date", "date"),
        (("integer",), "int32", "int32"),
        (("integer",), "date", ""),
        (("number",), "double", "double"),
        (("number",), "int32", ""),
        (("boolean",), "date", ""),
    ],
)
def test_a_format_holds_only_for_its_types(types: tuple[str, ...], name: str, held: str) -> None:
    assert enforced(types, name) == held
