"""A program that is supervised: its workers say what happens to them, and do what the test writes into files.

``python -m tests.unit.workers.supervised DIRECTORY COUNT [hub]``: each process appends its name and pid to ``DIRECTORY/started``.
It is ready unless ``DIRECTORY/unready-NUMBER`` exists; it then ends with the status in that file. On SIGTERM it appends its
number to ``DIRECTORY/ended``, and ends with 0; first it reads the pipe ``DIRECTORY/held-NUMBER`` to its end if there is one.
While it imports, it ends with the status in ``DIRECTORY/gone-NUMBER`` if there is one. Before it knows of SIGTERM it reads
``DIRECTORY/slow-NUMBER`` if there is one, and says so in ``DIRECTORY/forked``.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from extapi.server.logs import configure_events
from extapi.workers import control
from extapi.workers.supervisor import Supervisor


def main(directory: Path, count: int, *, hub: bool) -> int:
    configure_events(sys.stderr.buffer)

    def work(number: int, sock: socket.socket) -> int:
        def end(*_: object) -> None:
            if (held := directory / f"held-{number}").exists():
                held.read_bytes()
            with (directory / "ended").open("a") as ended:
                ended.write(f"{number}\n")
            sys.exit(0)

        if (slow := directory / f"slow-{number}").exists():
            with (directory / "forked").open("a") as forked:
                forked.write(f"{number}\n")
            slow.read_bytes()
        control.tell(sock, control.IMPORTING)
        if (gone := directory / f"gone-{number}").exists():
            os._exit(int(gone.read_text()))
        control.tell(sock, control.IMPORTED)
        signal.signal(signal.SIGTERM, end)
        with (directory / "started").open("a") as started:
            started.write(f"{number} {os.getpid()}\n")
        unready = directory / f"unready-{number}"
        if unready.exists():
            return int(unready.read_text())
        control.tell(sock, control.READY)
        while True:
            signal.pause()

    return Supervisor(count, work, work if hub else None, first_delay=0.01).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), hub="hub" in sys.argv))
