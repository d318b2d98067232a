from __future__ import annotations

import subprocess
import sys

import click
from click.testing import CliRunner

from extapi.cli import COMMANDS, LazyGroup, main


@click.command()
def eager() -> None:
    """Of the group itself."""


def test_a_command_is_imported_only_when_it_is_called() -> None:
    script = "import sys, extapi.cli; print('extapi.dev' in sys.modules, 'extapi.server.command' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "False False\n"


def test_the_commands_are_those_of_the_table_and_the_groups_own() -> None:
    group = LazyGroup("x", commands_at={"dev": COMMANDS["dev"]}, commands={"eager": eager})
    context = click.Context(group)
    assert group.list_commands(context) == ["dev", "eager"]
    found = group.get_command(context, "dev")
    assert found is not None
    assert found.name == "dev"
    assert group.get_command(context, "eager") is eager
    assert group.get_command(context, "nothing") is None


def test_an_unknown_command_is_refused() -> None:
    result = CliRunner().invoke(main, ["nothing"])
    assert result.exit_code == 2
    assert "No such command 'nothing'" in result.output


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "extapi", "dev", "-h"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("Usage: python -m extapi dev [OPTIONS] [MODULE:NAME]\n")
