"""Debian's proxies as processes on loopback: their packages, their configurations, and how they freeze and come back.

Knows nothing of Kubernetes but a port and an address that is asked for whether the server behind it lives.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from extapi.dev import ports
from tests.waiting import until

LOOPBACK = ports.LOOPBACK
_POLICY = Path("/usr/sbin/policy-rc.d")
"""Says to Debian's packages whether they may start what they install as a service (invoke-rc.d(8)); 101: they may not."""
_APT = ("apt-get", "install", "-qq", "--yes", "--no-install-recommends")


@dataclass(frozen=True)
class Package:
    """One of Debian's packages with a proxy.

    Attributes:
        name: That of the package.
        program: Its program.
        command: Its further arguments, to run in the foreground; ends with the option that names a configuration.
        version: The arguments that make it say its version.
        scheme: How a ``proxy-url`` names it; empty: clients take it for kube-apiserver.
        inherits: Whether it can be given a socket that listens, which several processes can share then.
    """

    name: str
    program: str
    command: tuple[str, ...]
    version: str
    scheme: str
    inherits: bool = False

    def installed_version(self) -> str:
        """What it says of itself."""
        said = subprocess.run([self.program, self.version], capture_output=True, text=True, check=False)
        found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
        assert found is not None, f"{self.program} {self.version} says no version: {said}"
        return found[0]


HAPROXY = Package("haproxy", "haproxy", ("-db", "-f"), "-v", "", inherits=True)
SQUID = Package("squid", "squid", ("-N", "-f"), "-v", "http")
DANTE = Package("dante-server", "danted", ("-f",), "-v", "socks5")
TINYPROXY = Package("tinyproxy", "tinyproxy", ("-d", "-c"), "-v", "http")


def install(packages: Iterable[Package]) -> None:
    """Install those that are missing, and start none of them as a service.

    Raises:
        AssertionError: apt-get cannot.
    """
    lacking = sorted({each.name for each in packages if shutil.which(each.program) is None})
    if not lacking:
        return
    with _no_services():
        for command in ([*_APT, *lacking], ["apt-get", "update", "-qq"], [*_APT, *lacking]):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if ran.returncode == 0 and command[1] == "install":
                return
    raise AssertionError(f"{' '.join(command)} ended with {ran.returncode}: {ran.stderr}")


@contextlib.contextmanager
def _no_services() -> Iterator[None]:
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()


def haproxy(seconds: int) -> Callable[[int, int], str]:
    """In front of kube-apiserver, as kubeadm's page of considerations for high availability has it.

    Args:
        seconds: After which a connection without a byte is closed.

    Source: ``kubernetes/kubeadm`` docs/ha-considerations.md.
    """
    return lambda descriptor, server: (
        f"""
global
    log stdout format raw local0 notice
defaults
    mode                    tcp
    log                     global
    option                  dontlognull
    option                  redispatch
    retries                 1
    timeout http-request    10s
    timeout queue           20s
    timeout connect         5s
    timeout client          {seconds}s
    timeout server          {seconds}s
    timeout http-keep-alive 10s
    timeout check           10s
frontend apiserver
    bind fd@{descriptor}
    default_backend apiserverbackend
backend apiserverbackend
    option httpchk
    http-check connect ssl
    http-check send meth GET uri /healthz
    http-check expect status 200
    balance roundrobin
    server one {LOOPBACK}:{server} check verify none
"""
    )


def squid(words: str = "") -> Callable[[int, int], str]:
    """Debian's file, with the port of kube-apiserver among those that may be asked for; it writes nothing but to its output."""
    return lambda port, server: (
        f"""
acl SSL_ports port {server}
http_access deny CONNECT !SSL_ports
http_access allow localhost
http_access deny all
http_port {LOOPBACK}:{port}
access_log none
cache_log /dev/stderr
cache_store_log none
cache deny all
pid_filename none
netdb_filename none
pinger_enable off
shutdown_lifetime 1 seconds
{words}
"""
    )


def dante(words: str = "") -> Callable[[int, int], str]:
    """Debian's file, which allows nothing, with clients on loopback allowed."""
    return lambda port, server: (
        f"""
logoutput: stderr
internal: {LOOPBACK} port = {port}
external: {LOOPBACK}
user.privileged: proxy
user.unprivileged: nobody
user.libwrap: nobody
clientmethod: none
socksmethod: none
{words}
client pass {{ from: {LOOPBACK}/32 to: 0.0.0.0/0 }}
socks pass {{ from: {LOOPBACK}/32 to: {LOOPBACK}/32 port = {server} }}
"""
    )


def tinyproxy(seconds: int) -> Callable[[int, int], str]:
    """Debian's file, but for the seconds after which a connection without a byte is closed."""
    return lambda port, _: (
        f"""
User tinyproxy
Group tinyproxy
Listen {LOOPBACK}
Port {port}
Timeout {seconds}
DefaultErrorFile "/usr/share/tinyproxy/default.html"
StatFile "/usr/share/tinyproxy/stats.html"
LogLevel Warning
MaxClients 100
Allow {LOOPBACK}
ViaProxyName "tinyproxy"
"""
    )


class Process:
    """A proxy that runs in the foreground, and all that it forks.

    Args:
        package: Whose program it is.
        configuration: Makes its configuration from its port, or from the descriptor of its socket if it inherits one, and from
            the port of kube-apiserver.
        server: The port of kube-apiserver.
        directory: For its configuration and its log.
    """

    def __init__(
        self, package: Package, configuration: Callable[[int, int], str], server: int, directory: Path
    ) -> None:
        self._socket = socket.create_server((LOOPBACK, 0)) if package.inherits else None
        self.port = self._socket.getsockname()[1] if self._socket is not None else ports.choose(0, "--port")
        self.package = package
        self._file = directory / f"{package.name}.conf"
        self._file.write_text(configuration(self._socket.fileno() if self._socket is not None else self.port, server))
        self._log = directory / f"{package.name}.log"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start it, beside those that are there; returns when it listens."""
        with self._log.open("ab") as output:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig=KILL", self.package.program, *self.package.command, str(self._file)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # what it forks can be found
                pass_fds=[] if self._socket is None else [self._socket.fileno()],
            )
        self._processes.append(process)

        def listens() -> bool:
            assert process.poll() is None, self._log.read_text()
            with contextlib.suppress(OSError):
                socket.create_connection((LOOPBACK, self.port), timeout=1).close()
                return True
            return False

        until(listens)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it and to all that it has forked."""
        for pid in self._members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End it and all that it has forked, at once."""
        until(self._kill)
        while self._processes:
            self._processes.pop().wait(20)

    def close(self) -> None:
        """End it for good."""
        self.kill()
        if self._socket is not None:
            self._socket.close()

    def _kill(self) -> bool:
        """Whether none is left; one may have forked just now."""
        self.send(signal.SIGKILL)
        return not self._members()

    def _members(self) -> list[int]:
        """The processes of its sessions that have not ended (``proc(5)``)."""
        sessions = {process.pid for process in self._processes}
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
                if int(session) in sessions and state != "Z":
                    found.append(int(path.parent.name))
        return found
