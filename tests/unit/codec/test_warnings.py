"""Warning headers: behaviour G15, M16."""

from extapi.codec.warnings import warning_headers


def test_text_is_quoted() -> None:
    assert warning_headers(['unknown field "spec.foo"', "a\\b é"]) == [
        r'299 - "unknown field \"spec.foo\""',
        r'299 - "a\\b é"',
    ]


def test_each_text_once_and_none_with_control_characters() -> None:
    assert warning_headers(["a", "", "a", "b\n", "c\x7f", "d\x85", "e"]) == ['299 - "a"', '299 - "e"']


def test_within_the_budget_nothing_is_cut() -> None:
    assert warning_headers(["x" * 4096]) == [f'299 - "{"x" * 4096}"']


def test_beyond_the_budget_all_are_cut_and_the_last_dropped() -> None:
    texts = [f"{at:02}" + "é" * 400 for at in range(20)]
    headers = warning_headers(texts)
    assert headers == [f'299 - "{text[:256]}"' for text in texts[:16]]
    assert warning_headers(["short", "x" * 4095]) == ['299 - "short"', f'299 - "{"x" * 256}"']
