"""What a process expects of etcd after what it was given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from extapi.storage.etcd import wire
from extapi.storage.etcd.call import RpcError
from extapi.storage.etcd.channel import OUT_OF_RANGE
from extapi.storage.etcd.numbering import Numbering
from extapi.storage.etcd.witness import Witness, recognize
from tests.unit.storage.etcd.test_wire import field, header


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
    witness.read([entry(b"d", 6)], 7)  # also what the past has
    assert (witness.expected(), witness.at) == ([], 8)


@pytest.mark.parametrize("seen", [True, False])
def test_a_new_numbering_forgets_all(seen: bool) -> None:
    witness = Witness()
    if seen:
        witness.change(b"a", 5, deleted=False)
    witness.forget()
    assert (witness.expected(), witness.at) == ([], 0)


def there(key: bytes, revision: int) -> bytes:
    """A RangeResponse with one key: its ``mod_revision`` is the third field of a KeyValue."""
    return header(50) + field(2, field(1, key) + field(3, revision))


def judged(witness: Witness, answer: Callable[[], bytes]) -> str:
    """Why a process that has seen what the witness has does not go on with an etcd that answers so."""
    numbers = Numbering()

    async def ask(_: bytes, __: bytes) -> bytes:
        return answer()

    with pytest.raises(StopIteration):
        recognize(witness, numbers, ask).send(None)
    return numbers.refusal


def failing(text: str) -> Callable[[], bytes]:
    def answer() -> bytes:
        raise RpcError(OUT_OF_RANGE, text)

    return answer


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (lambda: there(b"a", 5), ""),
        (lambda: there(b"a", 4), "etcd had something else at revision 9 of the store"),
        (lambda: header(50), "etcd had something else at revision 9 of the store"),
        (failing("etcdserver: mvcc: required revision is a future revision"), "etcd has not reached revision 9"),
        # Whoever is that far behind starts over.
        (failing("etcdserver: mvcc: required revision has been compacted"), ""),
    ],
)
def test_another_history_is_recognized(answer: Callable[[], bytes], refusal: str) -> None:
    witness = Witness()
    witness.change(b"a", 5, deleted=False)
    witness.pass_to(9)
    found = judged(witness, answer)
    assert found.startswith(refusal)
    assert bool(found) is bool(refusal)


def test_a_key_that_is_back_is_recognized() -> None:
    witness = Witness()
    witness.change(b"a", 5, deleted=True)
    assert "had something else" in judged(witness, lambda: there(b"a", 3))
    assert judged(witness, lambda: header(50)) == ""


def test_what_was_given_while_etcd_was_asked_makes_the_answer_void() -> None:
    witness = Witness()
    witness.change(b"a", 5, deleted=False)

    def answer() -> bytes:
        witness.change(b"a", 6, deleted=False)
        return there(b"a", 6)

    assert judged(witness, answer) == ""
