"""Runs an operator's shell command, such as the one that starts the server."""

from __future__ import annotations

import subprocess
from typing import Any

from twisted.internet.threads import deferToThreadPool

from extapi.takeover.failure import TakeoverFailure


async def command(reactor: Any, option: str, text: str, otherwise: str) -> None:
    """Run ``text`` in a shell, with this process's output, until it returns; what it leaves in the background goes on.

    Args:
        reactor: The reactor, with its thread pool.
        option: Which option it is from.
        text: The command.
        otherwise: What to do if it fails.

    Raises:
        TakeoverFailure: Its exit status is not 0.
    """
    done = await deferToThreadPool(
        reactor,
        reactor.getThreadPool(),
        subprocess.run,
        ["/bin/sh", "-c", text],
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        raise TakeoverFailure(f"the command of {option} ended with {done.returncode}: {text}. {otherwise}")
