"""A program that runs another one in bounds: of time, of what it prints, and of the life of whoever asked for it.

It is the parent of the program, which gets a process group of its own. If time is over, if the program prints too much, or
if the pipe that it got as its first argument ends, the group is killed. The pipe ends when the process that asked closes
it, and also when that process is killed itself. To start fast, this module imports nothing of extapi and no
``subprocess``: run it by ``python -I -S``. See ``guardedprocess``, which asks.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

_PIECE = 65536
_TAIL = 4096
"""Bytes of stderr that are kept: the last ones."""
_REAP = 2.0
"""Seconds for a killed program to end; one that waits for a dead disk may not."""


class _Streams:
    """What the program prints."""

    def __init__(self, limit: int) -> None:
        self.output = b""
        self.errors = b""
        self._limit = limit

    def take(self, is_output: bool, piece: bytes) -> None:
        if is_output:
            self.output += piece
        else:
            self.errors = (self.errors + piece)[-_TAIL:]

    def too_much(self) -> bool:
        return len(self.output) > self._limit


def main(control: int) -> None:
    """Run what the first line on ``control`` says, and print what came of it as JSON."""
    line = _line(control)
    if not line:
        return
    wanted: dict[str, Any] = json.loads(line)
    waking, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # Of a terminal: the program gets it as well, and this one has to see to its end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    read_output, output = os.pipe()
    read_errors, errors = os.pipe()
    read_failure, failure = os.pipe()
    program = os.fork()
    if program == 0:
        _become(wanted, output, errors, failure)
    for end in (output, errors, failure):
        os.close(end)
    if wanted["group"]:
        with contextlib.suppress(OSError):  # it has ended, or has done so itself
            os.setpgid(program, program)
    streams = _Streams(wanted["limit"])
    why, code = _watch(
        program, control, waking, (read_output, read_errors), streams, time.monotonic() + wanted["seconds"]
    )
    if code is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program, signal.SIGKILL) if wanted["group"] else os.kill(program, signal.SIGKILL)
        _reap(program)
    os.set_blocking(read_failure, False)
    outcome = {
        "ended": why,
        "code": code,
        "output": streams.output.decode("utf-8", "replace"),
        "errors": streams.errors.decode("utf-8", "replace"),
        "failure": _rest(read_failure).decode("utf-8", "replace"),
    }
    with contextlib.suppress(BrokenPipeError):
        _write(json.dumps(outcome).encode())


def _watch(
    program: int, control: int, waking: int, streams_of: tuple[int, int], streams: _Streams, end: float
) -> tuple[str, int | None]:
    """Why the program has to be killed, or its exit code (negative for a signal)."""
    poller = select.poll()
    for descriptor in (control, waking, *streams_of):
        poller.register(descriptor, select.POLLIN)
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return "time", None
        for descriptor, _ in poller.poll(left * 1000 + 1):
            if descriptor == control:
                return "stopped", None
            if descriptor == waking:
                _rest(waking)
            elif piece := os.read(descriptor, _PIECE):
                streams.take(descriptor == streams_of[0], piece)
            else:
                poller.unregister(descriptor)
        if streams.too_much():
            return "output", None
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            # What it has started may hold the pipes open for ever: take what is there.
            for descriptor in streams_of:
                os.set_blocking(descriptor, False)
                streams.take(descriptor == streams_of[0], _rest(descriptor))
            return ("output", None) if streams.too_much() else ("", os.waitstatus_to_exitcode(status))


def _become(wanted: dict[str, Any], output: int, errors: int, failure: int) -> None:
    """Become the program. Does not return."""
    try:
        if wanted["group"]:
            os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(output, 1)
        if wanted["keep_errors"]:
            os.dup2(errors, 2)
        # Nothing of it comes from a client: it is the operator's kubeconfig that names it.
        os.execve(wanted["command"][0], wanted["command"], wanted["environment"])  # noqa: S606
    except OSError as error:
        os.write(failure, (error.strerror or str(error)).encode())
    finally:
        os._exit(127)


def _reap(program: int) -> None:
    end = time.monotonic() + _REAP
    while time.monotonic() < end:
        with contextlib.suppress(ChildProcessError):
            if not os.waitpid(program, os.WNOHANG)[0]:
                select.select([], [], [], 0.01)
                continue
        return


def _line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return b""
        line += piece
    return line


def _rest(descriptor: int) -> bytes:
    """What can be read at once, in some size: whoever writes on and on does not keep us."""
    rest = b""
    with contextlib.suppress(BlockingIOError):
        while len(rest) < 16 * _PIECE and (piece := os.read(descriptor, _PIECE)):
            rest += piece
    return rest


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main(int(sys.argv[1]))
