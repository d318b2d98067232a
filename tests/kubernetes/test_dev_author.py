"""``extapi dev`` as an author meets it whose code is not right yet: what the terminal shows, and a debugger in it."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.fixtures import planes
from tests.pseudoterminal import SECONDS, Terminal

API = """
import logging
import warnings

from extapi import Api, Group, Kind, Object, Strategy, Struct, Version


class OvenSpec(Struct):
    mode: str = ""


class Oven(Object):
    spec: OvenSpec = OvenSpec()


class OvenStrategy(Strategy):
    def validate(self, obj, old):
        mode = obj.spec.mode
        if mode == "print":
            print("I see", obj.metadata.name, "\\x1b[2J")
        if mode == "warn":
            warnings.warn("it is hot", stacklevel=1)
            logging.getLogger("oven.heat").warning("very hot: %s", "\\x1b]0;owned\\x07")
        if mode == "break":
            breakpoint()
            heat = 42
        if mode == "panic":
            return self.heat(0)
        if mode == "flood":
            for number in range(20000):
                print("number", number)
        return ()

    def heat(self, by):
        return 1 / by


class Cook:
    async def run(self, context):
        return None


class Burner:
    async def run(self, context):
        raise RuntimeError("out of gas")


api = Api(
    Group("kitchen.example.com", Kind("Oven", storage="v1", versions={"v1": Version(Oven)}, strategy=OvenStrategy())),
    controllers=[Cook(), Burner()],
)
"""


def at(text: str) -> int:
    """The number of the line of the API that holds ``text``."""
    return API[: API.index(text)].count("\n") + 1


each = pytest.mark.parametrize("plane", planes())


@contextlib.contextmanager
def dev(directory: Path, plane: str, *arguments: str, **environment: str) -> Iterator[Terminal]:
    """``extapi dev`` with the API above, ready."""
    (directory / "kitchen.py").write_text(API)
    program = [sys.executable, "-m", "extapi", "dev", "kitchen:api", f"--control-plane={plane}", *arguments]
    terminal = Terminal(program, directory, **environment)
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.fixture
def kubectl_of_dev(tmp_path: Path) -> Kubectl:
    return Kubectl(tmp_path / ".extapi/dev/kubeconfig", tmp_path / "kubectl")


def oven(mode: str) -> str:
    metadata = {"name": mode}
    return json.dumps(
        {"apiVersion": "kitchen.example.com/v1", "kind": "Oven", "metadata": metadata, "spec": {"mode": mode}}
    )


@each
def test_what_goes_wrong_is_shown_where_the_author_looks(tmp_path: Path, kubectl_of_dev: Kubectl, plane: str) -> None:
    kubectl = kubectl_of_dev
    with dev(tmp_path, plane, NO_COLOR="1") as terminal:
        # Before or after all is ready: the real control plane takes longer.
        terminal.expect("controller Cook | warning: ended 2 times in a row: its run() returned")
        terminal.expect("controller Burner | error: failed 2 times in a row and is started again in 1.0 s\r\n")
        assert "extension-server | controller Cook | warning: ended: its run() returned" in terminal.all
        where = f'File "kitchen.py", line {at("raise RuntimeError")}, in run'
        assert terminal.expect("\r\n") == f"extension-server | controller Burner |     {where}"
        terminal.expect("controller Burner |   RuntimeError: out of gas\r\n")
        assert re.fullmatch(
            r"extension-server \| controller Burner \|     \(\d+ frames? of extapi: see the log\)",
            terminal.expect("\r\n"),
        )
        if "ready after" not in terminal.all:
            terminal.expect("ready after")
        kubectl("create", "-f", "-", stdin=oven("print"))
        terminal.expect("extension-server | I see print \\x1b[2J\r\n")
        kubectl("create", "-f", "-", stdin=oven("warn"))
        terminal.expect(f"extension-server | warning: kitchen.py:{at('warnings.warn')}: UserWarning: it is hot\r\n")
        terminal.expect("extension-server | oven.heat | warning: very hot: \\x1b]0;owned\\x07\r\n")
        kubectl("create", "-f", "-", stdin=oven("break"))
        terminal.expect(f"breakpoint() in kitchen.py, line {at('breakpoint()')}, is skipped, as there is no terminal")
        refused = kubectl.run("create", "-f", "-", stdin=oven("panic")).stderr
        assert (
            'an error on the server ("This request caused apiserver to panic. Look in the logs for details. '
            f"ZeroDivisionError: division by zero (File 'kitchen.py', line {at('1 / by')}, in OvenStrategy.heat)\")"
            in refused
        )
        terminal.expect("extension-server | error: the handler failed on POST /apis/kitchen.example.com/v1/")
        terminal.expect("\r\n")
        trace = terminal.expect("ZeroDivisionError: division by zero\r\n")
        assert re.findall(r"File .*", trace) == [
            f'File "kitchen.py", line {at("self.heat(0)")}, in validate\r',
            f'File "kitchen.py", line {at("1 / by")}, in heat\r',
        ]
        assert re.fullmatch(
            r"extension-server \|     \(\d+ frames of .*extapi.*: see the log\)", terminal.expect("\r\n")
        )
        # What is left out there is in the log.
        log = (tmp_path / ".extapi/dev/log/extension-server.log").read_text()
        [panic] = [json.loads(line) for line in log.splitlines() if "the handler failed" in line]
        assert "extapi/verbs/create.py" in panic["traceback"]
        assert "I see print \x1b[2J\n" in log
        begun = time.monotonic()
        kubectl("create", "-f", "-", stdin=oven("flood"))
        terminal.expect(" more lines; they are in ")
        assert time.monotonic() - begun < 30
        terminal.type("\x03")
        terminal.expect("stopped\r\n")
        assert terminal.status() == 0
        assert "\x1b" not in terminal.all.replace("\r\x1b[K", "")  # which takes away what was waited for
        assert '"event":"request"' not in terminal.all
        assert "/readyz" not in terminal.all


@each
def test_a_breakpoint_stops_at_a_prompt_and_the_request_is_answered_afterwards(
    tmp_path: Path, kubectl_of_dev: Kubectl, plane: str
) -> None:
    with dev(tmp_path, plane, "--foreground") as terminal:
        terminal.expect("ready after")
        creating = begin(kubectl_of_dev, "break")
        terminal.expect(f"kitchen.py({at('heat = 42')})validate()")
        terminal.expect("(Pdb) ")
        terminal.type("p obj.spec.mode\n")
        terminal.expect("'break'")
        terminal.expect("(Pdb) ")
        terminal.type("next\n")
        terminal.expect("(Pdb) ")
        terminal.type("p heat\n")
        terminal.expect("42")
        terminal.expect("(Pdb) ")
        assert creating.poll() is None
        terminal.type("c\n")
        assert creating.communicate(timeout=SECONDS) == ("oven.kitchen.example.com/break created\n", "")
        # Debuggers take SIGINT for themselves from then on.
        terminal.type("\x03")
        terminal.expect("stopped\r\n")
        assert terminal.status() == 0


def test_ctrl_c_at_a_prompt_ends_everything_at_once(tmp_path: Path, kubectl_of_dev: Kubectl) -> None:
    with dev(tmp_path, "builtin", "--foreground") as terminal:
        terminal.expect("ready after")
        creating = begin(kubectl_of_dev, "break")
        terminal.expect("(Pdb) ")
        begun = time.monotonic()
        terminal.type("\x03")
        terminal.expect("stopped\r\n")
        assert terminal.status() == 0
        assert time.monotonic() - begun < 5
        creating.communicate(timeout=SECONDS)


def begin(kubectl: Kubectl, mode: str) -> subprocess.Popen[str]:
    """``kubectl create``, which will take as long as the debugger does."""
    started = subprocess.Popen(
        [kubectl.program, "--kubeconfig", kubectl.kubeconfig, "create", "-f", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdin is not None
    started.stdin.write(oven(mode))
    started.stdin.close()
    started.stdin = None
    return started
