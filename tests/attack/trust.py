"""Changes whom a server trusts, again and again, under traffic of everybody who was, is or is not yet trusted.

``python -m tests.attack.trust --changes 100``: authorities come and go, allowed names change, the ConfigMap is garbled,
emptied and deleted, rights are withdrawn, tokens revoked. Each request is held against what was in force when it came:
somebody who was trusted neither before nor after a change is never served, somebody who was in both is never refused.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import http.client
import json
import random
import ssl
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.attack.cluster import Cluster
from tests.attack.table import exit_status, table
from tests.attack.trusted import TOKENS, Answer, Epoch, History, Identity, Trust
from tests.attack.writing import LINES, TARGET
from tests.certificates import CLIENT, Issued, authority, bundle
from tests.conformance.serving import Serving
from tests.kubernetes.ledger import line
from tests.waiting import until

NO_CACHE = (
    "--authentication-token-webhook-cache-ttl=0s",
    "--authorization-webhook-cache-authorized-ttl=0s",
    "--authorization-webhook-cache-unauthorized-ttl=0s",
)
"""What the cluster says counts from the next request on."""
PROXIES = ("old", "new")
CLIENTS = ("first", "second")
HEADER_NAMES = {
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}


class Client(threading.Thread):
    """Asks as somebody, on a connection that it keeps for a while; notes every answer."""

    def __init__(self, realm: Realm, identity: Identity, context: ssl.SSLContext) -> None:
        super().__init__(daemon=True)
        self.identity = identity
        self._realm = realm
        self._context = context
        self.answers: list[Answer] = []
        self.failures: list[str] = []

    def run(self) -> None:
        """Ask until the end."""
        dice = random.Random()  # noqa: S311 - when to begin another connection
        while not self._realm.over.is_set():
            connection = self.connect()
            try:
                while dice.random() > 0.1 and not self._realm.over.wait(0.005):
                    self.answers.append(self.ask(connection))
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{self.identity}: {error!r}")
            finally:
                connection.close()

    def connect(self) -> http.client.HTTPSConnection:
        """With what proves who it is, if that is a certificate."""
        port = self._realm.serving.port
        return http.client.HTTPSConnection("localhost", port, timeout=30, context=self._context)

    def headers(self) -> dict[str, str]:
        """What else says who it is."""
        if self.identity.kind == "token":
            return {"Authorization": f"Bearer {self.identity.of}"}
        # Who comes with a client certificate says to be somebody else as well: nobody may listen.
        return {"X-Remote-User": self.identity.user if self.identity.kind == "proxy" else "forged"}

    def ask(self, connection: http.client.HTTPSConnection) -> Answer:
        """One request."""
        sent = time.time()
        connection.request("GET", f"{LINES}?limit=1", headers=self.headers())
        answer = connection.getresponse()
        answer.read()
        audit = answer.headers.get("Audit-Id", "")
        return Answer(self.identity, sent, time.time(), answer.status, audit)

    def write(self, name: str) -> None:
        """Make a line."""
        connection = self.connect()
        try:
            body = json.dumps(line(name, 1))
            connection.request("POST", LINES, body, {**self.headers(), "Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 201:
                raise RuntimeError(f"{self.identity}: {answer.status} {answer.read()!r}")
        finally:
            connection.close()


class Watch(threading.Thread):
    """An open watch of somebody, and what has come of it."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self._connection = client.connect()
        self._connection.request("GET", f"{LINES}?watch=1", headers=client.headers())
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            raise RuntimeError(f"{client.identity}: {self._answer.status} {self._answer.read()!r}")
        self.seen: list[str] = []
        """Names of lines."""
        self.ended = False

    def run(self) -> None:
        """Follow until the end."""
        with contextlib.suppress(OSError, http.client.HTTPException), self._answer:
            for text in self._answer:
                self.seen.append(json.loads(text)["object"].get("metadata", {}).get("name", ""))
        self._connection.close()
        self.ended = True


