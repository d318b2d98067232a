"""What a reader of Kubernetes' documentation has: a directory of files, and a shell in it in which kubectl is typed."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.kubernetes.control_plane import Kubectl
from tests.waiting import until


@dataclass(frozen=True)
class Reader:
    """Types commands as they are printed, in a directory of its own."""

    kubectl: Kubectl
    directory: Path

    def save(self, name: str, text: str) -> None:
        """Write a file."""
        (self.directory / name).write_text(textwrap.dedent(text).lstrip())

    def types(self, line: str) -> str:
        """Type a command that succeeds; what it prints."""
        done = self.run(line)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    def is_refused(self, line: str) -> str:
        """Type a command that fails; what it says."""
        done = self.run(line)
        assert done.returncode != 0, f"{line}: {done.stdout}"
        return done.stderr

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Type a command."""
        program, *arguments = shlex.split(line)
        assert program == "kubectl"
        return subprocess.run(
            self.kubectl.command(*arguments),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self.directory,
            env=self.kubectl.environment(),
        )

    def established(self, name: str) -> None:
        """Wait until the API is there, as the pages advise."""
        self.types(f"kubectl wait --for=condition=Established --timeout=30s crd/{name}")

    @contextlib.contextmanager
    def defining(self, text: str, name: str = "crontabs.stable.example.com") -> Iterator[None]:
        """Apply a definition, and delete it afterwards with all objects."""
        self.save("resourcedefinition.yaml", text)
        assert self.types("kubectl apply -f resourcedefinition.yaml").endswith(f"/{name} created\n")
        try:
            self.established(name)
            yield
        finally:
            self.types(f"kubectl delete crd {name} --ignore-not-found")

    def applies(self, name: str, result: str = "created") -> None:
        """Apply a file whose kind may just have come: kubectl looks for it in a cache of a few seconds."""

        def tried() -> bool:
            done = self.run(f"kubectl apply -f {name}")
            assert done.returncode == 0, done.stderr
            assert result in done.stdout
            return True

        until(tried)
