"""``python -m extapi.controlplane``: its flags are kube-apiserver's, and mistakes are said at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from extapi.controlplane.command import control_plane

# Of kube-apiserver 1.36, as its --help names them.
FLAGS = {
    "--bind-address",
    "--client-ca-file",
    "--disable-admission-plugins",
    "--enable-admission-plugins",
    "--proxy-client-cert-file",
    "--proxy-client-key-file",
    "--requestheader-allowed-names",
    "--request-timeout",
    "--requestheader-client-ca-file",
    "--secure-port",
    "--service-account-issuer",
    "--service-account-key-file",
    "--tls-cert-file",
    "--tls-private-key-file",
}


def flags(path: Path, **changed: str) -> list[str]:
    """A complete command line, of files that are empty."""
    file = path / "empty.pem"
    file.touch()
    values = {flag: str(file) for flag in FLAGS if flag.endswith("-file")}
    values |= {"--service-account-issuer": "https://issuer", "--secure-port": "0"}
    values |= {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
    return [f"{flag}={value}" for flag, value in values.items()]


def test_the_flags_are_those_of_kube_apiserver_but_for_the_store() -> None:
    found = {option for parameter in control_plane.params for option in parameter.opts}
    assert found == FLAGS | {"--storage"}


def test_no_flag_makes_it_listen_elsewhere(tmp_path: Path) -> None:
    result = CliRunner().invoke(control_plane, [*flags(tmp_path), "--bind-address=0.0.0.0"])
    assert result.exit_code == 2
    assert "'0.0.0.0' is not one of '127.0.0.1', '::1'" in result.stderr


@pytest.mark.parametrize("missing", sorted(each for each in FLAGS if each.endswith(("-file", "-issuer"))))
def test_files_and_the_issuer_are_needed(tmp_path: Path, missing: str) -> None:
    result = CliRunner().invoke(control_plane, [flag for flag in flags(tmp_path) if not flag.startswith(missing)])
    assert result.exit_code == 2
    assert f"Missing option '{missing}'" in result.stderr


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"storage": "redis:"}, "expected memory: or sqlite:///PATH"),
        ({"client_ca_file": "/no/such/file"}, "File '/no/such/file' does not exist"),
        ({"secure_port": "65536"}, "65536 is not in the range"),
        ({"enable_admission_plugins": "ResourceQuota"}, 'enable-admission-plugins plugin "ResourceQuota" is unknown'),
        (
            {"enable_admission_plugins": "NamespaceLifecycle", "disable_admission_plugins": "NamespaceLifecycle"},
            "[NamespaceLifecycle] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
    ],
)
def test_wrong_values_are_usage_errors(tmp_path: Path, changed: dict[str, str], problem: str) -> None:
    result = CliRunner().invoke(control_plane, flags(tmp_path, **changed))
    assert result.exit_code == 2
    assert problem in " ".join(result.stderr.split())


def test_a_timeout_is_a_duration_of_go(tmp_path: Path) -> None:
    result = CliRunner().invoke(control_plane, flags(tmp_path, request_timeout="soon"))
    assert result.exit_code == 2
    assert 'time: invalid duration "soon"' in result.output
