"""A webhook over TLS on loopback, and what becomes of each of its answers. The texts are a kube-apiserver's."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs

from extapi.api.types import Obj
from extapi.client.services import Resolve, by_dns
from extapi.client.webhookcall import Target
from extapi.conversion.converter import convert_objects
from extapi.crd.webhook import WebhookConverter
from extapi.errors import ApiError, ServiceUnavailable, StorageError
from tests.certificates import CLIENT, Issued, authority
from tests.unit.client.conftest import Turning
from tests.webhooks.answers import ANSWERS, EVERY, REVIEWS, good, hang, http, review
from tests.webhooks.server import Answer, Call, Certified, Webhook, certified, serving
from tests.webhooks.texts import DIFFERENT, TEXTS

GROUP, KIND = "hooks.example.com", "Hook"
V1, V2 = f"{GROUP}/v1", f"{GROUP}/v2"
WEBHOOK = f"conversion webhook for {V1}, Kind={KIND}"


class Setting:
    """A webhook's server, and converters that call it."""

    def __init__(self, turning: Turning, webhook: Webhook, ca: Issued) -> None:
        self.turning = turning
        self.webhook = webhook
        self.ca = ca
        self.converters: list[WebhookConverter] = []

    def converter(
        self,
        path: str = "good",
        *,
        ca: bytes | None = b"",
        versions: Sequence[str] = ("v1",),
        config: Obj | None = None,
        resolve: Resolve = by_dns,
        **more: Any,
    ) -> WebhookConverter:
        pem = self.ca.pem if ca == b"" else ca
        config = dict(config or {"url": self.webhook.url(path)})
        if pem is not None:
            config["caBundle"] = base64.b64encode(pem).decode()
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": config, "conversionReviewVersions": list(versions)},
        }
        made = WebhookConverter(f"hooks.{GROUP}", conversion, resolve, self.turning.reactor, **more)
        self.converters.append(made)
        return made

    def convert(self, converter: WebhookConverter, *objects: Obj, seconds: float = 10) -> list[Obj | ApiError]:
        return self.turning.run(convert_objects(converter, objects or (hook(),), V2), seconds)

    def close(self) -> None:
        for converter in self.converters:
            converter.close()
        callers = [converter._caller for converter in self.converters]
        upstreams = [caller._upstream for caller in callers if caller._upstream is not None]
        self.turning.until(lambda: not any(upstream._open for upstream in upstreams))

    def error(self, converter: WebhookConverter) -> str:
        (made,) = self.convert(converter)
        assert isinstance(made, StorageError), made
        return made.message


def hook(name: str = "a") -> Obj:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"x": "y"}}
    return {"apiVersion": V1, "kind": KIND, "metadata": metadata, "spec": {"host": "h", "port": "1"}}


@pytest.fixture(scope="module")
def certificates() -> Certified:
    return certified()


