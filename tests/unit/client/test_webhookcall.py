"""The way to a webhook through a proxy of the environment. What is said on the way is in tests/unit/crd/test_webhook.py.

The rules are those of k8s.io/client-go/transport/cache.go, which asks http.ProxyFromEnvironment for the URL of the webhook, before
kube-apiserver's own dialler looks a Service up.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from extapi.client.webhookcall import WebhookCaller
from extapi.client.webhookreply import WebhookError
from tests.certificates import SERVER, Issued, authority
from tests.unit.client.conftest import Server, Turning
from tests.unit.client.proxies import FULL, OPEN, Middle

HOST = "check.policies.svc"
CA = authority("webhooks-ca")


class Setting:
    """A webhook, and a proxy that leads to it."""

    def __init__(self, turning: Turning, serve: Callable[..., Server]) -> None:
        self.turning = turning
        self.server = serve(lambda _: b"{}", tls=CA.leaf("webhook", san=[HOST, "127.0.0.1"], eku=SERVER))
        self.port = int(self.server.port.getHost().port)
        self.middles: list[Middle] = []
        self.callers: list[WebhookCaller] = []

    def proxy(self, *answers: bytes, tls: Issued | None = None) -> Middle:
        self.middles.append(Middle(self.turning, answers or (OPEN,), self.port, tls))
        return self.middles[-1]

    def call(self, config: Any, environ: dict[str, str]) -> int:
        """The status of the webhook's answer. Its Service is at its port on loopback."""
        config = {**config, "caBundle": base64.b64encode(CA.pem).decode()}
        caller = WebhookCaller(config, lambda *_: ("127.0.0.1", self.port), self.turning.reactor, environ=environ)
        self.callers.append(caller)
        return self.turning.run(caller.call(b"{}", 10)).status


@pytest.fixture
def setting(turning: Turning, serve: Callable[..., Server]) -> Iterator[Setting]:
    made = Setting(turning, serve)
    yield made
    for caller in made.callers:
        caller.close()
    for middle in made.middles:
        middle.close()


@pytest.mark.parametrize(
    ("config", "target"),
    [
        ({"service": {"namespace": "policies", "name": "check"}}, f"{HOST}:443"),
        ({"service": {"namespace": "policies", "name": "check", "port": 9443}}, f"{HOST}:9443"),
        ({"url": f"https://{HOST}/admit"}, f"{HOST}:443"),
    ],
)
def test_a_proxy_of_the_environment_is_asked_for_the_name(setting: Setting, config: Any, target: str) -> None:
    middle = setting.proxy()
    assert setting.call(config, {"HTTPS_PROXY": f"http://u:p@127.0.0.1:{middle.port}"}) == 200
    assert middle.heard[0].startswith(f"CONNECT {target} HTTP/1.1\r\n".encode())


def test_a_proxy_that_speaks_tls(setting: Setting) -> None:
    middle = setting.proxy(tls=CA.leaf("proxy", san=["127.0.0.1"], eku=SERVER))
    config = {"service": {"namespace": "policies", "name": "check"}}
    assert setting.call(config, {"HTTPS_PROXY": f"https://127.0.0.1:{middle.port}"}) == 200
    assert middle.heard


@pytest.mark.parametrize("exceptions", [".svc", "*", HOST, f"{HOST}:443"])
def test_services_that_no_proxy_names_are_called_directly(setting: Setting, exceptions: str) -> None:
    middle = setting.proxy()
    environ = {"HTTPS_PROXY": f"127.0.0.1:{middle.port}", "NO_PROXY": f"10.0.0.0/8,{exceptions}"}
    assert setting.call({"service": {"namespace": "policies", "name": "check"}}, environ) == 200
    assert middle.connections == []


def test_this_host_is_called_directly(setting: Setting) -> None:
    middle = setting.proxy()
    url = {"url": f"https://127.0.0.1:{setting.port}/admit"}
    assert setting.call(url, {"HTTPS_PROXY": f"127.0.0.1:{middle.port}"}) == 200
    assert middle.connections == []


def test_a_refusal_names_the_proxy(setting: Setting) -> None:
    middle = setting.proxy(FULL)
    with pytest.raises(WebhookError) as refused:
        setting.call({"url": f"https://{HOST}"}, {"HTTPS_PROXY": f"http://u:hush@127.0.0.1:{middle.port}"})
    assert str(refused.value) == (
        f'Post "https://{HOST}/?timeout=10s": through the proxy http://127.0.0.1:{middle.port}: '
        f"the proxy answered CONNECT {HOST}:443 with 503 Service Unavailable"
    )


def test_a_proxy_that_is_none_is_named(setting: Setting) -> None:
    with pytest.raises(WebhookError, match="the environment variable HTTPS_PROXY has an unsupported scheme"):
        setting.call({"url": f"https://{HOST}"}, {"HTTPS_PROXY": "ftp://proxy"})
