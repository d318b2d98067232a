"""Four hundred strangers and one cluster: how many reviews they cause, and who is served meanwhile. Counts, not times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from extapi.authentication.tokenreview import FAILURES
from extapi.authorization.subjectaccessreview import REFUSALS
from extapi.client.fairqueue import RUNNING, SHARE, WAITING
from tests.attack.crowd import GROUP, PIZZAS, TOPPINGS, Stranger, answers, until
from tests.attack.review_cluster import ReviewCluster
from tests.bench.server import Server

CROWD = 400
NEVER = "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
ALICE = "X-Remote-User: alice\r\n"


class Attack:
    """A server, its cluster, which holds what strangers cause, and everybody who connects."""

    def __init__(self, directory: Path) -> None:
        self.cluster = ReviewCluster(holds=self._holds)
        self.server = Server(directory, self.cluster)
        self.everybody: list[Stranger] = []

    @staticmethod
    def _holds(spec: dict[str, Any]) -> bool:
        return spec.get("user") == "system:anonymous" or spec.get("token", "").startswith("bad")

    def stranger(self, source: str = "127.0.0.1") -> Stranger:
        stranger = Stranger(self.server, source)
        self.everybody.append(stranger)
        return stranger

    def crowd(self) -> list[Stranger]:
        return [self.stranger() for _ in range(CROWD)]

    def others_are_served(self) -> None:
        """By the front proxy, questions that nobody knows the answers of; and a token from another address."""
        with self.server.connect() as connection:
            for number in range(20):
                path = PIZZAS % f"namespace{number}"
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{ALICE}\r\n".encode())
                assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
        other = self.stranger("127.0.0.2")
        other.get(PIZZAS % "bench", "Authorization: Bearer good-bob")
        assert other.wait()[0] == 200
        probe = self.stranger()
        probe.get("/readyz")
        assert probe.wait()[0] == 200

    def stop(self) -> None:
        for stranger in self.everybody:
            stranger.close()
        self.cluster.release()
        self.server.stop()


@contextmanager
def attacked(directory: Path) -> Iterator[Attack]:
    attack = Attack(directory)
    try:
        yield attack
    finally:
        attack.stop()


@pytest.fixture
def attack(tmp_path: Path) -> Iterator[Attack]:
    with attacked(tmp_path) as running:
        yield running


def test_tokens_of_strangers(attack: Attack) -> None:
    crowd = attack.crowd()
    for number, stranger in enumerate(crowd):
        stranger.get(PIZZAS % "bench", f"Authorization: Bearer bad-{number}")
    refused = answers(crowd, CROWD - FAILURES)
    assert {status for status, _ in refused} == {429}  # never 401: nobody has looked at their tokens
    assert all("\r\nRetry-After: " in head for _, head in refused)
    until(lambda: attack.cluster.running == RUNNING // SHARE)
    attack.others_are_served()
    assert attack.cluster.running == attack.cluster.count("TokenReview") - 1 == RUNNING // SHARE
    attack.cluster.release()
    assert {status for status, _ in answers(crowd, FAILURES)} == {401}
    assert attack.cluster.count("TokenReview") == FAILURES + 1


def test_strangers_who_hang_up_leave_the_queue(attack: Attack) -> None:
    crowd = attack.crowd()
    for number, stranger in enumerate(crowd):
        stranger.get(PIZZAS % "bench", f"Authorization: Bearer bad-{number}")
    answers(crowd, CROWD - FAILURES)
    until(lambda: attack.cluster.running == RUNNING // SHARE)
    for stranger in crowd:
        stranger.close()
    attack.others_are_served()
    attack.cluster.release()
    attack.others_are_served()
    # Those under way went on; of those that waited nothing came. The two good ones are the same.
    assert attack.cluster.count("TokenReview") == RUNNING // SHARE + 1


def test_questions_of_nobody_in_particular(attack: Attack) -> None:
    crowd = attack.crowd()
    for number, stranger in enumerate(crowd):
        stranger.get(PIZZAS % "bench" + f"?labelSelector=a{number}")
    # A quarter of the 400 places is theirs: the crowd is refused for want of room, credit, or a place in the queue.
    refused = answers(crowd, CROWD - 100)
    assert {status for status, _ in refused} == {429}
    until(lambda: attack.cluster.running == RUNNING // SHARE)
    attack.others_are_served()
    assert attack.cluster.most <= RUNNING // SHARE + 1
    attack.cluster.release()
    assert {status for status, _ in answers(crowd, 100)} == {403}
    assert min(REFUSALS, WAITING) >= 100


def test_a_selector_of_a_megabyte_is_no_question(attack: Attack) -> None:
    stranger = attack.stranger()
    stranger.get(PIZZAS % "bench" + "?labelSelector=" + ",".join(["a"] * 450_000))
    assert stranger.wait()[0] == 400
    assert attack.cluster.reviews == []


def test_bodies_that_never_come(attack: Attack) -> None:
    slow = []
    for _ in range(260):
        connection = attack.server.connect()
        connection.sendall((NEVER % (PIZZAS % "bench", ALICE)).encode())
        slow.append(connection)
    with attack.server.connect() as connection:
        body = json.dumps(
            {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Topping", "metadata": {"name": "salt"}, "spec": {"cost": "1"}}
        )
        head = f"POST {TOPPINGS} HTTP/1.1\r\nHost: localhost\r\n{ALICE}Content-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 201 Created\r\n"), answer
    for connection in slow:
        connection.close()
