"""A container of the image that was built: by runc, or, where the machine allows no namespaces, in a chroot.

What a container runtime does with the image and with what a kubelet tells it. A chroot has the files and the user, and
nothing else of it: no tree that is read-only (the user may write nothing in it all the same), no network or process ids
of its own, no seccomp. Needs root.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from extapi.dev.processes import Child, Processes
from tests.kubernetes.imagebuild import Built

_SECCOMP = Path("/usr/share/containers/seccomp.json")
"""Of the package golang-github-containers-common, which buildah brings: what container runtimes have by default."""
_ARCHITECTURES = {"x86_64": ("amd64", "SCMP_ARCH_X86_64"), "aarch64": ("arm64", "SCMP_ARCH_AARCH64")}
_CAPABILITIES = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
]
_HIDDEN = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"]
_FIXED = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


@dataclass(frozen=True)
class Mount:
    """A directory or a file of this machine, and where the container has it."""

    source: Path
    target: str
    read_only: bool = True


@dataclass(frozen=True)
class Order:
    """What is to run. ``arguments`` follow the image's entry point, unless there is a ``command``."""

    arguments: Sequence[str]
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: tuple[int, int] | None = None
    """And group; None: the image's."""
    groups: Sequence[int] = ()
    read_only: bool = True
    no_new_privileges: bool = True
    capabilities: bool = False
    """Those that container runtimes give where nobody says otherwise; False: none."""
    seccomp: bool = True
    memory: int | None = None
    """Bytes that it may have."""
    mounts: Sequence[Mount] = ()
    network: Path | None = None
    """The file of a network namespace; None: this machine's network."""
    hostname: str = "container"

    def words(self, image: Built) -> list[str]:
        """The whole command line."""
        return [*(self.command or image.config["Entrypoint"]), *self.arguments]

    def variables(self, image: Built) -> list[str]:
        """The whole environment: the image's, and what is given."""
        given = dict(each.split("=", 1) for each in image.config["Env"])
        return [f"{name}={value}" for name, value in {**given, **self.environment}.items()]

    def ids(self, image: Built) -> tuple[int, int]:
        """User and group."""
        if self.user is not None:
            return self.user
        user, group = image.config["User"].split(":")
        return int(user), int(group)


class Container(Protocol):
    """One that was started."""

    @property
    def child(self) -> Child:
        """Its output, and how it ended."""
        ...

    @property
    def pid(self) -> int:
        """Of its first process, as this machine numbers it."""
        ...

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        ...


class Runtime(Protocol):
    """Starts containers."""

    def start(self, name: str, image: Built, order: Order, processes: Processes, directory: Path) -> Container:
        """Start one; ``directory`` is there for it alone."""
        ...


def runtimes() -> list[str]:
    """What this machine allows, the best first."""
    allowed = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False)
    return ["runc", "chroot"] if allowed.returncode == 0 else ["chroot"]


def runtime(name: str) -> Runtime:
    """The one of that name."""
    return Runc() if name == "runc" else Chroot()


class Runc:
    """By ``runc``, which containerd uses too."""

    def start(self, name: str, image: Built, order: Order, processes: Processes, directory: Path) -> Container:
        """Start it; see :class:`Runtime`."""
        directory.mkdir(parents=True)
        (directory / "config.json").write_text(json.dumps(_bundle(image, order)))
        state = ["runc", "--root", str(directory / "state")]
        run = [*state, "run", "--bundle", str(directory), "--pid-file", str(directory / "pid"), name]
        child = processes.start(name, run)
        # What runc has started outlives runc if that is killed. This waits for the end of its input: for ours, at the latest.
        script = 'cat >/dev/null; exec "$@"'
        words = ["sh", "-c", script, "sh", *state, "delete", "--force", name]
        end = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
        )
        return _OfRunc(child, directory / "pid", end)


@dataclass(frozen=True)
class _OfRunc:
    child: Child
    file: Path
    end: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """See :class:`Container`."""
        return int(self.file.read_text())

    def kill(self) -> None:
        """See :class:`Container`."""
        assert self.end.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.end.stdin.close()
        self.end.wait(30)
        self.child.process.wait(30)


