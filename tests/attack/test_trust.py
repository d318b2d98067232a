"""The short form of :mod:`tests.attack.trust`: each kind of change once, under traffic; and what becomes of open watches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.attack.cluster import Cluster
from tests.attack.trust import KINDS, Realm, Watch
from tests.attack.trusted import Answer, Epoch, History, Identity, Trust
from tests.waiting import until

KEPT_A_SECOND = (
    "--authentication-token-webhook-cache-ttl=1s",
    "--authorization-webhook-cache-authorized-ttl=1s",
    "--authorization-webhook-cache-unauthorized-ttl=1s",
)


@contextmanager
def realm(tmp_path: Path, *flags: str) -> Iterator[Realm]:
    cluster = Cluster()
    seed = random.SystemRandom().randrange(10**6)
    made = Realm(tmp_path, cluster, seed, flags=flags) if flags else Realm(tmp_path, cluster, seed)
    try:
        yield made
    finally:
        made.close()
        cluster.stop()


def test_nobody_is_served_without_trust_or_refused_with_it(tmp_path: Path) -> None:
    with realm(tmp_path) as made:
        brief = made.brief(6)
        made.clients.append(brief)
        for client in made.clients:
            client.start()
        for kind in random.sample(KINDS, k=len(KINDS)):
            made.change(kind)
            made.further()
    assert not made.violations()[:5]
    assert {answer.status for answer in made.answers()} - {429} == {200, 401, 403}


def test_an_answer_that_nothing_in_force_gives_is_seen() -> None:
    before, after = Trust(), Trust(proxies=frozenset({"new"}))
    history = History([Epoch(before, 0, 0), Epoch(after, 10, 12)])
    old, new = (Identity("proxy", of, "alice", "front-proxy") for of in ("old", "new"))

    def wrong(identity: Identity, sent: float, status: int) -> bool:
        return bool(history.wrong(Answer(identity, sent, sent + 0.5, status, "")))

    assert [wrong(old, 5, 200), wrong(old, 11, 200), wrong(old, 11, 401), wrong(old, 13, 401)] == [False] * 4
    assert [wrong(new, 5, 401), wrong(new, 11, 200), wrong(new, 11, 401), wrong(new, 13, 200)] == [False] * 4
    assert [wrong(old, 5, 401), wrong(old, 13, 200), wrong(new, 5, 200), wrong(new, 13, 401)] == [True] * 4
    brief = replace(new, until=20.0)
    assert [wrong(brief, 19, 200), wrong(brief, 20.2, 401), wrong(brief, 22, 401)] == [False] * 3
    assert [wrong(brief, 18, 401), wrong(brief, 22, 200)] == [True] * 2


WITHDRAWALS: dict[str, Callable[[Trust], Trust]] = {
    "another authority of proxies": lambda trust: replace(trust, proxies=frozenset({"new"})),
    "other names of proxies": lambda trust: replace(trust, names=frozenset({"another-proxy"})),
    "another authority of clients": lambda trust: replace(trust, clients=frozenset({"second"})),
    "a token revoked": lambda trust: replace(trust, tokens=frozenset({"t2"})),
    "rights withdrawn": lambda trust: replace(trust, without_rights=frozenset({"user-of-old", "client-of-first"})),
}


@pytest.mark.parametrize("name", WITHDRAWALS)
def test_open_watches_end_with_trust(tmp_path: Path, name: str) -> None:
    with realm(tmp_path, *KEPT_A_SECOND) as made:
        before, after = made.trust, WITHDRAWALS[name](made.trust)
        served = [client for client in made.clients if client.identity.status(before) == 200]
        staying = [client for client in served if client.identity.status(after) == 200]
        watches = {client: Watch(client) for client in served}
        for watch in watches.values():
            watch.start()
        made.move(after)
        ending = [watch for client, watch in watches.items() if client not in staying]
        assert ending
        until(lambda: all(watch.ended for watch in ending), 30)
        staying[0].write("afterwards")
        until(lambda: all("afterwards" in watches[client].seen for client in staying), 30)
        assert not any("afterwards" in watch.seen for watch in ending)


def test_an_open_watch_ends_with_its_certificate(tmp_path: Path) -> None:
    with realm(tmp_path, *KEPT_A_SECOND) as made:
        watch = Watch(made.brief(4))
        watch.start()
        until(lambda: watch.ended, 30)
