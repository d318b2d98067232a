"""Open watches are judged again: by the stages that every request passes, asking a cluster that changes its mind."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.api.user import User
from extapi.authentication.authenticator import UnionAuthenticator
from extapi.authentication.bearer import Bearer, WebsocketBearer
from extapi.authentication.clientcertificate import ClientCertificate
from extapi.authentication.loopback import Loopback
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.tokenreview import TokenReviewer
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.authorization.alwaysallow import AlwaysAllowGroups
from extapi.authorization.authorizer import UnionAuthorizer
from extapi.authorization.subjectaccessreview import SubjectAccessReviewer
from extapi.client.kube import Client
from extapi.client.transport import ClientRequest, TransportError
from extapi.errors import ServiceUnavailable
from extapi.http.request import Peer, Request, RequestInfo
from extapi.http.response import Chunk, Duplex, Response, Sink, Upgraded
from extapi.listener.requestinfo import request_info
from extapi.server.chain import build_chain
from extapi.server.compression import Compression
from extapi.server.inflight import Room
from extapi.server.loopback import LoopbackSink
from extapi.server.reauthorization import ASKING, PERIOD, SLICE, TICK, UNANSWERED, Reauthorization
from extapi.server.shutdown import Shutdown
from tests.certificates import CLIENT, Issued, authority, bundle
from tests.settableclock import SettableClock
from tests.unit.client.building import call, run
from tests.unit.client.kubernetes import Answer, Kubernetes

USERS, PROXIES = authority("users"), authority("proxies")
PROXY = PROXIES.leaf("front-proxy", eku=CLIENT)
NAMES = HeaderNames(("x-remote-user",), (), ("x-remote-group",), ("x-remote-extra-",), ("front-proxy",))
SECRET = "s3cret"


def by_proxy(user: str, group: str = "") -> dict[str, Any]:
    """The headers of a front proxy, as arguments."""
    return {"x_remote_user": user} | ({"x_remote_group": group} if group else {})


@dataclass
class Stream:
    """A watch that is open, or was."""

    call: Request
    sink: LoopbackSink
    ended: list[object] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return not self.ended

    @property
    def why(self) -> str:
        """What the log line of the request will say."""
        return str(self.call.log.get("ended", ""))


class Cluster:
    """Answers reviews: ``users`` by token, who is ``allowed``; ``late``: answers are held; ``failure``: there are none."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.refused: set[str] = set()
        self.failure: Exception | None = None
        self.late = False
        self.counts: Counter[str] = Counter()
        self.held: list[tuple[Deferred[Any], Any]] = []
        self.kubernetes = Kubernetes(self._react)

    def _react(self, request: ClientRequest) -> Any:
        if self.failure is not None:
            return self.failure
        review = json.loads(request.body or b"")
        self.counts[review["kind"]] += 1
        answer = self._answer(review)
        if not self.late:
            return answer
        waiting: Deferred[Any] = Deferred()
        self.held.append((waiting, answer))
        return waiting

    def _answer(self, review: dict[str, Any]) -> Answer:
        spec = review["spec"]
        if review["kind"] == "TokenReview":
            user = self.users.get(spec["token"])
            return Answer(201, {"status": {"authenticated": user is not None, "user": user or {}}})
        asked = f"{spec['user']} {spec['resourceAttributes']['verb']}"
        return Answer(201, {"status": {"allowed": asked not in self.refused and spec["user"] not in self.refused}})

    def answer(self, count: int) -> None:
        """Give so many of the held answers."""
        for waiting, answer in self.held[:count]:
            waiting.callback(answer)
        del self.held[:count]

    def asked(self, kind: str = "SubjectAccessReview") -> int:
        """How many reviews of a kind were asked for."""
        return self.counts[kind]


