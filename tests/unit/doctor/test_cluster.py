"""Requests as they come back: whole, refused, late, too large, or not at all. The server is one on loopback, without TLS."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import Configuration

from extapi.doctor import cluster
from extapi.doctor.cluster import CannotAsk, Cluster, connect

NOW = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


@contextlib.contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(self)

        do_POST = do_GET  # noqa: N815 - the base class looks for this name

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def whole(status: int, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def at(server: str, seconds: float = 30) -> Cluster:
    return Cluster(configured(server), seconds=seconds, clock=lambda: NOW)


def configured(server: str) -> Configuration:
    configuration = Configuration()
    configuration.host = f"{server}/"
    configuration.api_key["BearerToken"] = "Bearer secret"
    return configuration


def test_an_answer() -> None:
    seen: list[tuple[str, str, str | None]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append((handler.command, handler.path, handler.headers["Authorization"]))
        whole(200, b'{"items": [{"a": 1}, 2]}', Date="Wed, 01 Jul 2026 12:00:03 GMT")(handler)

    with serving(answer) as server:
        found = at(server).get("/apis", "get on the path /apis", query={"labelSelector": "a=b,c"})
        at(server).post("/x", "create on x", {"a": 1})
    assert found.found
    assert found.items() == [{"a": 1}]
    assert (found.date, found.here) == (NOW + dt.timedelta(seconds=3), NOW)
    assert seen == [("GET", "/apis?labelSelector=a%3Db%2Cc", "Bearer secret"), ("POST", "/x", "Bearer secret")]


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (403, b'{"kind":"Status","message":"not for you"}', "needs get on it: not for you"),
        (404, b"404 page not found\n", "kube-apiserver does not know what it takes for get on it: 404 page not found"),
        (500, b"\xff" * 5000, "kube-apiserver answered 500 to get on it: " + "\ufffd" * 500),
        (302, b"", "kube-apiserver answered 302 to get on it: "),
    ],
)
def test_refusals(status: int, body: bytes, why: str) -> None:
    with serving(whole(status, body, Location="/elsewhere", Date="yesterday")) as server:
        found = at(server).get("/x", "get on it")
    assert (found.found, found.why, found.date) == (False, why, None)
    assert found.obj() == {} or status == 403


def test_an_answer_that_never_ends() -> None:
    """Each piece comes in time, all of them do not."""
    over = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not over.wait(0.02):
                handler.wfile.write(b"x")

    with serving(drip) as server:
        found = at(server, seconds=0.3).get("/x", "get on it")
        over.set()
    assert found.why == "no answer to get on it: nothing within 0.3 seconds"
    assert 0.3 <= found.seconds < 30


def test_no_answer_in_time_and_nobody_there() -> None:
    over = threading.Event()

    def nothing(_: BaseHTTPRequestHandler) -> None:
        over.wait()

    with serving(nothing) as server:
        found = at(server, seconds=0.2).get("/x", "get on it")
        over.set()
    assert found.why == "no answer to get on it: nothing within 0.2 seconds"
    gone = at(server).get("/x", "get on it")
    assert gone.status == 0
    assert "refused" in gone.why


def test_the_time_of_the_whole_run() -> None:
    now = [100.0]
    with serving(whole(200, b"{}")) as server:
        asking = Cluster(configured(server), seconds=30, total=60, timer=lambda: now[0])
        assert asking.get("/x", "get on it").found
        now[0] = 159.0
        assert asking.left() == 1
        now[0] = 161.0
        assert asking.left() == 0
        found = asking.get("/x", "get on it")
    assert (found.found, found.over) == (False, True)
    assert found.why == "get on it: not tried, or not to its end: the time of the whole run is over"


def test_the_last_request_gets_what_is_left() -> None:
    over = threading.Event()

    def nothing(_: BaseHTTPRequestHandler) -> None:
        over.wait()

    with serving(nothing) as server:
        found = Cluster(configured(server), seconds=600, total=0.2).get("/x", "get on it")
        over.set()
    assert found.over


def test_nothing_more_is_asked_after_a_stop() -> None:
    with serving(whole(200, b"{}")) as server:
        asking = at(server)
        asking.stop()
        assert asking.get("/x", "get on it").over


def test_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "LIMIT", 100_000)
    with serving(whole(200, b"x" * 1_000_000)) as server:
        found = at(server).get("/x", "get on it")
    assert not found.found
    assert "has more than" in found.why
    assert len(found.data) < 200_000


def test_a_body_that_breaks_off() -> None:
    with serving(whole(200, b"{}", **{"Content-Length": "10", "Connection": "close"})) as server:
        found = at(server).get("/x", "get on it")
    assert found.status == 0


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No kubeconfig in the environment, nor at home."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(cluster, "SERVICE_ACCOUNT", tmp_path / "serviceaccount")
    return tmp_path


def test_no_kubeconfig_anywhere(nowhere: Path) -> None:
    with pytest.raises(CannotAsk, match=r"KUBECONFIG is not set.*give --kubeconfig FILE"):
        connect(None, "", seconds=5)


def test_a_pod_that_lacks_its_address(nowhere: Path) -> None:
    (nowhere / "serviceaccount").mkdir()
    (nowhere / "serviceaccount" / "token").write_text("t")
    with pytest.raises(CannotAsk, match=r"the kubeconfig of this pod: Service host/port is not set"):
        connect(None, "", seconds=5)


@pytest.mark.parametrize("text", ["", "a: [", "kind: Config\ncurrent-context: none\n"])
def test_a_kubeconfig_that_cannot_be_used(nowhere: Path, text: str) -> None:
    path = nowhere / "config"
    path.write_text(text)
    with pytest.raises(CannotAsk, match="cannot use the kubeconfig"):
        connect(path, "", seconds=5)
    with pytest.raises(CannotAsk, match=str(nowhere / "missing")):
        connect(nowhere / "missing", "", seconds=5)


CONFIG = """
apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: first, user: me}}
- {name: second, context: {cluster: second, user: me}}
clusters:
- {name: first, cluster: {server: "http://127.0.0.1:1"}}
- {name: second, cluster: {server: "http://127.0.0.1:2"}}
users:
- {name: me, user: {token: t}}
"""


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            "proxy-url: socks5://127.0.0.1:1",
            "its proxy is a SOCKS proxy, for which the kubernetes package needs PySocks: pip install PySocks",
        ),
        ("certificate-authority: missing", "missing"),
    ],
)
def test_what_a_kubeconfig_may_ask_for_in_vain(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, more: str, why: str
) -> None:
    """PySocks is not among what extapi depends on; where it is installed, it is used."""
    monkeypatch.setitem(sys.modules, "socks", None)
    monkeypatch.delitem(sys.modules, "urllib3.contrib.socks", raising=False)
    path = nowhere / "config"
    path.write_text(CONFIG.replace('{server: "http://127.0.0.1:1"}', f'{{server: "https://127.0.0.1:1", {more}}}'))
    with pytest.raises(CannotAsk, match=why):
        connect(path, "", seconds=5)


def test_a_kubeconfig_that_trusts_anybody(nowhere: Path) -> None:
    path = nowhere / "config"
    path.write_text(CONFIG.replace('"http://127.0.0.1:1"', '"https://127.0.0.1:1", insecure-skip-tls-verify: true'))
    assert connect(path, "", seconds=5).server == "https://127.0.0.1:1"


def test_which_kubeconfig_and_which_context(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / ".kube").mkdir()
    (nowhere / ".kube" / "config").write_text(CONFIG)
    given = nowhere / "given"
    given.write_text(CONFIG.replace("127.0.0.1", "127.0.0.2"))
    assert connect(given, "", seconds=5).server == "http://127.0.0.2:1"
    assert connect(given, "second", seconds=5).server == "http://127.0.0.2:2"
    assert connect(None, "second", seconds=5).server == "http://127.0.0.1:2"
    monkeypatch.setenv("KUBECONFIG", f"{given}:{nowhere / 'missing'}")
    assert connect(None, "", seconds=5).server == "http://127.0.0.2:1"
    with pytest.raises(CannotAsk, match="third"):
        connect(given, "third", seconds=5)


def test_the_first_of_several_kubeconfigs_says_which_context(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As k8s.io/client-go/tools/clientcmd merges them; a file may be missing, or name none."""
    (nowhere / "users").write_text("{kind: Config, users: [{name: me, user: {token: t}}]}")
    (nowhere / "one").write_text(CONFIG)
    (nowhere / "two").write_text(CONFIG.replace("current-context: first", "current-context: second"))
    monkeypatch.setenv("KUBECONFIG", ":".join(str(nowhere / name) for name in ("missing", "users", "one", "two")))
    assert connect(None, "", seconds=5).server == "http://127.0.0.1:1"
    monkeypatch.setenv("KUBECONFIG", ":".join(str(nowhere / name) for name in ("two", "one", "users")))
    assert connect(None, "", seconds=5).server == "http://127.0.0.1:2"


