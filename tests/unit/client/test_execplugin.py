"""What a kubeconfig says of a plugin, what the plugin is told, and what its answer means: as client-go has it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from extapi.client.clientpair import Pair
from extapi.client.credentials import CredentialsError
from extapi.client.execplugin import INTERACTIVE_SECONDS, PLUGIN_SECONDS, ExecPlugin, PluginError, exec_plugin
from extapi.client.guardedprocess import GuardedProcess, Printed
from extapi.client.renewal import Issued
from tests.certificates import authority

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
ENTRY = {"apiVersion": V1, "command": "/bin/plugin", "interactiveMode": "Never"}
PAIR = authority("ca").leaf("me")
OTHER = authority("ca").leaf("other")


def _plugin(entry: Any = ENTRY, *, cluster: dict[str, Any] | None = None, **more: Any) -> ExecPlugin:
    return exec_plugin(entry, user="me", file=Path("/etc/kube/config"), cluster=cluster or {}, ca=None, **more)


def _printed(**status: Any) -> Printed:
    return Printed(json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status}))


def test_what_the_plugin_is_told() -> None:
    """By a program that prints it (exec.Authenticator.refreshCredsLocked)."""
    entry = {
        **ENTRY,
        "command": "printenv",
        "args": ["KUBERNETES_EXEC_INFO", "MINE"],
        "env": [{"name": "MINE", "value": "x"}],
        "provideClusterInfo": True,
    }
    cluster = {
        "server": "https://10.0.0.1:6443",
        "certificate-authority": "/ca.crt",
        "tls-server-name": "kubernetes",
        "extensions": [
            {"name": "other", "extension": {"a": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "06e3"}},
        ],
    }
    plugin = exec_plugin(entry, user="me", file=Path("/etc/kube/config"), cluster=cluster, ca=b"the authority")
    told, mine = GuardedProcess(plugin.prepare()).run().output.splitlines()
    assert mine == "x"
    assert json.loads(told) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://10.0.0.1:6443",
                "tls-server-name": "kubernetes",
                "certificate-authority-data": base64.b64encode(b"the authority").decode(),
                "config": {"audience": "06e3"},
            },
        },
    }
    without = exec_plugin({**entry, "provideClusterInfo": False}, user="me", file=Path("c"), cluster=cluster, ca=None)
    assert "cluster" not in without.prepare().environment["KUBERNETES_EXEC_INFO"]


@pytest.mark.parametrize(
    ("command", "found"),
    [("bin/plugin", "/etc/kube/bin/plugin"), ("/bin/plugin", "/bin/plugin"), ("sh", "/bin/sh")],
)
def test_where_the_plugin_is(command: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the kubeconfig, unless it is one of PATH (clientcmd.GetAuthInfoFileReferences)."""
    monkeypatch.setenv("PATH", "/bin")
    assert _plugin({**ENTRY, "command": command}).prepare().arguments == (found,)


def test_one_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    plugin = _plugin({**ENTRY, "command": "aws", "installHint": "See\nhttps://docs.example.com"})
    with pytest.raises(CredentialsError) as refused:
        plugin.prepare()
    assert str(refused.value) == (
        "the exec plugin aws of the kubeconfig /etc/kube/config is not installed: there is no such program on PATH: "
        "See https://docs.example.com"
    )


