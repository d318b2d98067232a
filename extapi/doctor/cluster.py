"""Requests to kube-apiserver as the operator: the ``kubernetes`` package, because it reads every kubeconfig.

Exec plugins, auth providers, token files, ``proxy-url`` and the pod's own credentials work as they do for kubectl. The calls
block and may be made in several threads. Knows what a request is; knows nothing of what is asked.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import urllib3
import yaml
from kubernetes import client, config

from extapi.client.credentials import SERVICE_ACCOUNT
from extapi.doctor.facts import Reading

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

    ``clock``: this machine's time; ``timer``: seconds from any beginning; ``seconds``: bound of one request.
    """

    def __init__(
        self,
        configuration: Any,
        *,
        seconds: float,
        clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = str(configuration.host).rstrip("/")
        self._client: Any = client.ApiClient(configuration)
        self._seconds = seconds
        self._clock = clock
        self._timer = timer

    def get(
        self, path: str, right: str, *, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> Reading:
        """What is at ``path``."""
        return self._send("GET", path + (f"?{urlencode(query)}" if query else ""), right, accept, None)

    def post(self, path: str, right: str, obj: dict[str, Any]) -> Reading:
        """The answer to a review; nothing that is kept is ever sent."""
        return self._send("POST", path, right, "application/json", json.dumps(obj).encode())

    def _send(self, method: str, path: str, right: str, accept: str, body: bytes | None) -> Reading:
        headers = {"Accept": accept, "User-Agent": "extapi-doctor"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        began = self._timer()
        try:
            self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
            answer = self._client.rest_client.pool_manager.request(
                method,
                self.server + path,
                headers=headers,
                body=body,
                timeout=urllib3.Timeout(total=self._seconds),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            here = self._clock()
            data, problem = self._read(answer, began + self._seconds)
        except (urllib3.exceptions.HTTPError, OSError, config.ConfigException) as error:
            return Reading(right, text=self._reason(error), seconds=self._timer() - began)
        status = int(answer.status)
        if problem == _LATE:
            return Reading(right, text=problem.format(self._seconds), seconds=self._timer() - began)
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
    untyped: Any = config
    try:
        if in_cluster:
            untyped.load_incluster_config(client_configuration=configuration)
        else:
            chosen = context or _current(path) or None
            untyped.load_kube_config(config_file=path, context=chosen, client_configuration=configuration)
        if not configuration.verify_ssl:
            # The kubeconfig says so: that is the operator's matter, and not to be told with every request.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        return Cluster(configuration, seconds=seconds)
    # A broken kubeconfig surfaces as almost anything: YAML, base64, TLS, the plugin's errors.
    except Exception as error:
        where = "of this pod" if in_cluster else path
        raise CannotAsk(f"cannot use the kubeconfig {where}: {_why(error)}") from error


def _current(path: str) -> str:
    """The current context of several files: the first that names one, as for kubectl; the package takes the last."""
    for each in path.split(os.pathsep):
        file = Path(each).expanduser()
        if each and file.exists():
            content = yaml.safe_load(file.read_text())
            found = content.get("current-context") if isinstance(content, dict) else None
            if found:
                return str(found)
    return ""


def _why(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == "socks":
        return "its proxy-url is a SOCKS proxy, for which the kubernetes package needs PySocks: pip install PySocks"
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
