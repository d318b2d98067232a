"""The flags of ``extapi webhooks``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extapi.server.flag import OptionErrors
from extapi.server.options import FLAGS as SERVE
from extapi.webhooks.options import FLAGS, parse_options

NEEDED = {"tls-cert-file": "a.crt", "tls-private-key-file": "a.key"}


def raw(**given: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        flag.name: [flag.default] if flag.multiple else flag.default == "true" if flag.boolean else flag.default
        for flag in FLAGS
    }
    return {**defaults, **NEEDED, **{name.replace("_", "-"): value for name, value in given.items()}}


def test_defaults() -> None:
    options = parse_options(raw())
    assert (options.bind_address, options.secure_port, options.request_timeout) == ("0.0.0.0", 8443, 30.0)  # noqa: S104
    assert (options.client_ca_file, options.client_allowed_names, options.kubeconfig) == (None, (), None)
    assert options.leader.elect
    assert options.always_allow_paths == ("/healthz", "/readyz", "/livez")


def test_values() -> None:
    options = parse_options(
        raw(
            secure_port="0", client_ca_file="ca.crt", client_allowed_names=["a,b", "c"], kubeconfig="config",
            request_timeout="5s", shutdown_delay_duration="1m", tls_min_version="VersionTLS13",
        )
    )  # fmt: skip
    assert (options.secure_port, options.client_ca_file) == (0, Path("ca.crt"))
    assert options.client_allowed_names == ("a", "b", "c")
    assert (options.request_timeout, options.shutdown_delay, options.kubeconfig) == (5.0, 60.0, Path("config"))


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ({"tls_cert_file": ""}, ["--tls-cert-file and --tls-private-key-file are required"]),
        ({"client_allowed_names": ["a"]}, ["--client-allowed-names needs --client-ca-file"]),
        (
            {"leader_elect_lease_duration": "10s"},
            ["--leader-elect: leaseDuration must be greater than renewDeadline"],
        ),
        (
            {"authorization_always_allow_paths": ["/a*b"]},
            ["--authorization-always-allow-paths: '/a*b': only a trailing * is allowed"],
        ),
        (
            {"secure_port": "x", "request_timeout": "0s", "tls_min_version": "1"},
            ["--secure-port: 'x'", "--tls-min-version: '1' is not one of", "--request-timeout: must not be zero"],
        ),
    ],
)
def test_all_mistakes_are_said_together(given: dict[str, Any], texts: list[str]) -> None:
    with pytest.raises(OptionErrors) as raised:
        parse_options(raw(**given))
    assert len(raised.value.problems) == len(texts)
    assert all(found.startswith(text) for found, text in zip(raised.value.problems, texts, strict=True))


def test_flags_that_extapi_serve_has_too_have_its_defaults() -> None:
    """But for the port, since nobody else is asked on 443 in a pod, and for the time, which kube-apiserver bounds.

    And for the election: webhooks keep nothing, so that any number of them may run.
    """
    theirs = {flag.name: flag.default for flag in SERVE}
    ours = {flag.name: flag.default for flag in FLAGS if flag.name in theirs}
    assert {name for name, default in ours.items() if default != theirs[name]} == {
        "secure-port",
        "request-timeout",
        "leader-elect",
    }
