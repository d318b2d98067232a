"""What a process expects of etcd after what it was given."""

from __future__ import annotations

import pytest

from extapi.storage.etcd import wire
from extapi.storage.etcd.witness import Witness


def entry(key: bytes, revision: int) -> wire.Entry:
    return wire.Entry(key, b"", revision)


def test_nothing_is_expected_of_what_is_unknown() -> None:
    assert Witness().expected() == []


def test_the_last_key_that_is_there_and_the_last_that_is_gone() -> None:
    witness = Witness()
    witness.change(b"a", 5, deleted=False)
    witness.change(b"b", 6, deleted=False)
    assert (witness.expected(), witness.at) == ([(b"b", 6)], 6)
    witness.change(b"c", 7, deleted=True)
    witness.pass_to(9)
    assert (witness.expected(), witness.at) == ([(b"b", 6), (b"c", 0)], 9)
    witness.change(b"b", 10, deleted=True)
    assert witness.expected() == [(b"b", 0)]
    witness.change(b"b", 11, deleted=False)
    assert witness.expected() == [(b"b", 11)]


def test_who_lags_behind_says_nothing_new() -> None:
    witness = Witness()
    witness.change(b"a", 5, deleted=False)
    witness.pass_to(9)
    witness.change(b"b", 4, deleted=False)
    witness.change(b"b", 6, deleted=True)
    witness.pass_to(6)
    assert (witness.expected(), witness.at) == ([(b"a", 5)], 9)


def test_pages_of_one_revision_are_one_reading() -> None:
    witness = Witness()
    witness.change(b"z", 3, deleted=False)
    witness.read([entry(b"a", 5), entry(b"b", 2)], 7)
    witness.read([entry(b"c", 4)], 7)
    witness.read([entry(b"d", 6)], 7)
    witness.read([], 7)
    assert (witness.expected(), witness.at) == ([(b"d", 6)], 7)
    witness.read([entry(b"e", 1)], 6)  # of the past
    assert witness.expected() == [(b"d", 6)]
    witness.read([], 8)  # what was there may be gone
    assert (witness.expected(), witness.at) == ([], 8)


@pytest.mark.parametrize("seen", [True, False])
def test_a_new_numbering_forgets_all(seen: bool) -> None:
    witness = Witness()
    if seen:
        witness.change(b"a", 5, deleted=False)
    witness.forget()
    assert (witness.expected(), witness.at) == ([], 0)
