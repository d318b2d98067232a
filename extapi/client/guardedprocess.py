"""A program that is run for what it prints, in bounds: it ends in time, prints no more than it may, and outlives nobody.

Blocks; another thread may end it. What guards it is a small process between (``processguard``): only that can kill the
program and all that it has started when this process is killed. Must not know what is run.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OUTPUT_LIMIT = 1024 * 1024
"""Bytes that a program may print. A token has some thousand, a certificate and its key too."""

_GRACE = 5.0
"""Seconds for the guard itself, beside those of the program."""


@dataclass(frozen=True, slots=True)
class Command:
    """What is run, and its bounds."""

    arguments: Sequence[str]
    """The program's path, and what it gets."""
    environment: Mapping[str, str]
    """All of it."""
    seconds: float
    """How long it may take."""
    interactive: bool = False
    """Whether it talks to whoever sits at this process's terminal: only the terminal's own process group may."""
    keep_errors: bool = True
    """Whether the end of what it writes to stderr is kept; otherwise that is this process's stderr."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program has printed, and how it ended."""

    output: str
    """What it printed."""
    errors: str = ""
    """The end of what it wrote to stderr, if that was kept."""
    code: int = 0
    """Its exit code, negative for a signal."""


class ProcessFailed(Exception):
    """The program did not come to an end by itself. The text says why, and goes on after its name."""


class GuardedProcess:
    """One run of a program."""

    def __init__(self, command: Command) -> None:
        self._command = command
        # The guard ends the program when this pipe does.
        self._guards, ours = os.pipe()
        self._control = os.fdopen(ours, "wb", buffering=0)
        self._stopped = False

    def run(self) -> Printed:
        """Run it to its end.

        Raises:
            ProcessFailed: It could not be run, took too long, printed too much, or was stopped.
        """
        command = self._command
        wanted = {
            "command": list(command.arguments),
            "environment": dict(command.environment),
            "seconds": command.seconds,
            "limit": OUTPUT_LIMIT,
            "group": not command.interactive,
            "keep_errors": command.keep_errors,
        }
        program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("processguard.py")), str(self._guards)]
        try:
            # Nothing of the command comes from a client: it is the operator's kubeconfig that names it.
            guard = subprocess.Popen(  # noqa: S603
                program,
                stdin=None if command.interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if command.keep_errors else None,
                pass_fds=(self._guards,),
                start_new_session=not command.interactive,
            )
        except OSError as error:
            self.stop()
            raise ProcessFailed(f"cannot be run: {error.strerror}") from error
        finally:
            os.close(self._guards)
        with guard:
            try:
                with contextlib.suppress(OSError, ValueError):  # the guard is gone, or stop() came first
                    self._control.write(json.dumps(wanted).encode() + b"\n")
                said, complaint = guard.communicate(timeout=command.seconds + _GRACE)
            except BaseException as error:
                self.stop()
                guard.kill()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise ProcessFailed(f"did not end within {command.seconds:g} seconds") from error
                raise
        if self._stopped:
            raise ProcessFailed("was stopped")
        self.stop()
        return _printed(said, complaint or b"", guard.returncode, command)

    def stop(self) -> None:
        """End it, with all that it has started. May be called from any thread, and more than once."""
        self._stopped = True
        with contextlib.suppress(OSError):
            self._control.close()


def _printed(said: bytes, complaint: bytes, code: int, command: Command) -> Printed:
    try:
        found = json.loads(said)
    except ValueError:
        last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        why = last or (f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}")
        raise ProcessFailed(f"was ended with its guard: {why}") from None
    if found["failure"]:
        raise ProcessFailed(f"cannot be run: {found['failure']}")
    if found["ended"] == "time":
        raise ProcessFailed(f"did not end within {command.seconds:g} seconds, and was killed")
    if found["ended"] == "output":
        raise ProcessFailed(f"printed more than {OUTPUT_LIMIT} bytes, and was killed")
    return Printed(output=found["output"], errors=found["errors"], code=found["code"])
