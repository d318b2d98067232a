"""Where the header of an operator comes from."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from extapi.client.credentials import CredentialsError
from extapi.client.kubernetespackage import read_kubeconfig
from extapi.client.operatortoken import operator_token
from tests.answering import CONFIG

ASKING = """\
#!/bin/sh
echo "your code?" >&2
read code
echo "{\\"apiVersion\\": \\"client.authentication.k8s.io/v1\\", \\"kind\\": \\"ExecCredential\\",
  \\"status\\": {\\"token\\": \\"$code\\"}}"
"""


def _kubeconfig(directory: Path, user: str) -> str:
    (directory / "config").write_text(CONFIG.replace("{token: t}", user))
    return str(directory / "config")


def test_what_stays_is_left_to_the_package(tmp_path: Path) -> None:
    assert operator_token(read_kubeconfig(_kubeconfig(tmp_path, "{token: t}"), "")) == (None, None)


def test_a_plugin_that_asks_somebody_who_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}}"
    with pytest.raises(CredentialsError, match="interactiveMode is Always, but there is no terminal here"):
        operator_token(read_kubeconfig(_kubeconfig(tmp_path, user), ""))


def test_a_plugin_asks_whoever_sits_at_the_terminal(tmp_path: Path) -> None:
    """As with kubectl: it reads stdin, and its stderr is shown. It has to be of the terminal's foreground for that."""
    (tmp_path / "plugin").write_text(ASKING)
    (tmp_path / "plugin").chmod(0o755)
    user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: IfAvailable}}"
    script = (
        "import sys; from extapi.client.kubernetespackage import read_kubeconfig; "
        "from extapi.client.operatortoken import operator_token; "
        "token, _ = operator_token(read_kubeconfig(sys.argv[1], '')); print(token.current(30))"
    )
    terminal, its = pty.openpty()
    words = ["setsid", "--ctty", sys.executable, "-c", script, _kubeconfig(tmp_path, user)]
    asking = subprocess.Popen(words, stdin=its, stdout=subprocess.PIPE, stderr=its)
    os.close(its)
    with os.fdopen(terminal, "r+b", buffering=0) as screen:
        assert screen.read(10) == b"your code?"
        screen.write(b"1234\n")
        output, _ = asking.communicate(timeout=30)
    assert output == b"Bearer 1234\n"