@pytest.fixture(scope="module")
def webhook(certificates: Certified, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    with serving(EVERY, certificates.context(tmp_path_factory.mktemp("webhook"))) as served:
        yield served


@pytest.fixture
def turning() -> Iterator[Turning]:
    made = Turning()
    yield made
    made.close()


@pytest.fixture
def setting(turning: Turning, webhook: Webhook, certificates: Certified) -> Iterator[Setting]:
    made = Setting(turning, webhook, certificates.ca)
    yield made
    made.close()


@pytest.fixture
def with_answers(turning: Turning, tmp_path: Path) -> Iterator[Callable[..., Setting]]:
    """Settings with webhooks of the test's own."""
    opened: list[tuple[Any, Setting]] = []

    def make(*, certificates: Certified | None = None, client_ca: Issued | None = None, **answers: Answer) -> Setting:
        used = certificates or certified()
        context = serving({"good": good, **answers}, used.context(tmp_path, client_ca=client_ca))
        made = Setting(turning, context.__enter__(), used.ca)
        opened.append((context, made))
        return made

    yield make
    for context, made in opened:
        made.close()
        context.__exit__(None, None, None)


def neutral(text: str, path: str, setting: Setting) -> str:
    text = text.replace(WEBHOOK, "WEBHOOK").replace(f"{setting.webhook.url(path)}?timeout=30s", "URL")
    text = text.replace(GROUP, "GROUP").replace(KIND, "KIND").replace("GROUP/v1, KIND=KIND", "GROUP/v1, Kind=KIND")
    text = re.sub(r"(Object 'Kind' is missing in ')\{.+\}'", r"\1OBJECT'", text, flags=re.DOTALL)
    text = text.replace("x" * 2048, "X").replace("uid-a", "UID")
    return re.sub("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", text)


@pytest.mark.parametrize("path", [*REVIEWS, *ANSWERS])
def test_each_answer(path: str, setting: Setting) -> None:
    (made,) = setting.convert(setting.converter(path))
    expected = DIFFERENT.get(path, TEXTS[path])
    if expected is None:
        assert not isinstance(made, ApiError), made
        assert made["apiVersion"] == V2
        assert made["spec"] == {"hostPort": "h:1"}
        assert made["metadata"]["uid"] == "uid-a"
    else:
        assert isinstance(made, StorageError)
        assert neutral(made.message, path, setting) == expected
        assert made.status().get("reason") is None


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("other-version", None),
        ("other-uid", None),
        ("no-type", None),
        (
            "other-kind",
            (
                'failed: no kind "AdmissionReview" is registered for version "apiextensions.k8s.io/v1beta1" in scheme '
                '"pkg/runtime/scheme.go:111"'
            ),
        ),
        ("failure", "failed: no such host"),
        ("no-response", "failed: no response provided"),
        ("echo", "failed: response.result.status was '', not 'Success'"),
    ],
)
def test_an_old_review_is_checked_less(path: str, why: str | None, setting: Setting) -> None:
    (made,) = setting.convert(setting.converter(path, versions=["v1beta1", "v1"]))
    assert (made.message if isinstance(made, ApiError) else None) == (None if why is None else f"{WEBHOOK} {why}")


