"""``extapi serve``: what is wrong on the command line is said before anything is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from extapi.server.options import FLAGS
from extapi.workers.command import serve


def test_help_names_every_flag() -> None:
    result = CliRunner().invoke(serve, ["--help"], terminal_width=200)
    assert result.exit_code == 0
    for flag in FLAGS:
        assert f"--{flag.name}" in result.output
    assert "MODULE:NAME" in result.output


def test_all_mistakes_are_said_together() -> None:
    """A line each, on standard error."""
    result = CliRunner().invoke(
        serve, ["no.such.module:api", "--secure-port", "x", "--storage=redis:", "--tls-cert-file=x"]
    )
    assert result.exit_code == 1
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Error: cannot import no.such.module: No module named 'no'")
    assert "Error: --secure-port: 'x' is not a whole number from 0 to 65535" in lines
    assert "Error: --tls-cert-file and --tls-private-key-file must be given together" in lines
    assert [line for line in lines if line.startswith("Error: --storage: ")]
    assert len(lines) == 4


def test_good_flags_do_not_save_a_bad_target() -> None:
    result = CliRunner().invoke(serve, ["x", "--tls-cert-file=a", "--tls-private-key-file=b"])
    assert result.exit_code == 1
    assert result.stderr == "Error: 'x' is not of the form MODULE:NAME, such as extapi.pizza:api\n"


@pytest.mark.parametrize("arguments", [[], ["extapi.pizza:api", "--no-such-flag"]])
def test_what_is_not_understood_is_a_usage_error(arguments: list[str]) -> None:
    assert CliRunner().invoke(serve, arguments).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "skip"),
    [
        (["x:y"], False),
        (["--authentication-skip-lookup", "x:y"], True),
        (["x:y", "--authentication-skip-lookup=true"], True),
        (["x:y", "--authentication-skip-lookup=False"], False),
        (["x:y", "--authentication-skip-lookup", "--authentication-skip-lookup=0"], False),
    ],
)
def test_boolean_flags_are_written_as_in_go(arguments: list[str], skip: bool) -> None:
    """Manifests have them with and without a value (``strconv.ParseBool``); the last one counts."""
    found = serve.make_context("serve", arguments).params
    assert (found["target"], found["authentication_skip_lookup"]) == ("x:y", skip)


def test_a_boolean_flag_that_is_neither() -> None:
    result = CliRunner().invoke(serve, ["extapi.pizza:api", "--authentication-skip-lookup=maybe"])
    assert result.exit_code == 2
    assert "Invalid value for '--authentication-skip-lookup'" in result.stderr


def test_without_a_cluster_it_says_how_to_try_without_one(tmp_path: Path) -> None:
    """A newcomer's first idea."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    result = subprocess.run(
        [sys.executable, "-m", "extapi", "serve", "extapi.pizza:api", "--secure-port=0", f"--cert-dir={tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )
    assert result.returncode == 1
    assert result.stderr == (
        "Error: failed to get delegated authentication kubeconfig: unable to load in-cluster configuration, "
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined: give --kubeconfig, or run in a pod. "
        "To try the API without a cluster: extapi dev extapi.pizza:api\n"
    )
