"""To kube-apiserver through a proxy: kubectl, and what an extension server asks; named by a kubeconfig or the environment.

The real kubectl says what the rules are; ours are held to the same ones here.
"""

from __future__ import annotations

import datetime as dt
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from extapi.issuing import make_server
from tests.kubernetes import proxies, second
from tests.kubernetes.calling import MERGE, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.letters import letter, letters_path
from tests.kubernetes.pizzas import GROUP, pizza, pizzas_path
from tests.kubernetes.proxies import Proxy
from tests.kubernetes.shop import Running, Shop
from tests.waiting import until

HOST = "kubernetes.default.svc"
"""In kube-apiserver's certificate, and known to no resolver here: only a proxy leads to it."""
ANYWHERE = "0.0.0.0"  # noqa: S104 - connected to, not bound: Linux takes it for this host, and Go not for loopback
USER = "me:s3cr3t"
TLS = b"\x16\x03"
"""How a TLS connection begins (RFC 8446, 5.1): the proxy carries what it cannot read."""
VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")


@dataclass(frozen=True)
class Ways:
    """Kubeconfigs of one control plane that differ in how it is reached."""

    control_plane: ControlPlane
    directory: Path
    home: Path

    def kubeconfig(self, original: Path, **cluster: str) -> Path:
        """A copy with other words about the cluster; ``_`` in a word stands for ``-``."""
        config = yaml.safe_load(original.read_text())
        words = {name.replace("_", "-"): text for name, text in cluster.items()}
        config["clusters"][0]["cluster"] |= {"server": f"https://{HOST}", **words}
        path = self.directory / f"{len(list(self.directory.iterdir()))}.kubeconfig"
        path.touch(0o600)
        path.write_text(yaml.safe_dump(config))
        return path

    def kubectl(self, variables: Mapping[str, str] | None = None, **cluster: str) -> Kubectl:
        """The administrator's kubectl by that way."""
        config = self.kubeconfig(self.control_plane.kubeconfig, **cluster)
        return Kubectl(config, self.home, variables=variables or {})

    @contextmanager
    def proxy(self, scheme: str, *, user: str = USER) -> Iterator[Proxy]:
        """A proxy that leads to the control plane, whatever it is asked for."""
        tls = self._tls() if scheme == "https" else None
        with proxies.running(
            scheme.removesuffix("s"), lambda _: self.control_plane.cluster.port, user=user, tls=tls
        ) as running:
            yield running

    def _tls(self) -> ssl.SSLContext:
        """Signed by the cluster's authority: client-go trusts proxies by the kubeconfig's, as it trusts the server."""
        signer = authority(self.control_plane.certificates, "cluster-ca")
        signed = make_server(signer, "proxy", ["127.0.0.1"], now=dt.datetime.now(dt.UTC))
        pair = self.directory / "proxy.pem"
        pair.touch(0o600)
        pair.write_bytes(signed.key_pem() + signed.certificate_pem())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair)
        return context


@pytest.fixture
def ways(control_plane: ControlPlane, kubectl: Kubectl, tmp_path: Path) -> Ways:
    return Ways(control_plane, tmp_path, kubectl.home)


@pytest.mark.usefixtures("menu")
@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_kubectl_with_the_proxy_of_a_kubeconfig(ways: Ways, shop: Shop, watching: list[Running], scheme: str) -> None:
    shop.make(pizza("mine", tomato=1))
    until(lambda: shop.costs("mine", "1.50"))
    with ways.proxy(scheme) as proxy:
        through = Shop(ways.kubectl(proxy_url=proxy.url), shop.namespace)
        assert through("get", "pz", "-o", "name") == f"pizza.{GROUP}/mine\n"
        watching.append(Running(through, "get", "pz", "-w", "--output-watch-events", "--no-headers"))
        assert watching[0].line().startswith("ADDED mine tomato 1.50")
        shop("delete", "pz", "mine", "--wait=false")
        assert watching[0].line().startswith("DELETED mine tomato 1.50")
        assert proxy.targets == {f"{HOST}:443"}
        assert {each.user for each in proxy.asked} == {USER}
        assert {each.begun[:2] for each in proxy.asked} == {TLS}


@pytest.mark.usefixtures("menu")
def test_kubectl_with_the_proxy_of_the_environment(ways: Ways, shop: Shop) -> None:
    path, port = pizzas_path(shop.namespace), ways.control_plane.cluster.port

    def read(kubectl: Kubectl) -> None:
        assert json.loads(kubectl("get", "--raw", path))["kind"] == "PizzaList"

    with ways.proxy("http") as proxy:
        https = {"HTTPS_PROXY": proxy.url}
        read(ways.kubectl(https))
        assert proxy.targets == {f"{HOST}:443"}
        # Elsewhere in its environment, too, and at another address.
        anywhere = {"server": f"https://{ANYWHERE}:{port}", "tls_server_name": "localhost"}
        read(ways.kubectl({"https_proxy": proxy.url}, **anywhere))
        assert proxy.targets == {f"{HOST}:443", f"{ANYWHERE}:{port}"}
        asked = len(proxy.asked)
        for exceptions in (ANYWHERE, "0.0.0.0/8", f"other.example.com, {ANYWHERE}:{port}", "*"):
            read(ways.kubectl({**https, "NO_PROXY": exceptions}, **anywhere))
        # This host never is.
        read(ways.kubectl(https, server=f"https://localhost:{port}"))
        read(ways.kubectl(https, server=f"https://127.0.0.1:{port}"))
        assert len(proxy.asked) == asked
        # And what a kubeconfig says has no exceptions.
        read(ways.kubectl({"NO_PROXY": "*"}, proxy_url=proxy.url, server=f"https://localhost:{port}"))
        assert proxy.asked[asked].target == f"localhost:{port}"
        wrong = ways.kubectl(proxy_url=proxy.url.replace("s3cr3t", "wrong")).run("get", "--raw", path)
        assert "Proxy Authentication Required" in wrong.stderr