def test_the_review_that_is_sent(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers()
    setting.convert(setting.converter("good", versions=["v7", "v1", "v1beta1"]))
    (call,) = setting.webhook.calls
    assert call.target == "/good?timeout=30s"
    assert call.headers == {
        "host": f"127.0.0.1:{setting.webhook.port}",
        "user-agent": "extapi",
        "accept": "application/json, */*",
        "content-type": "application/json",
        "content-length": str(len(call.body)),
    }
    uid = call.review["request"]["uid"]
    # as kube-apiserver 1.36.3 sends it
    assert call.body.decode() == (
        '{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1",'
        f'"request":{{"uid":"{uid}","desiredAPIVersion":"{V2}",'
        f'"objects":[{{"apiVersion":"{V1}","kind":"Hook","metadata":{{"labels":{{"x":"y"}},"name":"a",'
        '"namespace":"default","uid":"uid-a"},"spec":{"host":"h","port":"1"}}]},'
        '"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}\n'
    )


def test_an_object_in_the_right_version_is_not_sent(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers()
    there = {**hook("b"), "apiVersion": V2}
    made = setting.convert(setting.converter(), hook("a"), there, hook("c"))
    assert [each["metadata"]["name"] for each in made if isinstance(each, dict)] == ["a", "b", "c"]
    assert setting.convert(setting.converter(), there) == [there]
    (call,) = setting.webhook.calls
    assert [each["metadata"]["name"] for each in call.review["request"]["objects"]] == ["a", "c"]


def without(name: str) -> Answer:
    """Refuses whatever contains that object."""

    def answer(call: Call) -> bytes:
        names = [each["metadata"]["name"] for each in call.review["request"]["objects"]]
        made = review(call)
        if name in names:
            made["response"] |= {"result": {"status": "Failure", "message": f"not {name}"}, "convertedObjects": []}
        return http(json.dumps(made))

    return answer


def test_an_object_that_is_refused_fails_no_other(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers(picky=without("c"))
    made = setting.convert(setting.converter("picky"), *map(hook, "abcdefgh"))
    assert [str(each) for each in made if isinstance(each, ApiError)] == [f"{WEBHOOK} failed: not c"]
    assert isinstance(made[2], ApiError)
    assert len(setting.webhook.calls) == 7, "halves of halves"


def test_an_answer_that_is_no_answer_is_asked_for_once(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers(broken=lambda _: http("{}"))
    made = setting.convert(setting.converter("broken"), *map(hook, "abcd"))
    assert len({str(each) for each in made}) == 1
    assert len(setting.webhook.calls) == 1


# -- the way there


def test_nobody_listens(setting: Setting) -> None:
    assert setting.error(setting.converter(config={"url": "https://127.0.0.1:1/x"})) == (
        f'{WEBHOOK} failed: Post "https://127.0.0.1:1/x?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'
    )
    assert setting.error(setting.converter(config={"url": "https://localhost:1/x"})) == (
        f'{WEBHOOK} failed: Post "https://localhost:1/x?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'
    )


@pytest.mark.parametrize(
    ("names", "host", "why"),
    [
        (["other.example.com", "foo.example.com"], "localhost", "certificate is valid for other.example.com, foo.example.com, not localhost"),
        (["other.example.com"], "127.0.0.1", "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
        (["127.0.0.9"], "127.0.0.1", "certificate is valid for 127.0.0.9, not 127.0.0.1"),
        (["127.0.0.9"], "localhost", "certificate is not valid for any names, but wanted to match localhost"),
    ],
)  # fmt: skip
def test_a_certificate_for_others(names: list[str], host: str, why: str, with_answers: Callable[..., Setting]) -> None:
    setting = with_answers(certificates=certified(*names))
    url = setting.webhook.url("good", host)
    assert setting.error(setting.converter(config={"url": url})) == (
        f'{WEBHOOK} failed: Post "{url}?timeout=30s": tls: failed to verify certificate: x509: {why}'
    )


def test_a_certificate_of_nobody(setting: Setting) -> None:
    unknown = (
        f'{WEBHOOK} failed: Post "{setting.webhook.url("good")}?timeout=30s": '
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )
    assert setting.error(setting.converter(ca=authority("another").pem)) == unknown
    assert setting.error(setting.converter(ca=None)) == unknown


def test_a_certificate_of_the_past(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers(certificates=certified(expired=True))
    expired = "x509: certificate has expired or is not yet valid: current time "
    assert expired in setting.error(setting.converter())


def test_no_tls(turning: Turning) -> None:
    with serving({}, None) as plain:
        setting = Setting(turning, plain, authority("any"))
        error = setting.error(setting.converter())
        assert error == f'{WEBHOOK} failed: Post "{plain.url("good")}?timeout=30s": EOF'


def test_the_system_trusts_without_a_bundle(setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = tmp_path / "roots.pem"
    roots.write_bytes(setting.ca.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(roots))
    (made,) = setting.convert(setting.converter(ca=None))
    assert not isinstance(made, ApiError)


def test_a_bundle_that_is_none(setting: Setting) -> None:
    assert f'{WEBHOOK} failed: Post "' in setting.error(setting.converter(ca=b"nonsense"))


def test_a_client_certificate_is_shown_if_there_is_one(with_answers: Callable[..., Setting]) -> None:
    ca = authority("clients")
    client = ca.leaf("apiserver", eku=CLIENT)
    setting = with_answers(client_ca=ca)
    setting.convert(setting.converter())
    setting.convert(setting.converter(certificate=lambda: (client.chain_pem, client.key_pem)))
    assert [call.client for call in setting.webhook.calls] == ["", "apiserver"]


def test_a_new_client_certificate_is_shown_with_the_next_call(with_answers: Callable[..., Setting]) -> None:
    ca = authority("clients")
    setting = with_answers(client_ca=ca)
    clients = [ca.leaf("first", eku=CLIENT), ca.leaf("second", eku=CLIENT)]
    shown = [clients[0], clients[0], clients[1]]
    pairs = ((each.chain_pem, each.key_pem) for each in shown)
    converter = setting.converter(certificate=lambda: next(pairs))
    for _ in shown:
        setting.convert(converter)
    assert [call.client for call in setting.webhook.calls] == ["first", "first", "second"]
    assert [call.connection for call in setting.webhook.calls] == [0, 0, 1]


# -- Services


def test_a_service_is_reached_where_it_is_resolved_to(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers(certificates=certified("hook.system.svc"))
    asked = []

    def resolve(namespace: str, name: str, port: int) -> tuple[str, int]:
        asked.append((namespace, name, port))
        return "127.0.0.1", setting.webhook.port

    config = {"service": {"namespace": "system", "name": "hook", "path": "/good", "port": 8443}}
    (made,) = setting.convert(setting.converter(config=config, resolve=resolve))
    assert not isinstance(made, ApiError)
    assert asked == [("system", "hook", 8443)]
    assert setting.webhook.calls[0].headers["host"] == "hook.system.svc:8443"


def test_a_service_that_moves_is_followed(with_answers: Callable[..., Setting]) -> None:
    certificates = certified("hook.system.svc")
    first, second = with_answers(certificates=certificates), with_answers(certificates=certificates)
    ports = iter([first.webhook.port, first.webhook.port, second.webhook.port])
    config = {"service": {"namespace": "system", "name": "hook", "path": "/good"}}
    converter = first.converter(config=config, resolve=lambda *_: ("127.0.0.1", next(ports)))
    for _ in range(3):
        first.convert(converter)
    assert [len(each.webhook.calls) for each in (first, second)] == [2, 1]
    first.turning.until(lambda: not first.webhook.open)


def test_a_service_that_is_not_there(setting: Setting) -> None:
    def resolve(_namespace: str, name: str, port: int) -> tuple[str, int]:
        raise ServiceUnavailable(f'no service port {port} found for service "{name}"')

    converter = setting.converter(config={"service": {"namespace": "n", "name": "s", "path": "/x"}}, resolve=resolve)
    assert setting.error(converter) == (
        f'{WEBHOOK} failed: Post "https://s.n.svc:443/x?timeout=30s": no service port 443 found for service "s"'
    )


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ({"url": "https://hooks.example.com"}, "https://hooks.example.com/?timeout=30s"),
        ({"url": "https://hooks.example.com/a//b/../c/"}, "https://hooks.example.com/a/c?timeout=30s"),
        ({"url": "https://hooks.example.com:8443/a%20b%2Fc"}, "https://hooks.example.com:8443/a%20b/c?timeout=30s"),
        ({"url": "https://[::1]:8443/a"}, "https://[::1]:8443/a?timeout=30s"),
        ({"service": {"namespace": "n", "name": "s"}}, "https://s.n.svc:443/?timeout=30s"),
        ({"service": {"namespace": "n", "name": "s", "path": "/a/", "port": 1}}, "https://s.n.svc:1/a?timeout=30s"),
    ],
)
def test_the_url_is_joined_as_by_go(config: Obj, url: str) -> None:
    assert Target(config).url(30) == url


# -- bounds


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("hang", 'Post "URL": context deadline exceeded'),
        (
            "half",
            (
                "unexpected error when reading response body. Please retry. Original error: net/http: request canceled "
                "(Client.Timeout or context cancellation while reading body)"
            ),
        ),
    ],
)
def test_a_webhook_that_is_slow(path: str, why: str, setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    converter = setting.converter(path)
    monkeypatch.setattr("extapi.crd.webhook.SECONDS", 0.2)
    assert neutral(setting.error(converter), path, setting) == f"WEBHOOK failed: {why}"
    setting.turning.until(lambda: not setting.webhook.open)


def test_a_webhook_that_trickles(with_answers: Callable[..., Setting], monkeypatch: pytest.MonkeyPatch) -> None:
    def trickle(call: Call) -> None:
        call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not call.over.wait(0.01):
            call.send(b" ")

    setting = with_answers(trickle=trickle)
    monkeypatch.setattr("extapi.crd.webhook.SECONDS", 0.2)
    assert "(Client.Timeout or context cancellation while reading body)" in setting.error(setting.converter("trickle"))
    setting.turning.until(lambda: not setting.webhook.open)


def test_an_answer_that_is_too_large(with_answers: Callable[..., Setting], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.client.webhookcall.ANSWER", 1000)
    monkeypatch.setattr("extapi.client.webhookcall.GROWTH", 0)
    setting = with_answers(
        large=lambda _: http(" " * 1001), enough=lambda call: http(json.dumps(review(call)).ljust(1000))
    )
    assert setting.error(setting.converter("large")).endswith("Original error: the answer has more than 1000 bytes")
    (made,) = setting.convert(setting.converter("enough"))
    assert not isinstance(made, ApiError)


def test_an_answer_may_be_larger_than_its_request_but_not_much(with_answers: Callable[..., Setting]) -> None:
    def padded(call: Call) -> bytes:
        return http(
            json.dumps(review(call)).ljust(int(len(call.body) * float(call.review["request"]["objects"][0]["times"])))
        )

    setting = with_answers(padded=padded)
    made = []
    for size, times in ((600_000, "3.9"), (600_000, "4.1"), (3_000_000, "2.7"), (3_000_000, "3"), (100, "1000")):
        given = {**hook(), "padding": "x" * size, "times": times}
        made += setting.convert(setting.converter("padded"), given)
    assert [isinstance(each, ApiError) for each in made] == [False, True, False, True, False]


def test_texts_of_a_webhook_are_cut(with_answers: Callable[..., Setting]) -> None:
    def long(call: Call) -> bytes:
        return http(
            json.dumps(
                {
                    **review(call),
                    "response": {"uid": call.review["request"]["uid"], "result": {"message": "x" * 1_000_000}},
                }
            )
        )

    setting = with_answers(long=long)
    assert setting.error(setting.converter("long")) == f"{WEBHOOK} failed: {'x' * 16384}..."


def test_connections_are_kept_and_closed_at_the_end(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers()
    converter = setting.converter()
    for _ in range(3):
        setting.convert(converter)
    assert setting.webhook.connections == 1
    converter.close()
    setting.turning.until(lambda: not setting.webhook.open)
    assert setting.error(converter) == f"{WEBHOOK} failed: the webhook is closed"


def test_a_conversion_that_is_cancelled_ends_its_connection(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers(hang=hang)
    running = Deferred.fromCoroutine(setting.converter("hang").convert([hook()], V2))
    setting.turning.until(lambda: bool(setting.webhook.calls))
    running.cancel()
    with pytest.raises(CancelledError):
        setting.turning.wait(running)
    setting.turning.until(lambda: not setting.webhook.open)


# -- what an operator sees


def test_failures_are_logged(with_answers: Callable[..., Setting]) -> None:
    setting = with_answers(failure=EVERY["failure"])
    converter = setting.converter("failure")
    with capturedLogs() as logs:
        for _ in range(3):
            setting.convert(converter)
    (event,) = [each for each in logs if each["log_level"].name == "error"]
    assert (event["what"], event["url"]) == (
        f"CustomResourceDefinition hooks.{GROUP}",
        f"{setting.webhook.url('failure')}?timeout=30s",
    )
    assert event["why"] == f"{WEBHOOK} failed: no such host"
