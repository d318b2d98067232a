"""Whom kubectl would be, and at which cluster."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from extapi.client import operatorclient
from extapi.client.operatorclient import NoAnswer, TooLate, UnusableKubeconfig, operator
from tests.answering import CONFIG, serving, whole
from tests.certificates import authority


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No kubeconfig in the environment, nor at home."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(operatorclient, "SERVICE_ACCOUNT", tmp_path / "serviceaccount")
    return tmp_path


def test_no_kubeconfig_anywhere(nowhere: Path) -> None:
    with pytest.raises(UnusableKubeconfig, match=r"KUBECONFIG is not set.*give --kubeconfig FILE"):
        operator(None)


def test_a_pod_that_lacks_its_address(nowhere: Path) -> None:
    (nowhere / "serviceaccount").mkdir()
    (nowhere / "serviceaccount" / "token").write_text("t")
    with pytest.raises(UnusableKubeconfig, match=r"the kubeconfig of this pod: Service host/port is not set"):
        operator(None)


@pytest.mark.parametrize("text", ["", "a: [", "kind: Config\ncurrent-context: none\n"])
def test_a_kubeconfig_that_cannot_be_used(nowhere: Path, text: str) -> None:
    path = nowhere / "config"
    path.write_text(text)
    with pytest.raises(UnusableKubeconfig, match="cannot use the kubeconfig"):
        operator(path)
    with pytest.raises(UnusableKubeconfig, match=f"cannot use the kubeconfig {nowhere / 'missing'}: no such file$"):
        operator(nowhere / "missing")


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        (CONFIG, "nope", "it has no context 'nope'; it has: first, second"),
        (
            CONFIG.replace("current-context: first", "current-context: old"),
            "",
            "it has no context 'old'; it has: first, second",
        ),
        (
            CONFIG.replace("current-context: first", ""),
            "",
            "it has no current context, and none was named; it has: first, second",
        ),
        ("kind: Config", "nope", "it has no context 'nope'; it has: none"),
        ("contexts: [first]", "first", ""),
    ],
)
def test_a_context_that_is_not_there(nowhere: Path, text: str, context: str, why: str) -> None:
    path = nowhere / "config"
    path.write_text(text)
    with pytest.raises(UnusableKubeconfig) as refused:
        operator(path, context)
    assert str(refused.value).startswith(f"cannot use the kubeconfig {path}: {why}")


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
    with pytest.raises(UnusableKubeconfig, match=why):
        operator(path)


def test_a_kubeconfig_that_trusts_anybody(nowhere: Path) -> None:
    path = nowhere / "config"
    path.write_text(CONFIG.replace('"http://127.0.0.1:1"', '"https://127.0.0.1:1", insecure-skip-tls-verify: true'))
    assert operator(path).server == "https://127.0.0.1:1"


def test_which_kubeconfig_and_which_context(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / ".kube").mkdir()
    (nowhere / ".kube" / "config").write_text(CONFIG)
    given = nowhere / "given"
    given.write_text(CONFIG.replace("127.0.0.1", "127.0.0.2"))
    assert operator(given).server == "http://127.0.0.2:1"
    assert operator(given, "second").server == "http://127.0.0.2:2"
    assert operator(None, "second").server == "http://127.0.0.1:2"
    monkeypatch.setenv("KUBECONFIG", f"{given}:{nowhere / 'missing'}")
    assert operator(None).server == "http://127.0.0.2:1"
    with pytest.raises(UnusableKubeconfig, match="third"):
        operator(given, "third")
    monkeypatch.setenv("KUBECONFIG", f"{nowhere / 'missing'}:{nowhere / 'absent'}")
    with pytest.raises(UnusableKubeconfig, match="no such file"):
        operator(None)


def test_the_first_of_several_kubeconfigs_says_which_context(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As k8s.io/client-go/tools/clientcmd merges them; a file may be missing, or name none."""
    (nowhere / "users").write_text("{kind: Config, users: [{name: me, user: {token: t}}]}")
    (nowhere / "one").write_text(CONFIG)
    (nowhere / "two").write_text(CONFIG.replace("current-context: first", "current-context: second"))
    monkeypatch.setenv("KUBECONFIG", ":".join(str(nowhere / name) for name in ("missing", "users", "one", "two")))
    assert operator(None).server == "http://127.0.0.1:1"
    monkeypatch.setenv("KUBECONFIG", ":".join(str(nowhere / name) for name in ("two", "one", "users")))
    assert operator(None).server == "http://127.0.0.1:2"