class Place:
    """A whole chain before watches that last until they are ended."""

    def __init__(self, period: float = PERIOD, began: float | None = None) -> None:
        self.clock = SettableClock(time.time() if began is None else began)
        self.settings = TrustSettings()
        self.settings.update(clients=USERS.pem, proxies=PROXIES.pem, names=NAMES)
        self.cluster = Cluster()
        client = Client(self.cluster.kubernetes)
        tokens = TokenReviewer(client, clock=self.clock, secret=b"0" * 32, jitter=lambda: 0.0)
        reviewer = SubjectAccessReviewer(client, clock=self.clock, jitter=lambda: 0.0)
        self.reauthorization = Reauthorization(self.clock, self.settings, period)
        self.body: Callable[[], Any] = lambda: self.stream
        self.handler = build_chain(
            self._route,
            authenticator=UnionAuthenticator(
                [
                    Loopback(SECRET),
                    RequestHeader(self.settings, self.clock),
                    ClientCertificate(self.settings, self.clock),
                    Bearer(tokens),
                    WebsocketBearer(tokens),
                ]
            ),
            settings=self.settings,
            authorizer=UnionAuthorizer([AlwaysAllowGroups(), reviewer]),
            reauthorization=self.reauthorization,
            long_running=lambda info: info.subresource == "exec",
            shutdown=Shutdown(),
            compression=Compression(),
            room=Room(1, 1),
        )

    async def _route(self, asked: Request) -> Response:
        return Response(200, body=self.body())

    async def stream(self, sink: Sink) -> None:
        over: Deferred[None] = Deferred()
        sink.on_closed(lambda: over.callback(None))
        await over

    def watch(
        self, issued: Issued | None = None, *, peer: Peer | None = None, info: RequestInfo | None = None, **headers: str
    ) -> Stream:
        """Open one; underscores in names of headers stand for dashes."""
        stream = Stream(self.call(issued, peer=peer, info=info, **headers), LoopbackSink())
        answers: list[Any] = []
        Deferred.fromCoroutine(self._answered(stream.call)).addBoth(answers.append)
        self.clock.advance(0)
        (response,) = answers
        assert response.status == 200, response
        Deferred.fromCoroutine(response.body(stream.sink)).addBoth(stream.ended.append)
        return stream

    def call(
        self, issued: Issued | None = None, *, peer: Peer | None = None, info: RequestInfo | None = None, **headers: str
    ) -> Request:
        if peer is None:
            peer = Peer("127.0.0.1", issued.chain if issued else ())
        made = call(
            peer=peer,
            headers={name.replace("_", "-"): [value] for name, value in headers.items()},
            info=info or request_info("GET", "/apis/shop.example.com/v1/widgets", {"watch": ["1"]}),
        )
        made.deadline = math.inf
        return made

    async def _answered(self, asked: Request) -> Response:
        return await self.handler(asked)

    def pass_time(self, seconds: float, step: float = 0.1) -> None:
        until = self.clock.seconds() + seconds
        while self.clock.seconds() < until - 1e-6:
            self.clock.advance(min(step, until - self.clock.seconds()))

    def end(self) -> None:
        """No timer is left when no watch is."""
        assert len(self.reauthorization) == 0
        assert self.clock.getDelayedCalls() == []


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_watch_goes_on_while_nothing_changes(place: Place) -> None:
    stream = place.watch(PROXY, **by_proxy("jane", "cooks"))
    place.pass_time(600, step=1)
    assert stream.open
    # Once when it began, then as often as an answer is kept: twice a period at the most.
    assert 30 <= place.cluster.asked() <= 61
    for body in place.cluster.kubernetes.bodies():
        assert body == place.cluster.kubernetes.bodies()[0]
    stream.sink.close()
    place.end()


def test_it_ends_when_the_right_is_gone(place: Place) -> None:
    stream = place.watch(PROXY, **by_proxy("jane"))
    other = place.watch(PROXY, **by_proxy("joe"))
    place.cluster.refused.add("jane")
    # Answers are kept for ten seconds, and it is asked about every ten.
    place.pass_time(2 * PERIOD + 1)
    assert stream.ended == [None]  # the producer has returned: the body ends properly
    assert stream.why.startswith('403: widgets.shop.example.com is forbidden: User "jane" cannot watch')
    assert other.open


