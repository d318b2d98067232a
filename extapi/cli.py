"""The ``extapi`` command: a click group that imports its commands on use.

Knows only the names of commands and where they are; each has its own package.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Mapping
from typing import Any, NoReturn, cast

import click

from extapi import inherited
from extapi.leaving import threads_left

COMMANDS = {
    "certs": "extapi.certs.command:certs",
    "crd": "extapi.crd.command:crd",
    "dev": "extapi.dev.command:dev",
    "doctor": "extapi.doctor.command:doctor",
    "export": "extapi.takeover.exportcommand:export",
    "import": "extapi.takeover.importcommand:import_",
    "manifests": "extapi.manifests.command:manifests",
    "migrate": "extapi.takeover.migratecommand:migrate",
    "serve": "extapi.workers.command:serve",
    "storage": "extapi.storetool.command:storage",
    "webhooks": "extapi.webhooks.command:webhooks",
}


class LazyGroup(click.Group):
    """A group that imports a command only when it runs, so that no command pays for the imports of another."""

    def __init__(self, *args: object, commands_at: Mapping[str, str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # click's own arguments, passed on as they are
        self._commands_at = commands_at

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command, as click does."""
        inherited.mend()
        if os.getpid() == 1:
            signal.signal(signal.SIGTERM, _end)
        with threads_left():
            return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands; imports none."""
        return sorted({*super().list_commands(ctx), *self._commands_at})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, which is imported now; None if there is none of that name."""
        if cmd_name not in self._commands_at:
            return super().get_command(ctx, cmd_name)
        module, attribute = self._commands_at[cmd_name].split(":")
        return cast("click.Command", getattr(importlib.import_module(module), attribute))


def _end(number: int, _frame: object) -> NoReturn:
    """End as any process does that handles no signal, until a command handles them.

    The first process of a container gets only signals that it handles. One that is stopped while it is imported would
    stay for all of its grace period.

    Source: pid_namespaces(7).
    """
    os._exit(128 + number)


@click.group(cls=LazyGroup, commands_at=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="extapi")
def main() -> None:
    """Kubernetes extension API servers in Python."""