def test_an_empty_file_among_several_says_nothing(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clientcmd merges what is in it, which is nothing."""
    (nowhere / "empty").write_text("")
    (nowhere / "comment").write_text("# nothing yet\n")
    (nowhere / "one").write_text(CONFIG)
    monkeypatch.setenv("KUBECONFIG", ":".join(str(nowhere / name) for name in ("empty", "one", "comment")))
    assert operator(None).server == "http://127.0.0.1:1"
    (nowhere / "comment").write_text("[1]")
    with pytest.raises(UnusableKubeconfig, match="comment is no kubeconfig"):
        operator(None)


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("no_proxy")
@pytest.mark.parametrize(
    ("no_proxy_list", "server", "way"),
    [
        ("", "127.0.0.1:1", "directly"),
        ("", "localhost:1", "directly"),
        ("", "kube.example.com", "by the proxy"),
        ("example.com", "kube.example.com", "directly"),
        (".example.com", "example.com", "by the proxy"),  # the package drops the dot
        ("10.0.0.0/8", "10.1.2.3:1", "directly"),
        ("kube.example.com:6443", "kube.example.com", "by the proxy"),
    ],
)
def test_the_proxy_of_the_environment_is_used_by_the_rules_of_kubectl(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, no_proxy_list: str, server: str, way: str
) -> None:
    """golang.org/x/net/http/httpproxy, which leaves loopback out; the kubernetes package has rules of its own."""
    asked: list[tuple[str, str | None]] = []

    def proxy(handler: BaseHTTPRequestHandler) -> None:
        asked.append((handler.path, handler.headers["Proxy-Authorization"]))
        whole(200, b"{}")(handler)

    path = nowhere / "config"
    path.write_text(CONFIG.replace("127.0.0.1:1", server))
    monkeypatch.setenv("NO_PROXY", no_proxy_list)
    with serving(proxy) as url:
        monkeypatch.setenv("HTTP_PROXY", url.replace("//", "//me:p%40ss@"))
        if way == "directly":
            assert operator(path).proxy is None
        else:
            operator(path).request("GET", "/x", {})
            assert asked == [(f"http://{server}/x", "Basic bWU6cEBzcw==")]


@pytest.mark.usefixtures("no_proxy")
def test_the_proxy_of_the_kubeconfig_comes_first(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for loopback and what NO_PROXY names (clientcmd: ``proxy-url``)."""
    asked: list[str] = []

    def proxy(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        whole(200, b"{}")(handler)

    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:2")
    path = nowhere / "config"
    path.write_text(
        CONFIG.replace('"http://127.0.0.1:1"', '"https://127.0.0.1:1", proxy-url: "http://a:b@127.0.0.1:2"')
    )
    with pytest.raises(NoAnswer, match=r" \(through the proxy http://127.0.0.1:2\)$"):
        operator(path).request("GET", "/x", {})
    with serving(proxy) as url:
        path.write_text(CONFIG.replace('"http://127.0.0.1:1"', f'"http://127.0.0.1:1", proxy-url: "{url}"'))
        operator(path).request("GET", "/x", {})
    assert asked == ["http://127.0.0.1:1/x"]


@pytest.mark.usefixtures("no_proxy")
def test_a_proxy_that_is_none(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = nowhere / "config"
    path.write_text(CONFIG.replace('"http://127.0.0.1:1"', '"http://127.0.0.1:1", proxy-url: "ftp://secret@x"'))
    with pytest.raises(UnusableKubeconfig, match='proxy-url has an unsupported scheme "ftp"') as refused:
        operator(path)
    assert "secret" not in str(refused.value)
    path.write_text(CONFIG.replace("127.0.0.1", "kube.example.com"))
    monkeypatch.setenv("HTTP_PROXY", "ftp://x")
    with pytest.raises(UnusableKubeconfig, match='the environment variable HTTP_PROXY has an unsupported scheme "ftp"'):
        operator(path)


def seen_headers(kubeconfig: Path, user: str) -> list[tuple[str, str]]:
    """What a server gets with ``user`` as the second half of the kubeconfig's user."""
    seen: list[tuple[str, str]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.extend(handler.headers.items())
        whole(200, b"{}")(handler)

    with serving(answer) as server:
        text = CONFIG.replace("http://127.0.0.1:1", server).replace("{token: t}", f"{{token: t, {user}}}")
        kubeconfig.write_text(text)
        operator(kubeconfig).request("GET", "/x", {})
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
    with pytest.raises(UnusableKubeconfig, match=why):
        operator(path)


def test_names_that_are_not_ascii_travel_as_utf_8(nowhere: Path) -> None:
    seen = dict(seen_headers(nowhere / "config", "as: Ää"))
    assert seen["Impersonate-User"].encode("latin-1").decode() == "Ää"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('{server: "http://127.0.0.1:1"}', "{}"), "the cluster has no server"),
        (('"http://127.0.0.1:1"', '"127.0.0.1:1"'), "the cluster's server is '127.0.0.1:1', and no URL such as"),
        (
            ("{token: t}", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false'}}"),
            "exec of the user 'me': interactiveMode has to be one of Never, IfAvailable, Always, not ''",
        ),
        (
            (
                "{token: t}",
                "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/false, interactiveMode: Never}}",
            ),
            "the exec plugin /bin/false of the kubeconfig .*/config failed with exit code 1",
        ),
    ],
)
def test_nobody_is_asked_in_somebody_elses_name_or_place(nowhere: Path, change: tuple[str, str], why: str) -> None:
    """The kubernetes package would go to http://localhost, and as nobody."""
    path = nowhere / "config"
    path.write_text(CONFIG.replace(*change))
    with pytest.raises(UnusableKubeconfig, match=f"^cannot use the kubeconfig {path}: {why}"):
        operator(path)


def test_an_answer_in_pieces(nowhere: Path) -> None:
    """The connection is used again only after it was read to its end; what is too much is cut, what is late an error."""
    ports: list[int] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        ports.append(handler.client_address[1])
        whole(200, b"x" * 200_000, Warning="199 - hot")(handler)

    with serving(answer) as server:
        (nowhere / "config").write_text(CONFIG.replace("http://127.0.0.1:1", server))
        asking = operator(nowhere / "config")
        found = asking.request("GET", "/x", {})
        assert (found.status, found.headers["warning"]) == (200, "199 - hot")
        assert found.read(200_000) == (b"x" * 200_000, True)
        data, complete = asking.request("GET", "/x", {}).read(1000)
        assert (complete, 1000 < len(data) < 200_000) == (False, True)
        with pytest.raises(TooLate):
            asking.request("GET", "/x", {}).read(200_000, lambda: True)
    assert ports[0] == ports[1] != ports[2]


def test_no_answer(nowhere: Path) -> None:
    (nowhere / "config").write_text(CONFIG)
    with pytest.raises(NoAnswer, match="refused") as refused:
        operator(nowhere / "config").request("GET", "/x", {})
    assert not isinstance(refused.value, TooLate)


def test_a_refused_token_is_looked_for_again(nowhere: Path) -> None:
    """Issued by a plugin, or in a file: as kubectl and extapi serve do."""
    seen: list[str | None] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers["Authorization"])
        whole(200 if seen[-1] == "Bearer t2" else 401, b"{}")(handler)

    plugin = nowhere / "plugin"
    plugin.write_text("#!/bin/sh\ncat ${0%/*}/answer\n")
    plugin.chmod(0o755)
    exec_user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Never}}"
    for user in (exec_user, "{tokenFile: token}"):
        seen.clear()
        with serving(answer) as server:
            (nowhere / "config").write_text(CONFIG.replace("http://127.0.0.1:1", server).replace("{token: t}", user))
            _issue(nowhere, "t1")
            asked = operator(nowhere / "config")
            assert asked.request("GET", "/x", {}).status == 401
            _issue(nowhere, "t2")
            while asked.request("GET", "/x", {}).status == 401:
                assert len(seen) < 10_000  # a plugin that has just been run is run again after a moment
        assert {*seen} == {"Bearer t1", "Bearer t2"}


def _issue(directory: Path, token: str) -> None:
    answer = f'{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{"token": "{token}"}}}}'
    (directory / "answer").write_text(answer)
    (directory / "token").write_text(token)


def test_a_certificate_of_a_plugin_is_shown(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = authority("clients").leaf("me")
    status = {"clientCertificateData": me.pem.decode(), "clientKeyData": me.key_pem.decode()}
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    (nowhere / "answer").write_text(json.dumps(answer))
    user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, args: [answer], interactiveMode: Never}}"
    (nowhere / "config").write_text(CONFIG.replace("{token: t}", user))
    monkeypatch.chdir(nowhere)
    pool = operator(nowhere / "config")._client.rest_client.pool_manager.connection_pool_kw
    assert Path(pool["cert_file"]).read_bytes() == me.pem
    assert Path(pool["key_file"]).read_bytes() == me.key_pem
