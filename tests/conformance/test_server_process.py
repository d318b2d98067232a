"""``extapi serve`` as its operator meets it: how it ends, what it does when its certificate is renewed, what it refuses."""

from __future__ import annotations

import http.client
import itertools
import json
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cryptography import x509

from tests.conformance.serving import HEADERS, TOPPINGS, Serving, exchange
from tests.kubernetes.scraping import families, values
from tests.waiting import until

WATCHES = 50


def topping(name: str) -> dict[str, object]:
    api_version = "restaurant.programming-kubernetes.info/v1alpha1"
    return {"apiVersion": api_version, "kind": "Topping", "metadata": {"name": name}, "spec": {"cost": "1"}}


def test_sigterm_ends_it_within_seconds_and_watches_end_cleanly(serving: Serving) -> None:
    serving.start()
    connections = [serving.connect() for _ in range(WATCHES)]
    streams = []
    for connection in connections:
        connection.request("GET", f"{TOPPINGS}?watch=1", headers=HEADERS)
        streams.append(connection.getresponse())
    idle = serving.connect()
    assert exchange(idle, "POST", TOPPINGS, topping("one"))[0] == 201
    for stream in streams:
        assert json.loads(stream.readline())["type"] == "ADDED"
    begun = time.monotonic()
    assert serving.end(signal.SIGTERM) == 0
    assert time.monotonic() - begun < 5
    for stream in streams:
        # http.client raises IncompleteRead where the last chunk is missing.
        assert stream.read() == b""
        stream.close()
    for connection in (*connections, idle):
        connection.close()
    serving.start()
    assert [item["metadata"]["name"] for item in serving.request("GET", TOPPINGS)[1]["items"]] == ["one"]


@pytest.mark.parametrize("way", ["python", "c"])
def test_sigterm_ends_a_process_that_is_stuck_and_its_stacks_are_in_the_log(serving: Serving, way: str) -> None:
    """Also in a call in C that keeps the interpreter's lock, where neither handlers nor threads in Python can run."""
    serving.start("tests.conformance.stuck:api")
    connection = serving.connect()
    connection.request(
        "POST", TOPPINGS, json.dumps(topping(way)).encode(), {**HEADERS, "Content-Type": "application/json"}
    )
    probe = serving.connect()
    probe.timeout = 1
    until(lambda: _unanswered(probe), 30)
    assert serving.end(signal.SIGTERM) == 14
    log = serving.log.read_text()
    assert "Current thread" in log
    assert re.search(r'stuck\.py", line \d+ in mutate$', log, re.MULTILINE)
    connection.close()


def _unanswered(connection: http.client.HTTPSConnection) -> bool:
    """Whether not even ``/livez`` is answered."""
    try:
        connection.request("GET", "/livez")
        connection.getresponse().read()
    except TimeoutError:
        connection.close()
        return True
    return False


