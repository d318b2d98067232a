"""Words between the supervisor and its processes, with descriptors."""

from __future__ import annotations

import socket

import pytest

from extapi.privatereactor import private_reactor
from extapi.workers import control
from extapi.workers.control import Control


def test_words_come_one_by_one_with_what_was_given() -> None:
    ours, theirs = control.pair()
    one, other = socket.socketpair()
    control.tell(theirs, control.READY)
    control.tell(theirs, control.SCRAPE, 3, give=one)
    assert one.fileno() == -1  # it belongs to the other side now
    assert control.hear(ours) == (control.READY, 0, None)
    heard = control.hear(ours)
    assert heard is not None
    word, number, given = heard
    assert (word, number) == (control.SCRAPE, 3)
    assert given is not None
    given.sendall(b"hello")
    assert other.recv(5) == b"hello"
    with pytest.raises(BlockingIOError):
        control.hear(ours)
    theirs.close()
    assert control.hear(ours) is None
    for sock in (ours, given, other):
        sock.close()


def test_who_is_gone_is_told_nothing() -> None:
    ours, theirs = control.pair()
    theirs.close()
    one, other = socket.socketpair()
    control.tell(ours, control.HUB, give=one)
    assert other.recv(1) == b""
    ours.close()
    other.close()


def test_a_process_hears_in_its_reactor_and_learns_of_the_end() -> None:
    ours, theirs = control.pair()
    heard: list[object] = []
    with private_reactor() as reactor:
        made = Control(reactor, theirs, lambda *what: heard.append(what), lambda: heard.append("end"))
        control.tell(ours, control.HUB, 1)
        control.tell(ours, control.READY)
        made.doRead()
        made.tell(control.READY)
        assert control.hear(ours) == (control.READY, 0, None)
        ours.close()
        made.doRead()
    assert heard == [(control.HUB, 1, None), (control.READY, 0, None), "end"]
    theirs.close()
