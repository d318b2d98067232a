"""kubectl in the namespace of one test, in the foreground and in the background."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.pizzas import PIZZA


class Shop:
    """kubectl in the namespace of one test."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self.kubectl = kubectl
        self.namespace = namespace

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        return self.kubectl("-n", self.namespace, *arguments, stdin=stdin)

    def refused(self, *arguments: str, stdin: str = "") -> str:
        """What kubectl says on stderr when it fails."""
        result = self.kubectl.run("-n", self.namespace, *arguments, stdin=stdin)
        assert result.returncode != 0, result.stdout
        return result.stderr

    def warned(self, *arguments: str, stdin: str = "") -> str:
        """What kubectl says on stderr when it succeeds."""
        result = self.kubectl.run("-n", self.namespace, *arguments, stdin=stdin)
        assert result.returncode == 0, result.stderr
        return result.stderr

    def with_variables(self, **variables: str) -> Shop:
        """The same with variables in the environment of kubectl."""
        return Shop(replace(self.kubectl, variables=variables), self.namespace)

    def edited(self, directory: Path, script: str, *arguments: str) -> str:
        """What kubectl prints when its editor runs a script of sed; ``directory``: for that editor."""
        editor = directory / "editor"
        editor.write_text(f"#!/bin/sh\nsed -i '{script}' \"$1\"\n")
        editor.chmod(0o700)
        return self.with_variables(KUBE_EDITOR=str(editor))(*arguments)

    def make(self, *objects: object) -> None:
        """Create objects."""
        self("create", "-f", "-", stdin="\n".join(json.dumps(obj) for obj in objects))

    def path(self, name: str, path: str, kind: str = PIZZA) -> str:
        """One value of an object."""
        return self("get", kind, name, "-o", f"jsonpath={{{path}}}")

    def read(self, *what: str) -> dict[str, Any]:
        """An object, as kubectl prints it in JSON."""
        found: dict[str, Any] = json.loads(self("get", *what, "-o", "json"))
        return found

    def costs(self, name: str, cost: str) -> bool:
        """Whether the controller has priced the pizza so."""
        return self.path(name, ".status.cost") == cost


def managed(metadata: dict[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Who owns what of an object but for its status: leaves such as ``data.a`` by manager and operation."""
    entries = [entry for entry in metadata["managedFields"] if entry.get("subresource") != "status"]
    return {(entry["manager"], entry["operation"]): set(_leaves(entry["fieldsV1"])) for entry in entries}


def _leaves(fields: dict[str, Any], path: str = "") -> Iterator[str]:
    """The leaves of a FieldsV1 of fields alone."""
    for key, below in fields.items():
        if key != ".":
            name = path + key.removeprefix("f:")
            yield from _leaves(below, f"{name}.") if below else [name]


class Running:
    """kubectl in the background, its lines as they come."""

    def __init__(self, shop: Shop, *arguments: str) -> None:
        command = shop.kubectl.command("-n", shop.namespace, *arguments)
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=shop.kubectl.environment()
        )

    def line(self) -> str:
        """Its next line, with single spaces; empty once it has ended.

        Left out is what its discovery says of groups that definitions of other tests have just left.
        """
        assert self.process.stdout is not None
        while " memcache.go:" in (line := self.process.stdout.readline()):
            pass
        return " ".join(line.split())

    def end(self) -> None:
        """End it in any case."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
