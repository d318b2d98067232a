"""What a program issues, for a transport on a reactor: a real program, a real reactor, a real server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi.client.clientpair import Pair
from extapi.client.credentials import Credentials
from extapi.client.execplugin import exec_plugin
from extapi.client.http import HttpTransport
from extapi.client.issuedtoken import IssuedToken
from extapi.client.transport import ClientRequest, TransportError
from tests.certificates import CLIENT, SERVER, authority
from tests.unit.client.conftest import Server, Turning

Serve = Callable[..., Server]
PLUGIN = """\
#!/bin/sh
cd "${0%/*}"
[ -e fifo ] && { exec 9>fifo; echo started >&9; sleep 100; }
cat answer
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    made = tmp_path / "plugin"
    made.write_text(PLUGIN)
    made.chmod(0o755)
    return made


def _issues(plugin: Path, **status: str) -> None:
    members = ", ".join(f'"{name}": {value!r}'.replace("'", '"') for name, value in status.items())
    answer = f'{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{{members}}}}}'
    (plugin.parent / "answer").write_text(answer)


@pytest.fixture
def token(plugin: Path, turning: Turning) -> Iterator[IssuedToken]:
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    made = IssuedToken(exec_plugin(entry, user="u", file=Path("config"), cluster={}, ca=None), turning.reactor)
    yield made
    made.stop()


async def _status(transport: HttpTransport, timeout: float = 30.0) -> int:  # noqa: ASYNC109 - of the request
    reply = await transport.send(ClientRequest("GET", "/", timeout=timeout))
    await reply.read()
    return reply.status


def test_a_refused_token_is_replaced_with_the_next_request(
    token: IssuedToken, plugin: Path, turning: Turning, serve: Serve
) -> None:
    def answer(request: Any) -> bytes:
        if request.getHeader("Authorization") != "Bearer t2":
            request.setResponseCode(401)
        return b"{}"

    server = serve(answer)
    _issues(plugin, token="t1")
    transport = HttpTransport(turning.reactor, Credentials(server.url, token=token))
    assert turning.run(_status(transport)) == 401
    _issues(plugin, token="t2")
    turning.until(lambda: turning.run(_status(transport)) == 200)  # after a pause: the token was new
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer t1", "Bearer t2"}
    turning.run(transport.close())


def test_a_plugin_that_hangs_holds_a_request_no_longer_than_it_may_take(
    token: IssuedToken, plugin: Path, turning: Turning
) -> None:
    """Its time is over before it was sent anywhere, and the thread pool lacks nothing."""
    os.mkfifo(plugin.parent / "fifo")
    transport = HttpTransport(turning.reactor, Credentials("https://127.0.0.1:1", token=token))
    first = Deferred.fromCoroutine(_status(transport))
    with pytest.raises(
        TransportError,
        match=r"^https://127.0.0.1:1: no credentials within 0.1 seconds: the exec plugin .*/plugin .* still runs$",
    ):
        turning.run(_status(transport, 0.1))
    first.cancel()
    with pytest.raises(CancelledError):
        turning.wait(first)
    assert not turning.reactor.getThreadPool().threads
    with (plugin.parent / "fifo").open("rb", buffering=0) as held:
        assert held.read(8) == b"started\n"
        turning.run(transport.close())
        assert held.read(1) == b""  # it was one process for both, and it is gone


def test_a_plugin_that_fails_is_told_with_the_server(token: IssuedToken, plugin: Path, turning: Turning) -> None:
    transport = HttpTransport(turning.reactor, Credentials("https://127.0.0.1:1", token=token))
    with pytest.raises(
        TransportError, match=r"^https://127.0.0.1:1: the exec plugin .* failed with exit code 1: cat: "
    ):
        turning.run(_status(transport))
    turning.run(transport.close())


def test_a_certificate_that_is_issued_anew_is_shown_by_new_connections(
    token: IssuedToken, plugin: Path, turning: Turning, serve: Serve
) -> None:
    """client-go closes the others (connrotation); here they are not used again."""
    ca, clients = authority("ca"), authority("clients")
    server = serve(lambda _: b"{}", tls=ca.leaf("s", san=["127.0.0.1"], eku=SERVER), clients=clients)
    transport = HttpTransport(turning.reactor, Credentials(server.url, ca=ca.pem, token=token))
    for name in ("one", "two"):
        mine = clients.leaf(name, eku=CLIENT)
        _issues(plugin, clientCertificateData=mine.pem.decode(), clientKeyData=mine.key_pem.decode())
        token.refused("")
        turning.until(lambda mine=mine: _shown(turning, transport, token) == (mine.pem, mine.key_pem))  # type: ignore[misc]  # mypy infers no default
        assert (server.seen[-1].client, "authorization" in server.seen[-1].headers) == (name, False)
    turning.run(transport.close())


def _shown(turning: Turning, transport: HttpTransport, token: IssuedToken) -> Pair | None:
    assert turning.run(_status(transport)) == 200
    return token.pair
