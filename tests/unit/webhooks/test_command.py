"""``extapi webhooks``: what is wrong on the command line is said before anything is started."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from extapi.webhooks.command import webhooks
from extapi.webhooks.options import FLAGS


def test_help_names_every_flag() -> None:
    result = CliRunner().invoke(webhooks, ["--help"], terminal_width=200)
    assert result.exit_code == 0
    for flag in FLAGS:
        assert f"--{flag.name}" in result.output


def test_all_mistakes_are_said_together() -> None:
    result = CliRunner().invoke(webhooks, ["no.such.module:api", "--secure-port", "x"])
    assert (result.exit_code, result.stdout) == (1, "")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Error: cannot import no.such.module: No module named 'no'")
    assert [line.partition(" are required")[0].partition(": 'x'")[0] for line in lines[1:]] == [
        "Error: --secure-port",
        "Error: --tls-cert-file and --tls-private-key-file",
    ]


@pytest.mark.parametrize("arguments", [[], ["extapi.pizza:api", "--storage=memory:"]])
def test_what_is_not_understood_is_a_usage_error(arguments: list[str]) -> None:
    assert CliRunner().invoke(webhooks, arguments).exit_code == 2
