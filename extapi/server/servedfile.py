"""``--served-file``: which groups and versions a server serves now, in a file, for whoever registers them in a cluster.

Knows the server, but no cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from extapi.api.definition import Group
from extapi.api.policyrule import PolicyRule
from extapi.server.structuredlog import structlog


@dataclass(frozen=True)
class ServedGroups:
    """The content of the file."""

    groups: Sequence[tuple[str, Sequence[str]]]
    """Each group with its versions, the preferred one first."""
    needs: Sequence[PolicyRule]
    """The rights that the author's code needs in the cluster."""

    @classmethod
    def of(cls, groups: Sequence[Group], needs: Sequence[PolicyRule]) -> ServedGroups:
        """What a server serves."""
        return cls(tuple((group.name, tuple(group.versions_by_priority())) for group in groups), tuple(needs))

    @classmethod
    def read(cls, path: Path) -> ServedGroups:
        """The content of the file at ``path``.

        Raises:
            OSError: It cannot be read.
            ValueError: It is no such file.
        """
        try:
            found = json.loads(path.read_bytes())
            groups = tuple((group["name"], tuple(group["versions"])) for group in found["groups"])
            return cls(groups, tuple(map(_rule, found["needs"])))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path}: is not what --served-file writes: {error}") from error

    def write(self, path: Path) -> None:
        """Replace the file at ``path``; readers see the old or the new content, never a part.

        Raises:
            OSError: It cannot be written.
        """
        groups = [{"name": name, "versions": list(versions)} for name, versions in self.groups]
        text = json.dumps({"groups": groups, "needs": [rule.to_dict() for rule in self.needs]})
        unfinished = path.with_name(f"{path.name}.unfinished")
        unfinished.unlink(missing_ok=True)
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        unfinished.replace(path)


def _rule(found: dict[str, Sequence[str]]) -> PolicyRule:
    return PolicyRule(
        api_groups=found["apiGroups"],
        resources=found["resources"],
        verbs=found["verbs"],
        resource_names=found.get("resourceNames", ()),
    )


class ServedFile:
    """Keeps the file up to date."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = structlog.get_logger("extapi.server")

    def update(self, groups: Sequence[Group], needs: Sequence[PolicyRule]) -> None:
        """Write what is served now. If that fails, it is logged: the server serves all the same."""
        try:
            ServedGroups.of(groups, needs).write(self._path)
        except OSError as error:
            self._log.error("--served-file cannot be written", path=str(self._path), reason=str(error))