@pytest.mark.parametrize("moved", [-3600, 3600])
def test_it_ends_in_time_when_the_clock_is_set(place: Place, moved: int) -> None:
    """Neither the answer that is kept nor the next judgement waits for the clock to come back to where it was."""
    stream = place.watch(PROXY, **by_proxy("jane"))
    place.cluster.refused.add("jane")
    place.clock.set_by(moved)
    place.pass_time(2 * PERIOD + 1)
    assert stream.why.startswith("403: ")


def test_it_ends_at_once_when_its_authority_is_believed_no_more(place: Place) -> None:
    stream = place.watch(USERS.leaf("jane", eku=CLIENT))
    other = place.watch(PROXY, **by_proxy("jane"))
    asked = place.cluster.asked()
    place.settings.trust_clients(authority("new").pem)
    assert stream.open  # whoever changes trust does not wait for that
    place.clock.advance(0)
    assert stream.ended == [None]
    assert stream.why.startswith("401: ")
    assert "unknown authority" in stream.why
    assert other.open
    assert place.cluster.asked() == asked  # who somebody is, is known here


@pytest.mark.parametrize("period", [0.0, PERIOD])
def test_so_do_those_of_a_front_proxy(period: float) -> None:
    place = Place(period)
    stream = place.watch(PROXY, **by_proxy("jane"))
    new = authority("new-proxies")
    place.settings.trust_proxies(bundle(PROXIES, new))
    place.clock.advance(0)
    assert stream.open
    place.settings.trust_proxies(new.pem)
    place.clock.advance(0)
    assert "unknown authority" in stream.why


def test_and_those_of_one_whose_name_is_allowed_no_more(place: Place) -> None:
    stream = place.watch(PROXY, **by_proxy("jane"))
    place.settings.use_names(HeaderNames(("x-remote-user",), (), ("x-remote-group",), ("x-remote-extra-",), ("other",)))
    place.clock.advance(0)
    assert stream.why == (
        "401: [x509: subject with cn=front-proxy is not in the allowed list, "
        f"verifying certificate SN={PROXY.certificate.serial_number}{stream.why.partition(str(PROXY.certificate.serial_number))[2]}"
    )


def test_other_headers_that_name_another_user(place: Place) -> None:
    stream = place.watch(PROXY, **by_proxy("jane"), x_name="joe")
    names = HeaderNames(("x-name",), (), ("x-remote-group",), ("x-remote-extra-",), ("front-proxy",))
    place.settings.use_names(names)
    place.clock.advance(0)
    assert stream.why == "its credentials are now another user's"


def test_trust_that_changes_while_a_request_is_authorized(place: Place) -> None:
    """Between the check of its certificate and its first event."""
    place.cluster.late = True
    stream = Stream(place.call(USERS.leaf("jane", eku=CLIENT)), LoopbackSink())
    answers: list[Any] = []
    Deferred.fromCoroutine(place._answered(stream.call)).addBoth(answers.append)
    place.settings.trust_clients(authority("new").pem)
    place.cluster.answer(1)
    (response,) = answers
    Deferred.fromCoroutine(response.body(stream.sink)).addBoth(stream.ended.append)
    assert stream.open
    place.clock.advance(0)
    assert stream.why.startswith("401: ")


@pytest.mark.parametrize("period", [0.0, PERIOD])
@pytest.mark.parametrize("who", ["user", "proxy"])
def test_it_ends_when_its_certificate_does(period: float, who: str) -> None:
    issued = PROXY if who == "proxy" else USERS.leaf("jane", eku=CLIENT)
    signer = PROXIES if who == "proxy" else USERS
    expires = min(each.certificate.not_valid_after_utc.timestamp() for each in (issued, signer))
    place = Place(period, began=expires - 200)
    stream = place.watch(issued, **(by_proxy("jane") if who == "proxy" else {}))
    place.pass_time(199)
    assert stream.open
    place.pass_time(2 + 2 * TICK)  # two clocks are compared, whose numbers are rounded
    assert stream.ended == [None]
    assert "x509: certificate has expired" in stream.why


