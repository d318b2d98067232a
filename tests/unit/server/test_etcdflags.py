"""The flags of etcd at the commands beside ``extapi serve``, also of a second etcd, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from extapi.cli import main
from extapi.server.etcdflags import ETCD_FLAGS, OTHER_FLAGS, as_arguments, etcd_of
from extapi.storage.etcd.endpoints import EtcdOptions


def raw(**given: Any) -> dict[str, Any]:
    """As click passes them."""
    flags = [*ETCD_FLAGS, *OTHER_FLAGS]
    return {flag.key: (flag.default,) if flag.multiple else flag.default for flag in flags} | given


def test_nothing_is_asked_of_a_store_elsewhere() -> None:
    assert etcd_of("sqlite:///x", raw()) is None


def test_the_second_etcd_is_as_the_first_but_for_what_is_given() -> None:
    given = raw(
        etcd_servers=("https://a:2379,https://b:2379",),
        etcd_prefix="/one",
        etcd_cafile="ca.crt",
        to_etcd_prefix="/two",
    )
    servers = ("https://a:2379", "https://b:2379")
    assert etcd_of("etcd:", given) == EtcdOptions(servers=servers, prefix="/one", cafile=Path("ca.crt"))
    assert etcd_of("etcd:", given, other=True) == EtcdOptions(servers=servers, prefix="/two", cafile=Path("ca.crt"))
    assert as_arguments(given) == [
        "--etcd-servers=https://a:2379,https://b:2379",
        "--etcd-prefix=/one",
        "--etcd-cafile=ca.crt",
    ]


def test_everything_that_is_wrong_is_told() -> None:
    with pytest.raises(click.UsageError) as caught:
        etcd_of("etcd:", raw(etcd_prefix="/registry", etcd_healthcheck_timeout="0s"))
    assert caught.value.message.splitlines() == [
        "--etcd-healthcheck-timeout: must not be zero",
        "--etcd-servers must be specified",
        "--etcd-prefix: /registry is where kube-apiserver keeps its objects; choose another one",
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["storage", "status", "etcd:"], "--etcd-servers must be specified"),
        (["storage", "copy", "--from=etcd:", "--to=etcd:", "--etcd-servers=http://a"], "name the same store"),
        (["dev", "--storage=etcd:"], "--etcd-servers must be specified"),
        (["doctor", "--storage=etcd:"], "--etcd-servers must be specified"),
    ],
)
def test_commands_refuse_before_they_begin(words: list[str], why: str) -> None:
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, why in result.output) == (2, True), result.output