def test_a_process_that_finishes_its_work_is_not_taken_for_stuck(serving: Serving) -> None:
    """The head of a request comes slowly, over more than the three seconds after which a stuck reactor is ended."""
    serving.start("tests.conformance.stuck:api")
    connection = serving.connect()
    connection.connect()
    assert connection.sock is not None
    connection.sock.sendall(b"GET /version")
    assert serving.process is not None
    serving.process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        serving.process.wait(5)
    connection.sock.sendall(b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert connection.sock.recv(65536).startswith(b"HTTP/1.1 503 ")
    connection.close()
    assert serving.process.wait(10) == 0


def test_a_server_whose_file_was_moved_is_not_ready_until_it_is_back(serving: Serving) -> None:
    serving.start()
    file, elsewhere = serving.store, serving.store.with_name("elsewhere.db")
    file.rename(elsewhere)
    assert serving.request("POST", TOPPINGS, topping("one"))[0] == 500
    assert serving.request("GET", "/readyz")[0] == 500
    assert serving.request("GET", "/livez")[0] == 200
    elsewhere.rename(file)
    until(lambda: serving.request("GET", "/readyz")[0] == 200, 30)
    assert serving.request("POST", TOPPINGS, topping("one"))[0] == 201


class Writer(threading.Thread):
    """Writes one object after another until it is told that the connection ends, or cannot connect any more."""

    def __init__(self, serving: Serving, name: str, *, anew: bool) -> None:
        super().__init__(name=name)
        self._serving = serving
        self._anew = anew
        self.answers: list[int] = []
        self.unanswered: list[str] = []
        self.begun = threading.Event()

    def run(self) -> None:
        for count in itertools.count():
            connection = self._serving.connect()
            try:
                connection.connect()
            except OSError as error:
                if connection.sock is not None or not isinstance(error, (ConnectionRefusedError, TimeoutError)):
                    self.unanswered.append(f"handshake: {error!r}")
                return
            try:
                while not self._write(connection, f"{self.name}-{count}-{len(self.answers)}"):
                    self.begun.set()
            except (OSError, http.client.HTTPException) as error:
                self.unanswered.append(repr(error))
                return
            finally:
                connection.close()
            self.begun.set()
            if self.answers[-1] == 503:
                return

    def _write(self, connection: http.client.HTTPSConnection, name: str) -> bool:
        """Create one; whether the connection is to be closed."""
        headers = {**HEADERS, "Content-Type": "application/json"}
        connection.request("POST", TOPPINGS, json.dumps(topping(name)).encode(), headers)
        answer = connection.getresponse()
        answer.read()
        self.answers.append(answer.status)
        if answer.status == 503:
            assert answer.getheader("Retry-After") == "1"
        return self._anew or answer.getheader("Connection") == "close"


@pytest.mark.parametrize("anew", [False, True], ids=["kept connections", "new connections"])
def test_sigterm_among_busy_writers_leaves_no_request_unanswered(serving: Serving, anew: bool) -> None:
    """Each request that was begun gets 201, or 503 and a time to come back; each connection that was made serves one."""
    answered = 0
    for round_ in range(2):
        serving.start()
        writers = [Writer(serving, f"r{round_}-{number}", anew=anew) for number in range(16)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.begun.wait()
        assert serving.end(signal.SIGTERM) == 0
        for writer in writers:
            writer.join()
        assert [lost for writer in writers for lost in writer.unanswered] == []
        answers = {status for writer in writers for status in writer.answers}
        assert answers <= {201, 503}
        answered += sum(writer.answers.count(201) for writer in writers)
    serving.start()
    assert len(serving.request("GET", TOPPINGS)[1]["items"]) == answered


def presented(serving: Serving) -> int:
    connection = serving.connect()
    connection.connect()
    assert isinstance(connection.sock, ssl.SSLSocket)
    certificate = connection.sock.getpeercert(binary_form=True)
    connection.close()
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


def test_a_renewed_certificate_is_served_without_a_restart(serving: Serving) -> None:
    serving.start()
    before = presented(serving)
    open_ = serving.connect()
    assert exchange(open_, "GET", TOPPINGS)[0] == 200
    _, serial = serving.renew()
    until(lambda: presented(serving) == serial, 30)
    assert serial != before
    assert exchange(open_, "GET", TOPPINGS)[0] == 200
    open_.close()


def test_all_wrong_flags_are_reported_together() -> None:
    wrong = [
        "extapi.nothing:api",
        "--secure-port=99999",
        "--tls-min-version=SSLv3",
        "--authorization-webhook-cache-authorized-ttl=soon",
        "--authorization-always-allow-paths=/a*b",
        "--storage=redis://somewhere",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "extapi", "serve", *wrong], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == len(wrong)
    assert all(line.startswith("Error: ") for line in lines)
    for flag in wrong[1:]:
        assert sum(flag.partition("=")[0] + ":" in line for line in lines) == 1, flag
    assert "extapi.nothing" in lines[0]


def test_a_port_in_use_is_one_clear_line(serving: Serving, tmp_path: Path) -> None:
    serving.start()
    command = [sys.executable, "-m", "extapi", "serve", "extapi.pizza:api", "--bind-address=127.0.0.1",
               f"--secure-port={serving.port}", f"--tls-cert-file={tmp_path / 'serving.crt'}",
               f"--tls-private-key-file={tmp_path / 'serving.key'}", f"--kubeconfig={serving._kubeconfig}",
               "--authentication-skip-lookup"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert str(serving.port) in errors[0]
    assert "Traceback" not in done.stderr


def test_metrics_of_a_process_count_what_came_over_the_network(serving: Serving) -> None:
    serving.start()
    connection = serving.connect()
    assert exchange(connection, "POST", TOPPINGS, topping("one"))[0] == 201
    connection.request("GET", "/metrics", headers=HEADERS)
    found = families(connection.getresponse().read().decode())
    connection.close()
    of = {"group": "restaurant.programming-kubernetes.info", "version": "v1alpha1", "resource": "toppings"}
    assert values(found["apiserver_request_total"], verb="POST", scope="resource", code="201", **of) == 1
    assert values(found["apiserver_resource_objects"], group=of["group"], resource="toppings") == 1
    assert values(found["extapi_kinds"], source="api") == 2
    assert serving.end(signal.SIGTERM) == 0
