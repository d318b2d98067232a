from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from click.testing import CliRunner

from extapi.doctor.clusterreader import CannotAsk
from extapi.doctor.command import _address, doctor
from extapi.doctor.examination import APISERVICES
from tests.answering import CONFIG, serving, whole


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--connect=localhost"], "'localhost' is not of the form HOST:PORT"),
        (["--connect=localhost:99999"], "not of the form HOST:PORT"),
        (["--connect=[::x]:443"], "is not an IPv6 address"),
        (["--connect=fd00::1:443"], "an IPv6 address stands in brackets, as in [::1]:8443"),
        (["--service-account=server"], "'server' is not of the form NAMESPACE:NAME"),
        (["--service-account=a/b:c"], "not of the form NAMESPACE:NAME"),
        (["--app=extapi.pizza"], "not of the form MODULE:NAME"),
        (["--app=no.such.module:api"], "cannot import no.such.module"),
        (["--storage=redis:"], "expected memory: or sqlite:///PATH"),
        (["--timeout=0"], "'--timeout': '0' is not from 0.1 to 600 seconds"),
        (["--timeout=11m"], "'11m' is not from 0.1 to 600 seconds"),
        (["--timeout=5x"], "'5x' is neither a number of seconds nor a duration such as 5s or 1m"),
        (["--timeout=nan"], "'nan' is neither"),
        (["--output=xml"], "--output"),
    ],
)
def test_mistakes_are_said_at_once(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(doctor, arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


@pytest.mark.parametrize(("text", "seconds"), [("5", 5), ("0.5", 0.5), ("5s", 5), ("1m30s", 90), ("500ms", 0.5)])
def test_timeouts(text: str, seconds: float) -> None:
    """A number is of seconds; otherwise as time.ParseDuration of Go has it."""
    assert doctor.make_context("doctor", [f"--timeout={text}"]).params["timeout"] == seconds


def test_addresses() -> None:
    assert _address("localhost:8443") == ("localhost", 8443)
    assert _address("[::1]:8443") == ("::1", 8443)


def test_a_cluster_that_cannot_be_asked(tmp_path: Path) -> None:
    path = tmp_path / "config"
    cluster = '{server: "http://127.0.0.1:1"}'
    path.write_text(
        "{kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
        f"clusters: [{{name: a, cluster: {cluster}}}], users: [{{name: a, user: {{}}}}]}}"
    )
    result = CliRunner().invoke(doctor, [f"--kubeconfig={path}"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(
        "Error: http://127.0.0.1:1: no answer to list on apiservices.apiregistration.k8s.io: "
    )
    assert "refused" in result.stderr


def test_what_a_server_says_reaches_the_terminal_without_its_escape_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CannotAsk("https://x: \x1b]0;title\x07\nno")

    monkeypatch.setattr("extapi.doctor.clusterreader.connect", refuse)
    assert CliRunner().invoke(doctor, []).stderr == "Error: https://x: ]0;title no\n"


def test_ctrl_c_is_no_finding(tmp_path: Path) -> None:
    """A process of its own, which waits for several answers at a time; it does not wait for their ends."""
    asked, over = threading.Event(), threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == APISERVICES:
            return whole(200, b'{"items": []}')(handler)
        asked.set()
        over.wait()
        return None

    with serving(answer) as server:
        (tmp_path / "config").write_text(CONFIG.replace("http://127.0.0.1:1", server))
        process = subprocess.Popen(
            [sys.executable, "-m", "extapi", "doctor", f"--kubeconfig={tmp_path / 'config'}", "--timeout=600"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        try:
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            over.set()
            process.kill()
            process.wait()
    assert (process.returncode, output, errors) == (130, "", "Aborted!\n")


def test_a_crash_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError("so\nit is \x1b[31m")

    monkeypatch.setattr("extapi.doctor.report.as_text", crash)
    (tmp_path / "config").write_text(CONFIG)
    with serving(whole(200, b'{"items": []}')) as server:
        (tmp_path / "config").write_text(CONFIG.replace("http://127.0.0.1:1", server))
        result = CliRunner().invoke(doctor, [f"--kubeconfig={tmp_path / 'config'}"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: unexpected ZeroDivisionError in test_command.py, line ")
    assert result.stderr.endswith(": so it is [31m\n")
    assert len(result.stderr.splitlines()) == 1


def test_nobody_reads_the_report(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with serving(whole(200, b'{"items": []}')) as server:
        (tmp_path / "config").write_text(CONFIG.replace("http://127.0.0.1:1", server))
        process = subprocess.run(
            [sys.executable, "-m", "extapi", "doctor", f"--kubeconfig={tmp_path / 'config'}"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            timeout=60,
            check=False,
        )
    os.close(writing)
    assert (process.returncode, process.stderr) == (2, "")


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra. No finding: the cluster was not asked."""
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    result = CliRunner().invoke(doctor, [])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        "Error: extapi doctor needs the Python package 'kubernetes', which is not installed: "
    )
    assert "pip install 'extapi[kubeconfig]'" in result.stderr
