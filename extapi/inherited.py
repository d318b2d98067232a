"""What a process has from its parent, and what a command needs in its place: open standard streams, and children to wait for.

Must not know what a command does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

_MODES = ("r", "w", "w")


def mend() -> None:
    """Open the standard streams that the parent has closed, and let children be waited for.

    The next file or connection would get the number of a closed stream, and with it what is written there. With SIGCHLD
    ignored, which survives ``exec``, the system forgets how children ended (waitpid(2)).
    """
    for number, mode in enumerate(_MODES):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)  # gets the lowest number that is free
            # Python has none for what was closed when it started.
            setattr(sys, ("stdin", "stdout", "stderr")[number], open(number, mode, closefd=False))  # noqa: SIM115
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
