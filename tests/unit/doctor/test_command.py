from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from extapi.doctor.cluster import CannotAsk
from extapi.doctor.command import _address, doctor


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--connect=localhost"], "'localhost' is not of the form HOST:PORT"),
        (["--connect=localhost:99999"], "not of the form HOST:PORT"),
        (["--connect=[::x]:443"], "is no IPv6 address"),
        (["--service-account=server"], "'server' is not of the form NAMESPACE:NAME"),
        (["--service-account=a/b:c"], "not of the form NAMESPACE:NAME"),
        (["--app=extapi.pizza"], "not of the form MODULE:NAME"),
        (["--app=no.such.module:api"], "cannot import no.such.module"),
        (["--storage=redis:"], "expected memory: or sqlite:///PATH"),
        (["--timeout=0"], "--timeout"),
        (["--output=xml"], "--output"),
    ],
)
def test_mistakes_are_said_at_once(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(doctor, arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


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

    monkeypatch.setattr("extapi.doctor.cluster.connect", refuse)
    assert CliRunner().invoke(doctor, []).stderr == "Error: https://x: ]0;title no\n"