def test_a_certificate_that_ends_before_the_first_visit() -> None:
    """Though another watch has set the timer for later."""
    leaf = USERS.leaf("jane", eku=CLIENT)
    expires = min(each.certificate.not_valid_after_utc.timestamp() for each in (leaf, USERS))
    place = Place(began=expires - 3)
    other = place.watch()
    place.clock.advance(0.5)
    stream = place.watch(leaf)
    place.pass_time(4)
    assert "has expired" in stream.why
    assert other.open


def test_it_ends_when_its_token_is_nobodys_any_more(place: Place) -> None:
    place.cluster.users["t"] = {"username": "robot"}
    stream = place.watch(authorization="Bearer t")
    place.pass_time(2 * PERIOD + 1)
    assert stream.open
    del place.cluster.users["t"]
    place.pass_time(2 * PERIOD + 1)
    assert stream.why == "401: invalid bearer token"


def test_a_websockets_token_counts_as_well(place: Place) -> None:
    place.cluster.users["t"] = {"username": "robot"}
    protocol = "base64url.bearer.authorization.k8s.io.dA, v4.channel.k8s.io"
    stream = place.watch(connection="Upgrade", upgrade="websocket", sec_websocket_protocol=protocol)
    del place.cluster.users["t"]
    place.pass_time(2 * PERIOD + 1)
    assert stream.why == "401: invalid bearer token"


@pytest.mark.parametrize(
    "user", [{"username": "other"}, {"username": "robot", "groups": ["new"]}, {"username": "robot", "uid": "2"}]
)
def test_it_ends_when_its_token_is_somebody_elses(place: Place, user: dict[str, Any]) -> None:
    place.cluster.users["t"] = {"username": "robot", "uid": "1"}
    stream = place.watch(authorization="Bearer t")
    place.cluster.users["t"] = {"uid": "1", **user}
    place.pass_time(2 * PERIOD + 1)
    assert stream.why == "its credentials are now another user's"


def test_a_watch_of_nobody(place: Place) -> None:
    stream = place.watch()
    place.settings.trust_clients(authority("new").pem)
    place.pass_time(1)
    assert stream.open
    place.cluster.refused.add("system:anonymous")
    place.pass_time(2 * PERIOD + 1)
    assert stream.why.startswith("403: ")


@pytest.mark.parametrize("gone", ["jane watch", "root impersonate"])
def test_an_impersonated_watch_needs_both_rights(place: Place, gone: str) -> None:
    stream = place.watch(PROXY, **by_proxy("root"), impersonate_user="jane")
    assert stream.call.user == User("jane", groups=("system:authenticated",))
    place.pass_time(2 * PERIOD + 1)
    assert stream.open
    place.cluster.refused.add(gone)
    place.pass_time(2 * PERIOD + 1)
    assert stream.why.startswith("403: ")
    assert gone.split()[1] in stream.why


def test_an_impersonated_watch_goes_on_when_trust_changes(place: Place) -> None:
    stream = place.watch(PROXY, **by_proxy("root"), impersonate_user="jane")
    asked = place.cluster.asked()
    place.settings.trust_proxies(bundle(PROXIES, authority("new")))
    place.clock.advance(0)
    assert stream.open
    assert place.cluster.asked() == asked
    place.settings.trust_proxies(authority("another").pem)
    place.clock.advance(0)
    assert stream.why.startswith("401: ")


def test_trust_that_changes_while_it_is_judged(place: Place) -> None:
    """Its certificate is believed now, so that it is not its token's user any more."""
    foreign = authority("foreign")
    place.cluster.users["t"] = {"username": "robot"}
    stream = place.watch(foreign.leaf("x", eku=CLIENT), authorization="Bearer t")
    place.cluster.late = True
    place.pass_time(PERIOD + 1)
    assert len(place.cluster.held) == 1  # past its certificate already
    place.settings.trust_clients(bundle(USERS, foreign))
    place.clock.advance(0)
    for _ in range(2):  # whose token, and whether that user may
        place.cluster.answer(1)
    place.clock.advance(0)
    assert stream.why == "its credentials are now another user's"


