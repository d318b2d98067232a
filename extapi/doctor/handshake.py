"""The certificates that a server presents: one TLS handshake, trusting nobody; then what the server says of itself.

The one request is ``GET /readyz?verbose``, without credentials, as a probe of the kubelet sends it. Judges nothing: what is
presented is compared with the caBundle elsewhere.
"""

from __future__ import annotations

import queue
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from cryptography import x509
from OpenSSL import SSL
from twisted.internet.abstract import isIPAddress, isIPv6Address

from extapi.client.authority import authority
from extapi.doctor.facts import Served

LONGEST_CHAIN = 16
"""Certificates that are looked at."""
READINESS = 1.0
"""Seconds for the answer to ``/readyz``, which is no reason to give up on the certificates."""
READINESS_LIMIT = 64 * 1024
"""Bytes of that answer."""
_LOOPBACK = ("127.0.0.1", "::1")
_REQUEST = "GET /readyz?verbose HTTP/1.0\r\nHost: {}\r\nUser-Agent: extapi-doctor\r\n\r\n"


def shake_hands(
    host: str,
    port: int,
    *,
    server_name: str,
    seconds: float,
    given: bool = False,
    timer: Callable[[], float] = time.monotonic,
) -> Served:
    """What listens at ``host:port`` presents when it is asked for ``server_name``, within ``seconds``."""
    address = authority(host, port)
    deadline = timer() + seconds
    try:
        with _connected(host, port, deadline, timer) as connected:
            connection = _secured(connected, server_name, deadline, timer)
            chain = list(connection.get_peer_cert_chain() or ())
            readiness = _readiness(connection, connected, server_name, min(deadline, timer() + READINESS), timer)
        # OpenSSL is content with more than the cryptography package, which raises InvalidVersion or ValueError.
        certificates = tuple(each.to_cryptography() for each in chain[:LONGEST_CHAIN])
    except TimeoutError:
        return Served(address, given, failure=f"nothing within {seconds:g} seconds")
    except SSL.Error as error:
        return Served(address, given, failure=_tls_reason(error))
    except (OSError, ValueError, x509.InvalidVersion) as error:  # a host name may be one that cannot be encoded, too
        return Served(address, given, failure=str(getattr(error, "strerror", "") or error))
    return Served(address, given, chain=certificates, readiness=readiness)


def _connected(host: str, port: int, deadline: float, timer: Callable[[], float]) -> socket.socket:
    """A connection to the first address of a name that takes one: :func:`socket.create_connection` bounds each, not all."""
    failure: OSError = TimeoutError()
    for family, kind, protocol, _, address in _addresses(host, port, deadline - timer()):
        left = deadline - timer()
        if left <= 0:
            raise TimeoutError
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(left)
            connection.connect(address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


def _addresses(host: str, port: int, seconds: float) -> list[Any]:
    """``getaddrinfo``, which has no bound of its own: a thread that is left alone when time is over, also at exit.

    ``localhost`` is loopback in both families (RFC 6761, section 6.3), which some machines do not know.
    """
    hosts = _LOOPBACK if host == "localhost" else (host,)
    answers: queue.SimpleQueue[list[Any] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put([one for each in hosts for one in socket.getaddrinfo(each, port, type=socket.SOCK_STREAM)])
        except (OSError, ValueError) as error:
            answers.put(error)

    threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
    try:
        found = answers.get(timeout=max(0.0, seconds))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        raise found
    return found


def _secured(connected: socket.socket, server_name: str, deadline: float, timer: Callable[[], float]) -> Any:
    """The TLS connection, once its handshake is done."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)  # as Go's client, so that kube-apiserver's failures are ours
    context.set_verify(SSL.VERIFY_NONE)
    connected.setblocking(False)
    connection: Any = SSL.Connection(context, connected)
    if not isIPAddress(server_name) and not isIPv6Address(server_name):  # RFC 6066, section 3
        connection.set_tlsext_host_name(server_name.encode("ascii"))
    connection.set_connect_state()
    _patiently(connection.do_handshake, connected, deadline, timer)
    return connection


def _readiness(
    connection: Any, connected: socket.socket, server_name: str, deadline: float, timer: Callable[[], float]
) -> str:
    """The body of the answer to ``/readyz?verbose``, as far as it came; the end of the connection is its end."""
    request = _REQUEST.format(f"[{server_name}]" if ":" in server_name else server_name).encode()
    answer = b""
    try:
        _patiently(lambda: connection.sendall(request), connected, deadline, timer)
        while len(answer) < READINESS_LIMIT:
            piece = _patiently(lambda: connection.recv(READINESS_LIMIT), connected, deadline, timer)
            if not piece:
                break
            answer += piece
    except (OSError, SSL.Error):  # a timeout is an OSError; most servers of others close without close_notify
        pass
    head, _, body = answer.partition(b"\r\n\r\n")
    return body[:READINESS_LIMIT].decode("utf-8", "replace") if head.startswith(b"HTTP/1.") else ""


def _patiently(call: Callable[[], Any], connected: socket.socket, deadline: float, timer: Callable[[], float]) -> Any:
    """What ``call`` returns once the socket is ready for it.

    Raises:
        TimeoutError: The deadline has come.
    """
    while True:
        try:
            return call()
        except SSL.WantReadError:
            wanted: tuple[list[Any], list[Any]] = ([connected], [])
        except SSL.WantWriteError:
            wanted = ([], [connected])
        left = deadline - timer()
        if left <= 0 or not any(select.select(*wanted, [], left)):
            raise TimeoutError


def _tls_reason(error: SSL.Error) -> str:
    """OpenSSL's words; without any the peer closed the connection."""
    queue = error.args[0] if error.args and isinstance(error.args[0], list) else []
    return "TLS: " + ("; ".join(str(entry[-1]) for entry in queue) or "the connection was closed during the handshake")