@pytest.mark.parametrize(
    ("mode", "version", "terminal", "interactive"),
    [
        ("Never", V1, True, False),
        ("IfAvailable", V1, True, True),
        ("IfAvailable", V1, False, False),
        ("Always", V1, True, True),
        ("", V1BETA1, True, True),
    ],
)
def test_who_may_be_asked(mode: str, version: str, terminal: bool, interactive: bool) -> None:
    """As exec.isInteractive, and api/v1.SetDefaults_ExecConfig for the older version."""
    command = _plugin({**ENTRY, "apiVersion": version, "interactiveMode": mode}, terminal=terminal).prepare()
    assert command.interactive is interactive
    assert command.seconds == (INTERACTIVE_SECONDS if interactive else PLUGIN_SECONDS)
    assert command.keep_errors is not interactive
    assert json.loads(command.environment["KUBERNETES_EXEC_INFO"])["spec"] == {"interactive": interactive}


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("aws", "has to be an object"),
        ({**ENTRY, "command": ""}, "needs command, a string"),
        ({**ENTRY, "apiVersion": None}, "needs apiVersion, a string"),
        ({**ENTRY, "apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1' is not supported; it has to be"),
        ({**ENTRY, "interactiveMode": ""}, "interactiveMode has to be one of Never, IfAvailable, Always, not ''"),
        ({**ENTRY, "interactiveMode": "Always"}, "its interactiveMode is Always, but there is no terminal here"),
        ({**ENTRY, "args": [1]}, "args has to be a list of strings"),
        ({**ENTRY, "args": ["a\0"]}, "cannot hold the character U"),
        ({**ENTRY, "env": [{"name": ""}]}, "each of env has to have a name and a value"),
        ({**ENTRY, "env": ["a"]}, "each of env has to have a name and a value"),
    ],
)
def test_entries_that_are_refused(entry: Any, why: str) -> None:
    """Where clientcmd.validateAuthInfo and exec.newAuthenticator refuse them, and where nothing could be run."""
    with pytest.raises(PluginError, match=f"^exec of the user 'me'.*{why}"):
        _plugin(entry)


def test_what_it_issues() -> None:
    plugin = _plugin()
    expiring = plugin.issued(_printed(token="t", expirationTimestamp="1970-01-01T00:01:00Z"))
    assert expiring == Issued("Bearer t", None, 60.0)
    assert plugin.issued(_printed(token="t", expirationTimestamp=None)) == Issued("Bearer t")
    pair = plugin.issued(_printed(clientCertificateData=PAIR.pem.decode(), clientKeyData=PAIR.key_pem.decode()))
    assert pair == Issued("", Pair(PAIR.pem, PAIR.key_pem))
    assert "t" not in repr(expiring).removeprefix("Issued(expiry=")


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        (Printed("", "one\ntwo\n", 1), "failed with exit code 1: one two$"),
        (Printed("", "", 1), "failed with exit code 1$"),
        (Printed("", "", -9), "was killed by signal 9$"),
        (Printed("<html>"), "gave nothing usable: no JSON"),
        (Printed("[]"), "gave nothing usable: no ExecCredential$"),
        (Printed(f'{{"apiVersion": "{V1}", "kind": "TokenReview"}}'), "no ExecCredential$"),
        (
            Printed(f'{{"apiVersion": "{V1BETA1}", "kind": "ExecCredential"}}'),
            f"its apiVersion has to be {V1}, and is '{V1BETA1}'$",
        ),
        (Printed(f'{{"apiVersion": "{V1}", "kind": "ExecCredential"}}'), "an ExecCredential without status$"),
        (_printed(), "neither a token nor a certificate$"),
        (_printed(token=1), "a token that is no string$"),
        (_printed(token="a\r\nb"), "a token that cannot be in a header$"),
        (_printed(token="t", clientKeyData="k"), "only one of clientCertificateData and clientKeyData$"),
        (
            _printed(clientCertificateData=PAIR.pem.decode(), clientKeyData=OTHER.key_pem.decode()),
            "the key in clientKeyData is not that of the certificate in clientCertificateData$",
        ),
        (_printed(token="t", expirationTimestamp=1), "an expirationTimestamp that is no string$"),
        (_printed(token="t", expirationTimestamp="soon"), "an expirationTimestamp that is no time: parsing time"),
    ],
)
def test_what_is_no_credential(printed: Printed, why: str) -> None:
    with pytest.raises(
        CredentialsError, match=f"^the exec plugin /bin/plugin of the kubeconfig /etc/kube/config .*{why}"
    ):
        _plugin().issued(printed)