WEBSOCKET: dict[str, Any] = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec_websocket_protocol": "base64url.bearer.authorization.k8s.io.eA, v4.channel.k8s.io",
}
"""A WebSocket's headers, with the token "x"."""


@pytest.mark.parametrize("token", [{"authorization": "Bearer x"}, WEBSOCKET], ids=["a header", "a subprotocol"])
@pytest.mark.parametrize("who", ["user", "proxy"])
def test_a_token_that_was_not_needed_does_not_delay_a_revocation(place: Place, who: str, token: dict[str, str]) -> None:
    """Whoever adds a token to a certificate must not gain the time that a cluster takes to say what it is worth."""
    issued = PROXY if who == "proxy" else USERS.leaf("jane", eku=CLIENT)
    headers: dict[str, Any] = token | (by_proxy("jane") if who == "proxy" else {})
    stream = place.watch(issued, **headers)
    place.cluster.failure = TransportError("refused")
    new = authority("new").pem
    place.settings.update(clients=new, proxies=new)
    place.clock.advance(0)
    assert stream.why.startswith("401: ")
    assert place.cluster.asked("TokenReview") == 0


def test_a_token_that_was_needed_is_not_forgotten(place: Place) -> None:
    """Its certificate is another user's than the one it was refused for; here nobody's."""
    place.cluster.users["t"] = {"username": "robot"}
    stream = place.watch(authority("foreign").leaf("x", eku=CLIENT), authorization="Bearer t")
    place.settings.trust_clients(authority("new").pem)
    place.pass_time(3 * PERIOD)
    assert stream.open
    assert place.cluster.asked("TokenReview") > 1


def test_calls_from_inside_are_not_judged(place: Place) -> None:
    stream = place.watch(peer=Peer("loopback", loopback=SECRET))
    assert len(place.reauthorization) == 0
    stream.sink.close()


@pytest.mark.parametrize("verb", ["list", "get"])
def test_nor_is_what_does_not_last(place: Place, verb: str) -> None:
    path = "/apis/shop.example.com/v1/widgets" + ("/a" if verb == "get" else "")
    stream = place.watch(PROXY, info=request_info("GET", path, {}), **by_proxy("jane"))
    assert len(place.reauthorization) == 0
    stream.sink.close()


def test_an_upgraded_connection_is_judged(place: Place) -> None:
    seen: list[object] = []

    async def run(connection: Duplex) -> None:
        seen.append(connection)
        await place.stream(connection)

    place.body = lambda: Upgraded(run)
    info = request_info("POST", "/apis/shop.example.com/v1/namespaces/a/widgets/b/exec", {})
    asked = place.call(PROXY, info=info, connection="Upgrade", upgrade="SPDY/3.1", **by_proxy("jane"))
    answers: list[Any] = []
    Deferred.fromCoroutine(place._answered(asked)).addBoth(answers.append)
    (response,) = answers
    assert isinstance(response.body, Upgraded)  # the listener asks
    stream = Stream(asked, LoopbackSink())
    Deferred.fromCoroutine(response.body(stream.sink)).addBoth(stream.ended.append)
    assert seen == [stream.sink]
    place.cluster.refused.add("jane")
    place.pass_time(2 * PERIOD + 1)
    assert stream.ended == [None]
    place.end()


def test_a_body_that_nobody_reads_is_told_so(place: Place) -> None:
    closed: list[bool] = []

    class Body:
        async def __call__(self, sink: Sink) -> None:
            raise AssertionError

        def close(self) -> None:
            closed.append(True)

    for body in (Body(), type("Upgrade", (Upgraded,), {"close": Body.close})(Body())):
        place.body = lambda body=body: body  # type: ignore[misc]  # mypy infers no type for a default
        answers: list[Any] = []
        Deferred.fromCoroutine(place._answered(place.call(PROXY, **by_proxy("jane")))).addBoth(answers.append)
        answers[0].body.close()
    place.body = lambda: place.stream
    Deferred.fromCoroutine(place._answered(place.call(PROXY, **by_proxy("jane")))).addBoth(answers.append)
    answers[-1].body.close()
    assert closed == [True, True]