class Chroot:
    """Where there are no namespaces: in a copy of the image's files. Always without capabilities."""

    def start(self, name: str, image: Built, order: Order, processes: Processes, directory: Path) -> Container:
        """Start it; see :class:`Runtime`. What it has mounted are copies."""
        assert order.network is None, "a network of its own needs namespaces"
        root = directory / "root"
        directory.mkdir(parents=True)
        subprocess.run(["cp", "--archive", "--reflink=auto", str(image.root), str(root)], check=True)
        for device in ("null", "urandom"):
            if not (root / "dev" / device).exists():
                subprocess.run(["cp", "--archive", f"/dev/{device}", str(root / "dev" / device)], check=True)
        for mount in order.mounts:
            target = root / mount.target.lstrip("/")
            if target.exists():
                shutil.rmtree(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "--archive", str(mount.source), str(target)], check=True)
        user, group = order.ids(image)
        groups = ",".join(str(each) for each in order.groups) or str(group)
        confined = ["setpriv", f"--reuid={user}", f"--regid={group}", f"--groups={groups}", "--no-new-privs"]
        confined += ["--bounding-set=-all", "--inh-caps=-all", "--pdeathsig=SIGKILL", "--"]
        words = ["env", "-i", *order.variables(image), *order.words(image)]
        return _OfChroot(processes.start(name, ["chroot", str(root), *confined, *words]), root)


@dataclass(frozen=True)
class _OfChroot:
    child: Child
    root: Path

    @property
    def pid(self) -> int:
        """See :class:`Container`."""
        return self.child.process.pid

    def kill(self) -> None:
        """See :class:`Container`."""
        if self.child.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.child.process.wait(30)
        shutil.rmtree(self.root)


def _bundle(image: Built, order: Order) -> dict[str, Any]:
    """The OCI runtime specification's ``config.json``."""
    user, group = order.ids(image)
    dev = ["nosuid", "strictatime", "mode=755", "size=65536k"]
    shm = ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]
    mounts: list[dict[str, Any]] = [
        {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": dev},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": shm},
    ]
    for mount in sorted(order.mounts, key=lambda mount: mount.target):
        options = ["rbind", "rprivate", "ro" if mount.read_only else "rw"]
        mounts.append({"destination": mount.target, "type": "bind", "source": str(mount.source), "options": options})
    linux: dict[str, Any] = {
        "namespaces": [
            *({"type": each} for each in ("mount", "pid", "ipc", "uts")),
            *([{"type": "network", "path": str(order.network)}] if order.network is not None else []),
        ],
        "maskedPaths": _HIDDEN,
        "readonlyPaths": _FIXED,
    }
    if order.seccomp:
        linux["seccomp"] = _seccomp()
    if order.memory is not None:
        linux["resources"] = {"memory": {"limit": order.memory}}
    held = [f"CAP_{each}" for each in _CAPABILITIES] if order.capabilities else []
    kinds = ("bounding", "effective", "permitted")
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(image.root), "readonly": order.read_only},
        "hostname": order.hostname,
        "process": {
            "user": {"uid": user, "gid": group, "additionalGids": list(order.groups)},
            "args": order.words(image),
            "env": order.variables(image),
            "cwd": image.config["WorkingDir"],
            "noNewPrivileges": order.no_new_privileges,
            "capabilities": dict.fromkeys(kinds, held),
        },
        "mounts": mounts,
        "linux": linux,
    }


def _seccomp() -> dict[str, Any]:
    """The profile as it is for a process without capabilities on this machine."""
    profile = json.loads(_SECCOMP.read_text())
    name, architecture = _ARCHITECTURES[platform.machine()]
    (also,) = [each["subArchitectures"] for each in profile["archMap"] if each["architecture"] == architecture]
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": [architecture, *also],
        "syscalls": list(_calls(profile["syscalls"], name)),
    }


def _calls(rules: Sequence[dict[str, Any]], architecture: str) -> Iterator[dict[str, Any]]:
    """Those that are for a process without capabilities."""
    for rule in rules:
        wanted = rule["includes"]
        if "caps" not in wanted and architecture in wanted.get("arches", [architecture]):
            kept = {key: rule[key] for key in ("names", "action", "errnoRet", "args") if rule.get(key)}
            yield kept