class Realm:
    """A cluster whose trust changes, a server that follows it, and clients of all kinds."""

    def __init__(self, directory: Path, cluster: Cluster, seed: int, *, flags: Sequence[str] = NO_CACHE) -> None:
        self._directory = directory
        self._cluster = cluster
        self._dice = random.Random(seed)  # noqa: S311 - which change
        self._authorities: dict[str, Issued] = {name: authority(name) for name in (*PROXIES, *CLIENTS)}
        self._number = 0
        self.over = threading.Event()
        self.history = History()
        self.trust = Trust()
        self.changes: Counter[str] = Counter()
        self.problems: list[str] = []
        self.serving = Serving(directory, cluster.kubeconfig(directory / "kubeconfig"), target=TARGET, flags=flags)
        self.serving.context = self._context()  # who asks whether it is ready shows nothing
        self._apply_reviews(self.trust)
        cluster.trust(self._data(self.trust))
        self.serving.start()
        self.history.epochs.append(Epoch(self.trust, 0, 0))
        self.clients = [
            *[self._with_certificate("proxy", of, f"user-of-{of}", "front-proxy") for of in PROXIES],
            *[self._with_certificate("proxy", of, f"user-of-another-{of}", "another-proxy") for of in PROXIES],
            *[self._with_certificate("client", of, f"client-of-{of}") for of in CLIENTS],
            *[Client(self, Identity("token", token, f"user-of-{token}"), self._context()) for token in TOKENS],
        ]

    def brief(self, seconds: float) -> Client:
        """A front proxy whose certificate expires so soon."""
        return self._with_certificate("proxy", "old", "user-of-brief", "front-proxy", lasting=seconds)

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self._directory / "serving-ca.pem"))

    def _with_certificate(
        self, kind: str, of: str, user: str, name: str = "", *, lasting: float = 3600.0, by: Issued | None = None
    ) -> Client:
        lifetime = dt.timedelta(seconds=lasting)
        leaf = (by or self._authorities[of]).leaf(name or user, eku=CLIENT, lasting=lifetime)
        self._number += 1
        paths = leaf.save(self._directory, f"client-{self._number}")
        context = self._context()
        context.load_cert_chain(paths.certificate, paths.key)
        expires = leaf.certificate.not_valid_after_utc.timestamp()
        return Client(self, Identity(kind, of, user, name, expires), context)

    def _data(self, trust: Trust, canary: Issued | None = None, *, among: str = "proxies") -> dict[str, str]:
        """The ConfigMap. ``canary``: one more authority ``among`` proxies or clients."""
        extra = [canary] if canary else []
        proxies = [self._authorities[name] for name in sorted(trust.proxies)] + (extra if among == "proxies" else [])
        clients = [self._authorities[name] for name in sorted(trust.clients)] + (extra if among == "clients" else [])
        return {
            "client-ca-file": bundle(*clients).decode(),
            "requestheader-client-ca-file": bundle(*proxies).decode(),
            "requestheader-allowed-names": json.dumps(sorted(trust.names)),
            **HEADER_NAMES,
        }

    # -- changes

    def change(self, kind: str) -> None:
        """Make one, and wait until nothing older is in force: then a canary that came with it is believed."""
        self.changes[kind] += 1
        getattr(self, f"_{kind}")()

    def _rotate_proxies(self) -> None:
        self._put(replace(self.trust, proxies=self._others(self.trust.proxies, PROXIES)))

    def _rotate_clients(self) -> None:
        self._put(replace(self.trust, clients=self._others(self.trust.clients, CLIENTS)))

    def _both(self) -> None:
        self._put(replace(self.trust, proxies=frozenset(PROXIES), clients=frozenset(CLIENTS)))

    def _rename(self) -> None:
        choices = [{"front-proxy"}, {"another-proxy"}, {"front-proxy", "another-proxy"}]
        self._put(replace(self.trust, names=frozenset(self._dice.choice(choices))))

    def _garble(self) -> None:
        """A part that cannot be read leaves that part as it was, and the others follow."""
        key, among = self._dice.choice((("client-ca-file", "proxies"), ("requestheader-client-ca-file", "clients")))
        wrong = self._dice.choice(("", " ", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"))
        self._put(self.trust, {key: wrong}, among=among)

    def _garble_names(self) -> None:
        """All names stay where one list cannot be read."""
        key = self._dice.choice(("requestheader-allowed-names", "requestheader-username-headers"))
        self._put(self.trust, {key: self._dice.choice(("[", '{"a": 1}', "[1]", "front-proxy"))}, among="clients")

    def _remove(self) -> None:
        """Deleted, and there again: what was in force stays meanwhile."""
        self._cluster.trust(None)
        self._put(self.trust)

    def _empty(self) -> None:
        """Everything is empty, and then as it was: what was in force stays meanwhile."""
        kept = {"requestheader-allowed-names": json.dumps(sorted(self.trust.names)), **HEADER_NAMES}
        self._cluster.trust({"client-ca-file": "", "requestheader-client-ca-file": "", **kept})
        self._put(self.trust)

    def _withdraw(self) -> None:
        """From two, one of whom is known now: whom nobody knows shows nothing of rights."""
        everybody = [client.identity for client in self.clients]
        lasting = [identity for identity in everybody if identity.until > time.time() + 60]
        known = [identity for identity in lasting if identity.status(self.trust) != 401]
        users = {self._dice.choice(known).user, self._dice.choice(everybody).user}
        self._review(replace(self.trust, without_rights=frozenset(users)))

    def _revoke(self) -> None:
        tokens = [token for token in TOKENS if self._dice.random() < 0.5]
        self._review(replace(self.trust, tokens=frozenset(tokens)))

    def _others(self, present: frozenset[str], all_: Sequence[str]) -> frozenset[str]:
        """The authorities that are not in force, alone or with one that is."""
        return frozenset(all_) - present or frozenset({self._dice.choice(all_)})

    def move(self, trust: Trust) -> None:
        """Change to this trust, by the ConfigMap or by reviews."""
        of_the_configmap = replace(trust, tokens=self.trust.tokens, without_rights=self.trust.without_rights)
        if of_the_configmap == self.trust:
            self._review(trust)
        else:
            self._put(trust)

    def _put(self, trust: Trust, wrong: Mapping[str, str] | None = None, *, among: str = "proxies") -> None:
        canary = authority(f"canary-{self._number}")
        name = min(trust.names) if trust.names else "any"
        herald = (
            self._with_certificate("proxy", "", "canary", name, by=canary)
            if among == "proxies"
            else self._with_certificate("client", "", "canary", by=canary)
        )
        epoch = Epoch(trust, time.time())
        self.history.epochs.append(epoch)
        self._cluster.trust({**self._data(trust, canary, among=among), **(wrong or {})})
        until(lambda: self._answered(herald) != 401, 30)
        epoch.settled = time.time()
        self.trust = trust

    def _answered(self, client: Client) -> int:
        connection = client.connect()
        try:
            return client.ask(connection).status
        finally:
            connection.close()

    def _review(self, trust: Trust) -> None:
        epoch = Epoch(trust, time.time())
        self.history.epochs.append(epoch)
        self._apply_reviews(trust)
        # Whoever asks the same as a review that is under way gets its answer: those are over when another is.
        for client in self.clients:
            self._answered(client)
        epoch.settled = time.time()
        self.trust = trust

    def _apply_reviews(self, trust: Trust) -> None:
        self._cluster.allows = lambda spec: spec.get("user") not in trust.without_rights
        self._cluster.tokens = {
            token: {"username": f"user-of-{token}", "groups": ["system:authenticated"]} for token in trust.tokens
        }

    # -- judging

    def further(self, requests: int = 3) -> None:
        """Until everybody has been answered so many times more."""
        wanted = [(client, len(client.answers) + requests) for client in self.clients]
        until(lambda: all(len(client.answers) >= count or client.failures for client, count in wanted), 60)

    def answers(self) -> list[Answer]:
        """All so far."""
        return [answer for client in self.clients for answer in list(client.answers)]

    def violations(self) -> list[str]:
        """What was found; also who the server believed everybody to be."""
        found = [text for client in self.clients for text in client.failures]
        answers = self.answers()
        found += [text for answer in answers if (text := self.history.wrong(answer))]
        said = self._users()
        for answer in answers:
            # The line of the last request may be missing: the server writes it after the answer, and is killed at the end.
            user = said.get(answer.audit, answer.identity.user)
            if answer.status in {200, 403} and user != answer.identity.user:
                found.append(f"{answer.identity} was believed to be {user!r}")
        return found + self.problems

    def _users(self) -> dict[str, str]:
        """By audit ID, from the server's log."""
        found = {}
        for text in self.serving.log.read_text().splitlines():
            if text.startswith('{"event":"request"'):
                told: dict[str, Any] = json.loads(text)
                found[told["audit"]] = told.get("user", "")
        return found

    def close(self) -> None:
        """End everything."""
        self.over.set()
        for client in self.clients:
            if client.ident:
                client.join(30)
        self.serving.close()


KINDS = (
    "rotate_proxies",
    "rotate_clients",
    "both",
    "rename",
    "garble",
    "garble_names",
    "remove",
    "empty",
    "withdraw",
    "revoke",
)


def main(arguments: list[str]) -> int:
    """The long form; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.trust", description=__doc__)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args(arguments)
    dice = random.Random(options.seed)  # noqa: S311 - which change
    begun = time.monotonic()
    cluster = Cluster()
    with tempfile.TemporaryDirectory() as directory:
        realm = Realm(Path(directory), cluster, options.seed)
        realm.clients += [realm.brief(seconds) for seconds in (5.0, 20.0, 40.0)]
        try:
            for client in realm.clients:
                client.start()
            for _ in range(options.changes):
                realm.change(dice.choice(KINDS))
                realm.further()
        finally:
            realm.close()
            cluster.stop()
        found = realm.violations()
        statuses = Counter(answer.status for answer in realm.answers())
        rows: list[tuple[str, object]] = [
            ("seed", options.seed),
            ("seconds", round(time.monotonic() - begun)),
            *[(f"changes: {kind.replace('_', ' ')}", count) for kind, count in sorted(realm.changes.items())],
            *[(f"answers {status}", count) for status, count in sorted(statuses.items())],
            ("reviews", sum(cluster.reviews.values())),
            ("violations", len(found)),
        ]
        table("trust that changes", rows)
        return exit_status(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