def test_what_is_written_after_its_end_is_dropped(place: Place) -> None:
    """A producer that takes its time to return tells nobody anything meanwhile."""
    going: Deferred[None] = Deferred()

    async def slow(sink: Sink) -> None:
        await going
        sink.write(Chunk(b"late"))

    place.body = lambda: slow
    stream = place.watch(PROXY, **by_proxy("jane"))
    place.cluster.refused.add("jane")
    place.pass_time(2 * PERIOD + 1)
    assert stream.why.startswith("403: ")
    going.callback(None)
    assert (stream.ended, stream.sink.pending) == ([None], 0)


FAILURES = {"unreachable": TransportError("refused"), "no": RuntimeError("a defect")}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("who", ["a user", "a token", "somebody impersonated"])
@pytest.mark.filterwarnings("ignore")
def test_while_nobody_answers_it_goes_on_for_a_while(place: Place, who: str, failure: str) -> None:
    place.cluster.users["t"] = {"username": "robot"}
    stream = {
        "a user": lambda: place.watch(PROXY, **by_proxy("jane")),
        "a token": lambda: place.watch(authorization="Bearer t"),
        "somebody impersonated": lambda: place.watch(PROXY, **by_proxy("jane"), impersonate_user="joe"),
    }[who]()
    place.cluster.failure = FAILURES[failure]
    place.pass_time(UNANSWERED - 1, step=1)
    assert stream.open
    place.pass_time(3 * PERIOD, step=1)
    assert stream.why == "it could not be judged again for 300 seconds"


def test_a_stage_that_has_no_room_is_no_refusal() -> None:
    clock = SettableClock()
    place = Place()
    judged: list[Request] = []

    async def full(asked: Request) -> Response:
        judged.append(asked)
        raise ServiceUnavailable("later")

    reauthorization = Reauthorization(clock, TrustSettings())
    handler = reauthorization.stage(place._route, identify=full, allow=full)
    stream = Stream(place.call(), LoopbackSink())

    async def answered() -> Response:
        return await handler(stream.call)

    response: Any = run(answered())
    Deferred.fromCoroutine(response.body(stream.sink)).addBoth(stream.ended.append)
    for _ in range(int(UNANSWERED)):
        clock.advance(1)
    assert len(judged) > UNANSWERED / PERIOD - 3
    assert stream.open


def test_an_answer_in_time_gives_it_all_that_time_again(place: Place) -> None:
    stream = place.watch(PROXY, **by_proxy("jane"))
    for _ in range(3):
        place.cluster.failure = TransportError("refused")
        place.pass_time(UNANSWERED - 2 * PERIOD, step=1)
        place.cluster.failure = None
        place.pass_time(2 * PERIOD + 1, step=1)
    assert stream.open
    place.cluster.refused.add("jane")
    place.pass_time(2 * PERIOD + 1)
    assert stream.why.startswith("403: ")


def test_one_whose_answer_never_comes_ends_too(place: Place) -> None:
    stream = place.watch(PROXY, **by_proxy("jane"))
    place.cluster.late = True
    place.pass_time(UNANSWERED + 3 * PERIOD, step=1)
    assert stream.why == "it could not be judged again for 300 seconds"


def test_a_token_that_nobody_judges_is_asked_about_again_when_only_trust_counts() -> None:
    """A period of 0; the connection's certificate is good, but not why it is believed."""
    place = Place(period=0.0)
    place.cluster.users["t"] = {"username": "robot"}
    stream = place.watch(authority("foreign").leaf("x", eku=CLIENT), authorization="Bearer t")
    place.pass_time(30, step=1)
    place.cluster.failure = TransportError("refused")
    place.settings.trust_clients(authority("new").pem)
    place.pass_time(5)
    assert stream.open
    place.cluster.failure = None
    del place.cluster.users["t"]
    place.pass_time(130, step=1)
    assert stream.why.startswith("401: ")


