"""The flags that say how etcd is reached, for the commands beside ``extapi serve`` that open its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from extapi.server.command import with_flags
from extapi.server.flag import Flag, FlagReader
from extapi.server.options import FLAGS, read_etcd
from extapi.storage.etcd.endpoints import EtcdOptions, check_etcd
from extapi.storage.url import ETCD

ETCD_FLAGS: Final[Sequence[Flag]] = tuple(flag for flag in FLAGS if flag.name.startswith("etcd-"))
OTHER: Final = "to-"
"""What the flags of a second etcd begin with."""
OTHER_FLAGS: Final[Sequence[Flag]] = tuple(
    Flag(f"{OTHER}{flag.name}", "", f"--{flag.name} of the store of --to; by default the same.", multiple=flag.multiple)
    for flag in ETCD_FLAGS
    if flag.name not in ("etcd-compaction-interval", "etcd-healthcheck-timeout")
)
"""Those of a second etcd. An empty one is as that of the first."""


def with_etcd_flags(command: Any) -> Any:
    """Add the flags to a command."""
    return with_flags(ETCD_FLAGS, command)


def with_other_etcd_flags(command: Any) -> Any:
    """Add those of a second etcd to a command."""
    return with_flags(OTHER_FLAGS, command)


def etcd_of(url: str, raw: Mapping[str, Any], *, other: bool = False) -> EtcdOptions | None:
    """How the etcd of a store is reached; None if it is not in etcd.

    Args:
        url: That of the store.
        raw: The texts of all flags, by their Python identifiers.
        other: Whether the store is in the second etcd.

    Raises:
        click.UsageError: The flags are wrong, or missing.
    """
    if url != ETCD:
        return None
    texts = {flag.name: raw[flag.key] for flag in ETCD_FLAGS}
    if other:
        given = {flag.name.removeprefix(OTHER): raw[flag.key] for flag in OTHER_FLAGS}
        texts |= {name: text for name, text in given.items() if any(text)}
    reader = FlagReader(texts)
    options = read_etcd(reader)
    problems = [*reader.problems, *check_etcd(options)]
    if problems:
        raise click.UsageError("\n".join(problems))
    return options


def as_arguments(raw: Mapping[str, Any]) -> list[str]:
    """The flags that were given, for the command line of another process."""
    found = []
    for flag in ETCD_FLAGS:
        values = raw[flag.key] if flag.multiple else (raw[flag.key],)
        found += [f"--{flag.name}={value}" for value in values if value != flag.default]
    return found