class Cluster:
    """What an extension server trusts, in the ConfigMap of its control plane; as it was after the test."""

    PATH = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    KEY = "requestheader-allowed-names"

    def __init__(self, admin: Caller) -> None:
        self._admin = admin
        self._names: list[str] = json.loads(admin("GET", self.PATH).json["data"][self.KEY])
        self._before = list(self._names)

    def allow(self, name: str) -> None:
        """Let the front proxy's authority sign for one more."""
        self._names.append(name)
        self._write(self._names)

    def restore(self) -> None:
        self._write(self._before)

    def _write(self, names: list[str]) -> None:
        data = {"data": {self.KEY: json.dumps(names)}}
        assert self._admin("PATCH", self.PATH, data, content_type=MERGE).status == 200


@pytest.fixture
def cluster(admin: Caller) -> Iterator[Cluster]:
    made = Cluster(admin)
    yield made
    made.restore()


def test_an_extension_server_behind_proxies(
    ways: Ways,
    cluster: Cluster,
    admin: Caller,
    extension_server: ExtensionServer,
    kubectl: Kubectl,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy for each of its kubeconfigs: two of them name theirs, the third one leaves it to the environment."""
    control_plane = ways.control_plane
    keys = control_plane.certificates
    account = control_plane.cluster.write_kubeconfig("extension-client")
    path = letters_path(namespace)
    kubectl("-n", namespace, "create", "serviceaccount", "postman")

    def front_proxy(name: str) -> Caller:
        signed = user_certificate(authority(keys, "front-proxy-ca"), name)
        tls = tls_of(keys.certificate("serving-ca"), signed, tmp_path)
        return Caller(server.port, tls, {"X-Remote-User": "jane"})

    def token() -> Caller:
        """With a token that nobody has seen before."""
        text = kubectl("-n", namespace, "create", "token", "postman").strip()
        return Caller(server.port, tls_of(keys.certificate("serving-ca"), None, tmp_path)).with_token(text)

    def refused(caller: Caller) -> str:
        answer = caller("GET", path)
        assert answer.status == 403, (answer.status, answer.body, server.log.read_text()[-2000:])
        return answer.message

    with ExitStack() as stack:
        namespaces = stack.enter_context(ways.proxy("http"))
        authentication = stack.enter_context(ways.proxy("socks5"))
        authorization = stack.enter_context(ways.proxy("https"))
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTPS_PROXY", authorization.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,.example.com,10.0.0.0/8")
        configs = {
            "kubeconfig": ways.kubeconfig(account, proxy_url=namespaces.url),
            "authentication-kubeconfig": ways.kubeconfig(account, proxy_url=authentication.url),
            "authorization-kubeconfig": ways.kubeconfig(account),
        }
        flags = [f"--{flag}={config}" for flag, config in configs.items()]
        server = stack.enter_context(
            second.running(control_plane, "tests.kubernetes.letters:api", tmp_path, "memory:", flags)
        )
        assert authentication.targets == {f"{HOST}:443"}
        # A watch of the ConfigMap; namespaces, two kinds of webhook configurations, two of policies and two of bindings. So says the page.
        until(lambda: (authentication.open, namespaces.open) == (1, 7))
        # SubjectAccessReview, TokenReview, and what is known of namespaces.
        assert admin("POST", path, letter("one")).status == 201
        assert namespaces.targets == {f"{HOST}:443"}
        name = f"system:serviceaccount:{namespace}:postman"
        assert f'User "{name}" cannot list resource "letters"' in refused(token())
        assert authorization.targets == {f"{HOST}:443"}
        # A watch: what changes in the ConfigMap is known at once.
        first, next_one = front_proxy("first-proxy.example.com"), front_proxy("next-proxy.example.com")
        assert first("GET", path).status == 401
        cluster.allow("first-proxy.example.com")
        assert until(lambda: _unless(first("GET", path), 401)).status == 403
        # A proxy that dies is as a dead kube-apiserver: what is known stays, and it is asked again.
        authentication.stop()
        cluster.allow("next-proxy.example.com")
        assert next_one("GET", path).status == 401
        assert 'User "jane" cannot list' in refused(first)
        late = token()
        assert late("GET", path).status == 503
        authentication.start()
        assert until(lambda: _unless(next_one("GET", path), 401), 60).status == 403
        assert f'User "{name}" cannot list' in refused(late)
        for each in (namespaces, authentication, authorization):
            assert {asked.user for asked in each.asked} == {USER}
            # A connection that was begun while a proxy stopped may have sent nothing.
            assert {asked.begun[:2] for asked in each.asked if asked.begun} == {TLS}
        log = server.log.read_text()
        where = f"https://{HOST} (through the proxy socks5://127.0.0.1:{authentication.port})"
        assert f"{where}: no connection to the proxy: Connection was refused by other side" in log
        assert "s3cr3t" not in log
        assert "Traceback" not in log


def _unless(answer: Any, status: int) -> Any:
    return None if answer.status == status else answer
