"""What was trusted when, and which answers somebody may have got then. Pure: it sees moments and answers, and no server."""

from __future__ import annotations

from dataclasses import dataclass, field

TOKENS = ("t1", "t2")


@dataclass(frozen=True)
class Trust:
    """What is in force. Names of authorities and tokens, common names of proxies (none: any), users without rights."""

    proxies: frozenset[str] = frozenset({"old"})
    clients: frozenset[str] = frozenset({"first"})
    names: frozenset[str] = frozenset({"front-proxy"})
    tokens: frozenset[str] = frozenset(TOKENS)
    without_rights: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Identity:
    """Somebody with a kind of credentials. ``kind``: proxy, client or token; ``of``: the authority, or the token."""

    kind: str
    of: str
    user: str
    name: str = ""
    """The common name of a proxy's certificate."""
    until: float = float("inf")
    """When the certificate expires."""

    def status(self, trust: Trust) -> int:
        """The answer under this trust."""
        known = {"proxy": trust.proxies, "client": trust.clients, "token": trust.tokens}[self.kind]
        if self.of not in known or (self.kind == "proxy" and trust.names and self.name not in trust.names):
            return 401
        return 403 if self.user in trust.without_rights else 200


@dataclass
class Epoch:
    """A trust, since when it may have been in force, and since when nothing else was (``settled``)."""

    trust: Trust
    begun: float
    settled: float = float("inf")


@dataclass(slots=True)
class Answer:
    """One request and its answer."""

    identity: Identity
    sent: float
    answered: float
    status: int
    audit: str


@dataclass
class History:
    """What was in force when."""

    epochs: list[Epoch] = field(default_factory=list)

    def at(self, sent: float, answered: float) -> list[Trust]:
        """All that may have been in force between two moments."""
        found = []
        for number, epoch in enumerate(self.epochs):
            over = self.epochs[number + 1].settled if number + 1 < len(self.epochs) else float("inf")
            if epoch.begun <= answered and sent <= over:
                found.append(epoch.trust)
        return found

    def wrong(self, answer: Answer) -> str:
        """Why the answer is one that nothing that was in force gives; empty: it is right."""
        identity = answer.identity
        allowed = {identity.status(trust) for trust in self.at(answer.sent, answer.answered)}
        if answer.answered >= identity.until:  # a certificate is good within its last second (RFC 5280, 4.1.2.5)
            allowed.add(401)
        if answer.sent > identity.until + 1:
            allowed = {401}
        if answer.status == 429 and allowed == {401} and identity.kind == "token":
            return ""  # the address has sent too many tokens that are not valid, which a slow run does
        return "" if answer.status in allowed else f"{identity} got {answer.status}, and not {sorted(allowed)}"
