"""What connections share; the parser itself is tested over TLS, in tests/wire."""

from __future__ import annotations

from extapi.listener.parsing import NAME_LENGTH, NAMES, LowerCaseNames


def test_names_are_kept_in_lower_case() -> None:
    names = LowerCaseNames()
    assert [names[raw] for raw in (b"X-Remote-User", b"x-remote-user", b"X-Remote-User")] == ["x-remote-user"] * 3
    assert dict(names) == {b"X-Remote-User": "x-remote-user", b"x-remote-user": "x-remote-user"}


def test_names_are_kept_within_bounds() -> None:
    names = LowerCaseNames()
    assert names[b"X" * (NAME_LENGTH + 1)] == "x" * (NAME_LENGTH + 1)
    assert not names
    for number in range(NAMES * 2):
        assert names[b"X-%d" % number] == f"x-{number}"
        assert len(names) <= NAMES
