"""``python -m wardle`` in the folder of the examples: the command of sample-apiserver's container, which has no subcommand."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.docs.samples import ROOT

UPSTREAM = [
    "--etcd-servers=http://127.0.0.1:2379",
    "--tls-cert-file=/apiserver.local.config/certificates/tls.crt",
    "--tls-private-key-file=/apiserver.local.config/certificates/tls.key",
    "--audit-log-path=-",
    "--audit-log-maxage=0",
    "--audit-log-maxbackup=0",
]
"""What the container of Kubernetes' own e2e test is given (``test/e2e/apimachinery/aggregator.go``)."""


def wardle(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wardle", *flags],
        cwd=ROOT / "examples",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_takes_the_flags_of_the_upstream_test() -> None:
    """None of them is a mistake; what is missing on this machine is the certificate that a pod would have."""
    done = wardle(*UPSTREAM)
    assert (done.returncode, done.stdout) == (1, "")
    *logged, last = done.stderr.splitlines()
    assert last.startswith("Error: ")
    assert "/apiserver.local.config/certificates/tls.crt: No such file or directory" in last
    events = [json.loads(line) for line in logged]
    assert [event["level"] for event in events] == ["warning", "warning"]
    assert "--etcd-servers" in events[0]["event"]
    assert "--storage" in events[0]["event"]
    assert "No audit policy file provided, no events will be recorded for log backend" in events[1]["event"]


def test_nothing_is_told_of_flags_that_were_not_given() -> None:
    done = wardle(*UPSTREAM[1:3], "--audit-log-maxage=0")
    assert len(done.stderr.splitlines()) == 1


def test_it_is_extapi_serve() -> None:
    done = wardle("--secure-port=x")
    assert (done.returncode, done.stderr) == (1, "Error: --secure-port: 'x' is not a whole number from 0 to 65535\n")


@pytest.mark.parametrize("flag", ["--audit-policy-file=policy.yaml", "--audit-webhook-config-file=kubeconfig"])
def test_a_policy_for_audit_is_refused(flag: str) -> None:
    """Nobody shall believe that events are recorded."""
    done = wardle(flag)
    assert done.returncode == 2
    assert f"No such option '{flag.partition('=')[0]}'" in done.stderr
