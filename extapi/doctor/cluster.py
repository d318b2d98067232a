"""Requests to kube-apiserver as the operator: the ``kubernetes`` package, because it reads every kubeconfig.

Exec plugins, auth providers, token files, ``proxy-url`` and the pod's own credentials work as they do for kubectl. The calls
block and may be made in several threads. Knows what a request is; knows nothing of what is asked.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import urllib3
import yaml
from kubernetes import client, config

from extapi.client.credentials import SERVICE_ACCOUNT
from extapi.doctor.facts import Reading, member, objects, text
from extapi.doctor.impersonation import impersonation

TOTAL = 12
"""How many times the bound of one request the whole run may take: a minute, unless ``--timeout`` says otherwise."""
LIMIT = 64 * 1024 * 1024
"""Bytes of an answer: the merged OpenAPI v2 of a large cluster has some ten."""
TEXT_LIMIT = 500
"""Characters of a message."""
_PIECE = 64 * 1024
_DEFAULT = Path("~/.kube/config")


class CannotAsk(Exception):
    """kube-apiserver cannot be asked. The text says what was tried and what to do."""


class Cluster:
    """kube-apiserver, as whoever the kubeconfig says.

    ``seconds``: bound of one request; ``total``: seconds from now until nothing more is asked. ``clock``: this machine's time;
    ``timer``: seconds from any beginning. ``headers``: sent with every request.
    """

    def __init__(
        self,
        configuration: Any,
        *,
        seconds: float,
        total: float = math.inf,
        headers: Sequence[tuple[str, str]] = (),
        clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = str(configuration.host).rstrip("/")
        self._client: Any = client.ApiClient(configuration)
        self._seconds = seconds
        self._clock = clock
        self._timer = timer
        self._headers = headers
        self._end = timer() + total

    def left(self) -> float:
        """Seconds until the whole run is over, also for connections that are not to kube-apiserver."""
        return max(0.0, self._end - self._timer())

    def stop(self) -> None:
        """Let the whole run be over now: what is under way may end, nothing more is asked."""
        self._end = self._timer()

    def get(
        self, path: str, right: str, *, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> Reading:
        """What is at ``path``."""
        return self._send("GET", path + (f"?{urlencode(query)}" if query else ""), right, accept, None)

    def post(self, path: str, right: str, obj: dict[str, Any]) -> Reading:
        """The answer to a review; nothing that is kept is ever sent."""
        return self._send("POST", path, right, "application/json", json.dumps(obj).encode())

    def _send(self, method: str, path: str, right: str, accept: str, body: bytes | None) -> Reading:
        headers = urllib3.HTTPHeaderDict(Accept=accept)
        headers["User-Agent"] = "extapi-doctor"
        headers.extend(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        began = self._timer()
        seconds = min(self._seconds, self.left())
        if seconds <= 0:
            return Reading(right, over=True)
        try:
            self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
            answer = self._client.rest_client.pool_manager.request(
                method,
                self.server + path,
                headers=headers,
                body=body,
                timeout=urllib3.Timeout(total=seconds),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            here = self._clock()
            data, problem = self._read(answer, began + seconds)
        except (urllib3.exceptions.HTTPError, OSError, config.ConfigException) as error:
            return self._none(right, self._reason(error), began)
        status = int(answer.status)
        if problem == _LATE:
            return self._none(right, problem.format(self._seconds), began)
        return Reading(
            right,
            status=status,
            data=data,
            text="" if 200 <= status < 300 else _message(data),
            seconds=self._timer() - began,
            date=_date(answer.headers.get("Date")),
            here=here,
            cut=bool(problem),
        )

    def _none(self, right: str, why: str, began: float) -> Reading:
        return Reading(right, text=why, seconds=self._timer() - began, over=self.left() <= 0)

    def _read(self, answer: Any, deadline: float) -> tuple[bytes, str]:
        """The body, and what is wrong with it: each read has a bound of its own, so all together need one, too."""
        pieces: list[bytes] = []
        size = 0
        try:
            while piece := answer.read1(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > LIMIT:
                    return b"".join(pieces), _LARGE
                if self._timer() > deadline:
                    return b"", _LATE
        finally:
            # Given back only when it was read to its end; otherwise it cannot be used again.
            answer.close() if size > LIMIT or self._timer() > deadline else answer.release_conn()
        return b"".join(pieces), ""

    def _reason(self, error: Exception) -> str:
        # urllib3 counts a connection that was refused among the timeouts.
        refused = isinstance(error, urllib3.exceptions.NewConnectionError)
        if isinstance(error, urllib3.exceptions.TimeoutError) and not refused:
            return _LATE.format(self._seconds)
        return str(error) or type(error).__name__


_LATE = "nothing within {:g} seconds"
_LARGE = "too large"


def connect(kubeconfig: Path | None, context: str, *, seconds: float) -> Cluster:
    """The cluster that kubectl would talk to: ``--kubeconfig``, ``KUBECONFIG``, ``~/.kube/config``, the pod's own.

    Raises :class:`CannotAsk`. Source of the order: k8s.io/client-go/tools/clientcmd.
    """
    # The kubernetes package reads the variable too, but when it is imported.
    path = str(kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT.expanduser())
    in_cluster = kubeconfig is None and not os.environ.get("KUBECONFIG") and not Path(path).exists()
    if in_cluster and not (SERVICE_ACCOUNT / "token").exists():
        raise CannotAsk(
            "no kubeconfig: --kubeconfig was not given, KUBECONFIG is not set, there is no ~/.kube/config, and this is "
            f"no pod ({SERVICE_ACCOUNT}/token is missing); give --kubeconfig FILE"
        )
    configuration = client.Configuration()
    headers: list[tuple[str, str]] = []
    untyped: Any = config
    try:
        if in_cluster:
            untyped.load_incluster_config(client_configuration=configuration)
        else:
            contents = _contents(path)
            chosen = context or _current(contents)
            untyped.load_kube_config(config_file=path, context=chosen or None, client_configuration=configuration)
            user = text(_named(contents, "contexts", "context", chosen), "user")
            headers = impersonation(_named(contents, "users", "user", user))
        if not configuration.verify_ssl:
            # The kubeconfig says so: that is the operator's matter, and not to be told with every request.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        with warnings.catch_warnings():
            # That PySocks is missing, is said once, and by us.
            warnings.simplefilter("ignore", urllib3.exceptions.DependencyWarning)
            return Cluster(configuration, seconds=seconds, total=TOTAL * seconds, headers=headers)
    # A broken kubeconfig surfaces as almost anything: YAML, base64, TLS, the plugin's errors.
    except Exception as error:
        where = "of this pod" if in_cluster else path
        raise CannotAsk(f"cannot use the kubeconfig {where}: {_why(error)}") from error


def _contents(path: str) -> list[Any]:
    """What stands in each of several files; one that is missing counts as none, as for kubectl."""
    files = [Path(each).expanduser() for each in path.split(os.pathsep) if each]
    return [yaml.safe_load(each.read_text()) for each in files if each.exists()]


def _current(contents: Sequence[Any]) -> str:
    """The current context of several files: the first that names one, as for kubectl; the package takes the last."""
    found = (member(each, "current-context") for each in contents)
    return next((str(each) for each in found if each), "")


def _named(contents: Sequence[Any], kind: str, part: str, name: str) -> dict[str, Any]:
    """The first of that name, as the package and kubectl have it; empty if there is none."""
    for content in contents:
        for each in objects(member(content, kind)):
            if each.get("name") == name:
                found = each.get(part)
                return found if isinstance(found, dict) else {}
    return {}


def _why(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == "socks":
        return "its proxy is a SOCKS proxy, for which the kubernetes package needs PySocks: pip install PySocks"
    return " ".join(str(error).split()) or type(error).__name__


def _message(data: bytes) -> str:
    """The message of a Status, or the beginning of whatever came instead."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        found = None
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        return str(found["message"])[:TEXT_LIMIT]
    return data[: 4 * TEXT_LIMIT].decode("utf-8", "replace").strip()[:TEXT_LIMIT]


def _date(header: str | None) -> dt.datetime | None:
    try:
        found = parsedate_to_datetime(header) if header else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=dt.UTC)
