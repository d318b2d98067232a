"""The scanner behind Go's error texts agrees with Python on what is JSON."""

import json

from hypothesis import given, settings, strategies as st

from extapi.codec.jsonsyntax import syntax_error


def _python_reads(text: str) -> bool:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


@given(st.text(st.sampled_from('{}[]",:\\ \ntruefalsn0123.-+eEu"'), max_size=12))
@settings(max_examples=500, deadline=None)
def test_it_finds_an_error_exactly_where_there_is_one(text: str) -> None:
    assert (syntax_error(text.encode(), max_depth=100) == "") == _python_reads(text)


def test_depth() -> None:
    assert syntax_error(b"[[]]", max_depth=2) == ""
    assert syntax_error(b"[[]]", max_depth=1) == "exceeded max depth"
