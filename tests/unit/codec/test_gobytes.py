"""What is expected was said by encoding/base64 of Go."""

from __future__ import annotations

import pytest

from extapi.codec.gobytes import byte_count, canonical_bytes


@pytest.mark.parametrize(
    ("text", "at"),
    [
        *(("YQ", 0), ("Y", 0), ("YWJj=", 4), ("YWJjYQ=", 7), ("YW=J", 2), ("====", 0), ("Y=", 1)),
        *(("YQ==YQ==", 4), ("YWJ*", 3), ("ä", 0)),
    ],
)
def test_wrong_base64_is_refused_where_go_gives_up(text: str, at: int) -> None:
    with pytest.raises(ValueError, match=f"^illegal base64 data at input byte {at}$"):
        canonical_bytes(text)


def test_base64_is_kept_as_go_writes_it() -> None:
    assert [canonical_bytes(text) for text in ("", "YR==", "YW\r\nJj\n")] == ["", "YQ==", "YWJj"]


@pytest.mark.parametrize(("text", "count"), [("", 0), ("YQ==", 1), ("YWI=", 2), ("YWJj", 3), ("YWJjYQ==", 4)])
def test_bytes_are_counted(text: str, count: int) -> None:
    assert byte_count(text) == count
