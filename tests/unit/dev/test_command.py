"""``extapi dev`` as a process of its own, with shell scripts as the programs of the control plane."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from extapi.dev import command
from extapi.dev.directory import opened
from extapi.dev.kube import KubeClient
from tests.unit.dev.test_processes import lives, wait_for

AUTHORS_API = """
from extapi.api.definition import Api, Group, Kind, Version
from extapi.api.types import Object
class Thing(Object): pass
api = Api(Group("things.example.com", Kind("Thing", storage="v1", versions={"v1": Version(Thing)})))
"""


class Place:
    """A working directory with an API and prebuilt programs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.assets = root / "assets"
        self.assets.mkdir()
        (root / "authors_api.py").write_text(AUTHORS_API)
        self.program("etcd", "echo $$ > pid; exec sleep 60")
        self.program("kube-apiserver", "exit 1")

    def program(self, name: str, script: str) -> None:
        (self.assets / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.assets / name).chmod(0o755)

    def options(self) -> dict[str, object]:
        environment = {**os.environ, "KUBEBUILDER_ASSETS": str(self.assets)}
        return {
            "cwd": self.root,
            "env": environment,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }

    @contextmanager
    def dev(self, *arguments: str, control_plane: str = "kube") -> Iterator[subprocess.Popen[str]]:
        line = [sys.executable, "-m", "extapi", "dev", "authors_api:api", "--control-plane", control_plane, *arguments]
        with subprocess.Popen(line, **self.options()) as process:  # type: ignore[call-overload]  # its options in a dict
            try:
                yield process
            finally:
                process.kill()

    def failure(self, *arguments: str) -> str:
        """The one line it says on stderr when it fails."""
        with self.dev(*arguments) as process:
            _, error = process.communicate(timeout=30)
        assert process.returncode == 1
        assert error.count("\n") == 1
        return str(error).removesuffix("\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """``extapi dev`` in the same place, to its end."""
        line = [sys.executable, "-m", "extapi", "dev", *arguments]
        return subprocess.run(line, cwd=self.root, check=False, capture_output=True, text=True, timeout=30)

    def kubeconfig(self, *arguments: str) -> Any:
        """What it prints for another user."""
        result = self.run(*arguments)
        assert (result.returncode, result.stderr) == (0, "")
        return yaml.safe_load(result.stdout)

    def etcd(self) -> int:
        """The process id of the script that runs as etcd, once it does."""
        path = self.root / ".extapi/dev/etcd/pid"
        wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
        return int(path.read_text())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def call(config: Any, method: str, path: str, body: Any = None) -> Any:
    """The answer to the user of a kubeconfig."""
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    with tempfile.TemporaryDirectory() as directory:
        files = {}
        for name, text in {"ca": cluster["certificate-authority-data"], "crt": user["client-certificate-data"],
                           "key": user["client-key-data"]}.items():  # fmt: skip
            files[name] = Path(directory) / name
            files[name].write_bytes(base64.b64decode(text))
        port = int(cluster["server"].rpartition(":")[2])
        client = KubeClient(port, ca=files["ca"], certificate=files["crt"], key=files["key"])
        return json.loads(client.request(method, path, body))


def post(config: Any, path: str, body: Any) -> Any:
    """Create something."""
    return call(config, "POST", path, body)


def until_ready(process: subprocess.Popen[str]) -> list[str]:
    """What it says until it is ready."""
    assert process.stdout is not None
    lines: list[str] = []
    while not (lines and lines[-1].startswith("ready after ")):
        line = process.stdout.readline()
        assert line, "it ended early:\n" + "".join(lines)
        lines.append(line)
    return lines


def test_the_default_is_a_control_plane_that_says_what_it_is_not() -> None:
    result = CliRunner().invoke(command.dev, ["--help"], terminal_width=200)
    assert "[builtin|kube]" in result.output
    assert "[default: builtin]" in result.output


def test_from_start_to_stop_with_another_user_and_a_second_start(place: Place) -> None:
    state = place.root / ".extapi/dev"
    with place.dev(control_plane="builtin") as process:
        said = "".join(until_ready(process))
        assert said.startswith(
            "this is a local control plane for development, on 127.0.0.1 only. It is not a cluster: it has no nodes, pods "
            "or quota\n(--control-plane kube runs the real kube-apiserver)\n"
        )
        assert f"export KUBECONFIG={state}/kubeconfig\n" in said
        config = place.kubeconfig("--user", "alice", "--group", "cooks")
        review = post(config, "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        user = review["status"]["userInfo"]
        assert (user["username"], user["groups"]) == ("alice", ["cooks", "system:authenticated"])
        admin = yaml.safe_load((state / "kubeconfig").read_text())
        path = "/apis/things.example.com/v1/namespaces/default/things"
        post(admin, path, {"apiVersion": "things.example.com/v1", "kind": "Thing", "metadata": {"name": "kept"}})
        post(admin, "/api/v1/namespaces", {"metadata": {"name": "kept"}})
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    with place.dev(control_plane="builtin") as process:
        until_ready(process)
        admin = yaml.safe_load((state / "kubeconfig").read_text())
        assert call(admin, "GET", f"{path}/kept")["metadata"]["name"] == "kept"
        assert call(admin, "GET", "/api/v1/namespaces/kept")["status"] == {"phase": "Active"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert not (state / "address").exists()


def test_a_user_needs_something_that_runs_and_a_group_needs_a_user(place: Place) -> None:
    failed = place.run("--user", "alice")
    message = "no control plane runs in the directory .extapi/dev: start one with extapi dev --dir .extapi/dev"
    assert (failed.returncode, failed.stdout, failed.stderr) == (1, "", f"Error: {message}\n")
    wrong = place.run("--group", "cooks")
    assert wrong.returncode == 2
    assert "--group needs --user" in wrong.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_with_status_0(place: Place, number: signal.Signals) -> None:
    with place.dev() as process:
        etcd = place.etcd()
        begun = time.monotonic()
        process.send_signal(number)
        output, error = process.communicate(timeout=30)
        assert time.monotonic() - begun < 5
    assert (process.returncode, error) == (0, "")
    assert output.splitlines() == ["starting etcd and kube-apiserver", "stopped"]
    assert not lives(etcd)


def test_a_second_ctrl_c_changes_nothing(place: Place) -> None:
    place.program("etcd", "trap 'sleep 0.5; exit' TERM; echo $$ > pid; while :; do sleep 0.01; done")
    with place.dev() as process:
        etcd = place.etcd()
        process.send_signal(signal.SIGINT)
        for _ in range(3):
            time.sleep(0.05)
            process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (0, "")
    assert not lives(etcd)


def test_nothing_outlives_a_supervisor_that_is_killed(place: Place) -> None:
    with place.dev() as process:
        etcd = place.etcd()
        process.kill()
    wait_for(lambda: not lives(etcd))


def test_a_child_that_dies_is_named_with_its_log_and_takes_the_others_with_it(place: Place) -> None:
    place.program("etcd", "echo $$ > pid; touch client.sock; exec sleep 60")
    place.program("kube-apiserver", "echo broken flag; exit 4")
    log = place.root / ".extapi/dev/log/kube-apiserver.log"
    assert (
        place.failure() == f"Error: kube-apiserver ended with status 4; its log is {log}, which ends with: broken flag"
    )
    assert not lives(place.etcd())


def test_an_output_that_nobody_reads_any_more_ends_it_in_silence(place: Place) -> None:
    """As in ``extapi dev | head -2``; it is no request that was refused."""
    with place.dev(control_plane="builtin") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(30) == 1


@pytest.mark.parametrize("option", ["--port", "--serve-port"])
def test_a_port_in_use_is_one_line(place: Place, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        message = f"Error: port {port} on 127.0.0.1 is already in use (choose another one with {option})"
        assert place.failure(option, str(port)) == message


def test_a_directory_that_cannot_be_written_is_one_line(place: Place) -> None:
    (place.root / "file").touch()
    assert (
        place.failure("--dir", "file/x")
        == "Error: cannot write the directory file/x: Not a directory; choose another one with --dir"
    )


def test_a_file_in_the_way_inside_the_directory_is_one_line(place: Place) -> None:
    (place.root / "state").mkdir()
    (place.root / "state" / "certificates").touch()
    (place.root / "state" / "certificates.unfinished").touch()
    path = place.root / "state" / "certificates.unfinished"
    assert place.failure("--dir", "state") == f"Error: {path}: File exists"


def test_a_second_run_in_a_directory_is_one_line(place: Place) -> None:
    with opened(place.root / "state"):
        error = place.failure("--dir", "state")
    assert error == f"Error: another run (process {os.getpid()}) already uses the directory state"


def test_a_wrong_api_is_one_line(place: Place) -> None:
    (place.root / "authors_api.py").write_text("api = 1")
    assert place.failure() == "Error: authors_api:api is int, not an extapi.Api"
    assert not (place.root / ".extapi").exists()


def test_kubectl_is_the_one_beside_us_where_there_is_none_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert re.fullmatch(r"/.*/bin/kubectl", command._kubectl())
    (tmp_path / "kubectl").touch(mode=0o755)
    assert command._kubectl() == "kubectl"
