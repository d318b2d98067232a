from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from extapi.certs.command import certs
from extapi.certs.directory import Paths
from tests.unit.certs.place import DAY, Place

SERVICE = ("--service=pizza", "--namespace=restaurant")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The working directory, and what the command keeps in it by default."""
    monkeypatch.chdir(tmp_path)
    return Place(Paths(Path("deploy/certs")), now=dt.datetime.now(dt.UTC))


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(certs, arguments)
    assert result.exit_code == status, result.output
    return result


def test_a_whole_life(here: Place) -> None:
    made = run(*SERVICE)
    assert (
        "next: put deploy/certs/ca.crt into the caBundle of each APIService "
        "(extapi manifests MODULE:NAME --patch-ca-bundle)\n"
    ) in made.stdout
    assert "its kubernetes.io/tls Secret (kubectl apply -k deploy)\n" in made.stdout
    assert made.stderr == ""
    assert run(*SERVICE).stdout.startswith("nothing to do\n")
    assert run().stdout.startswith("nothing to do\n")
    assert here.trusted()
    (old,) = here.authorities()
    assert "after that: extapi certs rotate switch --dir deploy/certs" in run("rotate").stdout
    assert "warning: a rotation is under way" in run().stderr
    run("rotate", "switch")
    assert "extapi certs rotate finish" in run("show").stderr
    run("rotate", "finish")
    assert old not in here.authorities()
    assert here.trusted()


def test_hosts_are_added(here: Place) -> None:
    run(*SERVICE, "--host", "localhost", "--host", "PIZZA.example.com", "--host", "*.example.com", "--host", "0:0::1")
    assert here.trusted("pizza.example.com")
    assert here.trusted("below.example.com")
    (names,) = [line for line in run("show").stdout.splitlines() if line.startswith("  names")]
    assert names.endswith("localhost, pizza.example.com, *.example.com, ::1")


def test_the_directory_may_be_named_before_and_after_a_subcommand(here: Place) -> None:
    run(*SERVICE, "--dir", "a/b")
    assert run("--dir", "a/b", "show").stdout == run("show", "--dir", "a/b").stdout != ""
    run("--dir", "a/b", "rotate")
    run("rotate", "switch", "--dir", "a/b")
    assert not Path("deploy").exists()


def test_it_renews_as_early_as_it_is_told(here: Place) -> None:
    here.now -= 100 * DAY
    here.ensure()
    assert "nothing to do" in run("--renew-before", "264d").stdout
    assert "nothing to do" in run("--renew-before", "264d23h").stdout
    assert "made deploy/certs/tls.crt" in run("--renew-before", "265d1h").stdout
    assert "nothing to do" in run("--renew-before", "12h").stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--service=pizza",), "--service and --namespace must be given together"),
        (("--namespace=restaurant",), "--service and --namespace must be given together"),
        (("--host=a",), "--host needs --service and --namespace"),
        (("--service=Pizza", "--namespace=a"), "a lowercase RFC 1123 label must consist of"),
        (("--service=pizza", "--namespace=a.b"), "'a.b': must not contain dots"),
        ((*SERVICE, "--host=a_b"), "'a_b' is neither a DNS name nor an IP address"),
        ((*SERVICE, "--host=pizza:443"), "'pizza:443' is neither a DNS name nor an IP address"),
        ((*SERVICE, "--host=a.*.b"), "'a.*.b' is neither a DNS name nor an IP address"),
        ((*SERVICE, "--host=fe80::1%eth0"), "'fe80::1%eth0' has a zone, which a certificate cannot contain"),
        (("--renew-before=30",), "'30' is not a time in days and hours, such as 30d or 12h"),
        (("--renew-before=",), "'' is not a time in days and hours, such as 30d or 12h"),
        (("--renew-before=٣d",), "'٣d' is not a time in days and hours, such as 30d or 12h"),
        (("--renew-before=1y",), "'1y' is not a time in days and hours, such as 30d or 12h"),
        (("--renew-before=365d",), "a serving certificate is valid for 365d: with 365d every run would make a new one"),
        (("rotate", "forward"), "'forward' is not one of 'begin', 'switch', 'finish'"),
        (("--service=pizza", "rotate"), "--service does not apply to rotate"),
        (("--host=a", "show"), "--host does not apply to show"),
        (("--renew-before=1d", "show"), "--renew-before does not apply to show"),
    ],
)
def test_a_command_line_that_cannot_be_understood(here: Place, arguments: tuple[str, ...], text: str) -> None:
    words = " ".join(run(*arguments, status=2).stderr.replace("│", " ").split())
    assert text in words
    assert not Path("deploy").exists()


def test_a_failure_is_one_line(here: Place) -> None:
    assert run(status=1).stderr == (
        "Error: there is no deploy/certs/tls.crt yet: name its Service with --service and --namespace\n"
    )
    assert run("show", status=1).stderr.startswith("Error: there is nothing in deploy/certs: make certificates with ")
    run(*SERVICE)
    here.paths.certificate.write_text("damaged")
    assert run(status=1).stderr.startswith("Error: deploy/certs/tls.crt holds no certificates in PEM (")
    assert run("rotate", status=1).stderr.startswith("Error: deploy/certs/tls.crt holds no certificates in PEM (")
    assert "deploy/certs/tls.crt holds no certificates in PEM (" in run("show", status=1).stdout


def test_what_cannot_be_written_is_named(here: Place) -> None:
    Path("deploy").write_text("a file")
    assert run(*SERVICE, status=1).stderr == "Error: deploy/certs: Not a directory\n"


def test_a_full_disk_is_told(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    assert run(*SERVICE, status=1).stderr == "Error: deploy/certs: No space left on device\n"


def test_modes_are_warned_of(here: Place) -> None:
    run(*SERVICE)
    here.paths.key.chmod(0o644)
    warning = "warning: deploy/certs/tls.key can be read by others: chmod 600 deploy/certs/tls.key\n"
    for command in ((), ("show",), ("rotate",)):
        assert warning in run(*command).stderr