def test_with_a_period_of_zero_nobody_is_asked() -> None:
    place = Place(period=0.0)
    stream = place.watch(PROXY, **by_proxy("jane"))
    place.cluster.refused.add("jane")
    asked = place.cluster.asked()
    place.pass_time(1800, step=1)
    assert stream.open
    assert place.cluster.asked() == asked


class Crowd:
    """Many watches, each of a user of its own."""

    def __init__(self, count: int) -> None:
        self.place = Place()
        self.streams = [self.place.watch(PROXY, **by_proxy(f"user-{number}")) for number in range(count)]
        self.before = self.place.cluster.asked()

    def asked(self) -> int:
        return self.place.cluster.asked() - self.before

    def open(self) -> int:
        return sum(stream.open for stream in self.streams)


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    crowd = Crowd(400)
    yield crowd
    for stream in crowd.streams:
        stream.sink.close()
    crowd.place.cluster.late = False
    crowd.place.cluster.answer(len(crowd.place.cluster.held))
    crowd.place.end()


def test_what_came_together_is_not_asked_about_together(crowd: Crowd) -> None:
    place = crowd.place
    most = 0
    for _ in range(int(4 * PERIOD / 0.1)):
        before = crowd.asked()
        place.clock.advance(0.1)
        most = max(most, crowd.asked() - before)
    assert crowd.asked() >= len(crowd.streams)
    assert most <= len(crowd.streams) / 20  # a slice, not all of them
    assert crowd.open() == len(crowd.streams)


def test_only_some_wait_for_an_answer_at_a_time(crowd: Crowd) -> None:
    place = crowd.place
    place.cluster.late = True
    place.pass_time(3 * PERIOD)
    assert len(place.cluster.held) == ASKING == crowd.asked()
    place.cluster.refused.update(f"user-{number}" for number in range(len(crowd.streams)))
    # Each answer makes room for one more; no turn asks more than a slice.
    for _ in range(20):
        place.cluster.answer(ASKING)
        place.clock.advance(0)
        assert len(place.cluster.held) <= ASKING
    assert crowd.asked() > 100


def test_those_that_leave_are_not_waited_for(crowd: Crowd) -> None:
    place = crowd.place
    place.cluster.late = True
    place.pass_time(3 * PERIOD)
    for stream in crowd.streams:
        stream.sink.close()
    asked = crowd.asked()
    place.cluster.answer(ASKING)
    place.pass_time(3 * PERIOD)
    assert crowd.asked() == asked
    place.end()


def test_a_change_of_trust_reaches_all_in_turns(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the cluster is to answer, and without holding up everybody else."""
    place = crowd.place
    place.cluster.late = True
    place.pass_time(2 * PERIOD)
    turns: list[int] = []
    later = place.clock.callLater

    def counted(delay: float, turn: Callable[[], None]) -> Any:
        def call() -> None:
            before = crowd.open()
            turn()
            turns.append(before - crowd.open())

        return later(delay, call)

    monkeypatch.setattr(place.clock, "callLater", counted)
    place.settings.trust_proxies(authority("new").pem)
    place.clock.advance(0)
    assert crowd.open() == 0
    assert [ended for ended in turns if ended] == [SLICE] * (len(crowd.streams) // SLICE) + [len(crowd.streams) % SLICE]


def test_many_of_one_user_are_one_question() -> None:
    place = Place()
    streams = [place.watch(PROXY, **by_proxy("jane")) for _ in range(1000)]
    before = place.cluster.asked()
    place.pass_time(4 * PERIOD)
    assert place.cluster.asked() - before <= 5
    place.cluster.refused.add("jane")
    place.pass_time(2.5 * PERIOD)
    assert all(stream.why.startswith("403: ") for stream in streams)
    place.end()


def test_a_server_that_stops_judges_nothing(place: Place) -> None:
    place.watch(PROXY, **by_proxy("jane"))
    place.settings.trust_clients(authority("new").pem)
    place.reauthorization.stop()
    place.end()