def seen_headers(kubeconfig: Path, user: str, context: str = "") -> list[tuple[str, str]]:
    """What a server gets with ``user`` as the second half of the kubeconfig's user."""
    seen: list[tuple[str, str]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.extend(handler.headers.items())
        whole(200, b"{}")(handler)

    with serving(answer) as server:
        text = CONFIG.replace("http://127.0.0.1:1", server).replace("{token: t}", f"{{token: t, {user}}}")
        kubeconfig.write_text(text)
        assert connect(kubeconfig, context, seconds=30).get("/x", "get on it").found
    return seen


def test_it_asks_as_whom_the_kubeconfig_says(nowhere: Path) -> None:
    """As kubectl does (client-go, ``impersonatingRoundTripper``); the kubernetes package passes over it."""
    user = "as: anna, as-uid: '7', as-groups: [a b, c], as-user-extra: {x/Y: [one, two]}"
    seen = seen_headers(nowhere / "config", user)
    assert [each for each in seen if each[0].startswith("Impersonate-")] == [
        ("Impersonate-User", "anna"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a b"),
        ("Impersonate-Group", "c"),
        ("Impersonate-Extra-x%2FY", "one"),
        ("Impersonate-Extra-x%2FY", "two"),
    ]
    assert ("authorization", "Bearer t") in [(name.lower(), value) for name, value in seen]


def test_it_asks_as_itself_otherwise(nowhere: Path) -> None:
    assert not [name for name, _ in seen_headers(nowhere / "config", "as: ''") if name.startswith("Impersonate-")]


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("as-groups: [a]", "its user has as-groups without as"),
        ("as: 7", "as of its user has to be a string without control characters, not 7"),
        ('as: "a\\r\\nX: y"', "as of its user has to be a string without control characters"),
        ("as: anna, as-groups: a", "as-groups of its user has to be a list"),
        ("as: anna, as-user-extra: [a]", "as-user-extra of its user has to be an object of lists"),
        ("as: anna, as-user-extra: {a: b}", "as-user-extra.a of its user has to be a list"),
    ],
)
def test_an_impersonation_that_makes_no_sense(nowhere: Path, user: str, why: str) -> None:
    path = nowhere / "config"
    path.write_text(CONFIG.replace("{token: t}", f"{{token: t, {user}}}"))
    with pytest.raises(CannotAsk, match=why):
        connect(path, "", seconds=5)


def test_names_that_are_not_ascii_travel_as_utf_8(nowhere: Path) -> None:
    seen = dict(seen_headers(nowhere / "config", "as: Ää"))
    assert seen["Impersonate-User"].encode("latin-1").decode() == "Ää"
