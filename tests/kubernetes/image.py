"""What ``deploy/Dockerfile`` says of a running container: entry point, user, environment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCKERFILE = Path(__file__).parents[2] / "deploy" / "Dockerfile"


@dataclass(frozen=True)
class Image:
    """The last stage."""

    base: str
    entrypoint: tuple[str, ...]
    user: str
    environment: dict[str, str]
    instructions: tuple[tuple[str, str], ...]
    """Of all stages: the word and the rest of its line."""


def read() -> Image:
    """The image that the Dockerfile describes."""
    everything = tuple(_instructions(DOCKERFILE.read_text(encoding="utf-8")))
    begin = max(position for position, (word, _) in enumerate(everything) if word == "FROM")
    last = everything[begin:]
    said = dict(last)
    environment = dict(part.split("=", 1) for word, rest in last if word == "ENV" for part in rest.split())
    return Image(said["FROM"], tuple(json.loads(said["ENTRYPOINT"])), said["USER"], environment, everything)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    code = "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", "", code).splitlines():
        word, _, rest = line.partition(" ")
        yield word, rest
