"""The table of odd machines that are tried in a second each. What a unit test tries for real is not here again."""

from __future__ import annotations

from typing import Final

from tests.environments.machine import SERVE, Odd

_MOUNT: Final = "mount -t tmpfs -o {options} small small"
_FILL: Final = "head -c 9999999 /dev/zero > small/fill 2>/dev/null || true"
_DEV: Final = ("dev", "mine:api", "--dir=small/dev")
_STORE: Final = "--storage=sqlite:///small/store.db"
_THREAD: Final = "import threading\nthreading.Thread(target=threading.Event().wait, name='poller').start()"
_NAMED: Final = r"that are not daemons: poller \(Event\.wait in .*threading\.py\)$"
_NO_KUBECONFIG: Final = ("--kubeconfig=nowhere", "--secure-port=0")

QUICK: Final = (
    Odd(
        "a full disk below extapi dev",
        _DEV,
        r"^Error: there is not enough room in the directory {here}/small/dev: No space left on device; at least 1 MiB are needed: "
        r"make room, or choose another directory with --dir$",
        made=f"{_MOUNT.format(options='size=1m')}; {_FILL}",
        files=frozenset({"fill", "dev", "dev/lock"}),
    ),
    Odd(
        "a file system below extapi dev that is only read",
        _DEV,
        r"^Error: cannot write the directory small/dev: Read-only file system; choose another one with --dir$",
        made=_MOUNT.format(options="ro"),
        files=frozenset(),
    ),
    Odd(
        "a full disk below a store",
        (*SERVE, _STORE),
        r"^Error: {here}/small/store\.db: cannot be used as a store: No space left on device; make room in {here}/small, or name "
        r"another file$",
        made=f"{_MOUNT.format(options='size=1m')}; {_FILL}; truncate -s -16384 small/fill",
    ),
    Odd(
        "a thread that is left by a server's wrong flag", ("serve", "mine:api", *_NO_KUBECONFIG), _NAMED, module=_THREAD
    ),
    Odd(
        "a thread that is left by a worker",
        ("serve", "mine:api", *_NO_KUBECONFIG, "--workers=2", "--storage=sqlite:///store.db"),
        _NAMED,
        module=_THREAD,
    ),
    Odd(
        "a module that ends its process with success",
        ("serve", "mine:api", *_NO_KUBECONFIG, "--workers=2", "--storage=sqlite:///store.db"),
        r'"event":"ended while it imported the API\'s module: .*"process":"extapi worker 0","status":0,',
        module="import os\nos._exit(0)",
    ),
)
"""In the default run."""
FURTHER: Final = (
    Odd(
        "a file system without inodes below extapi dev",
        _DEV,
        r"^Error: there is not enough room in the directory {here}/small/dev: No space left on device \(all inodes are in use\); ",
        made=_MOUNT.format(options="nr_inodes=3"),
        files=frozenset({"dev", "dev/lock"}),
    ),
    Odd("a thread that is left after a job", ("manifests", "mine:api"), _NAMED, status=0, module=_THREAD),
    Odd(
        "a working directory that is gone",
        ("dev", "extapi.pizza:api"),
        r"^Error: \.extapi/dev: No such file or directory$",
        made="mkdir gone; cd gone; rmdir ../gone",
    ),
    Odd(
        "a file system without inodes below a store",
        (*SERVE, _STORE),
        r"^Error: {here}/small/store\.db: the lock file .* cannot be opened: No space left on device \(all inodes are in use\); make "
        r"room in {here}/small$",
        made=_MOUNT.format(options="nr_inodes=1"),
        files=frozenset(),
    ),
    Odd(
        "a file system below a store that is only read",
        (*SERVE, _STORE),
        r"^Error: {here}/small/store\.db: the lock file .* cannot be opened: Read-only file system; name a file where this process "
        r"may write$",
        made=_MOUNT.format(options="ro"),
    ),
)
"""On demand."""
