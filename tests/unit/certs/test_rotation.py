"""The old and the new authority together, then the new certificate, then the old authority out: nobody is turned away."""

from __future__ import annotations

import datetime as dt
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from extapi.certs import keeping
from extapi.certs.directory import Stage, load
from extapi.certs.failure import CertsFailure
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.listener.listener import Listener
from extapi.listener.tls import POLL, ServingCertificate
from tests import certificates
from tests.unit.certs.place import DAY, NAME, Place, PowerFailure, bundle, pem, shakes_hands, stopping_after
from tests.wire.harness import SelectClock


@pytest.fixture
def now(place: Place) -> Place:
    """A directory of today, for clients that have clocks of their own."""
    place.now = dt.datetime.now(dt.UTC)
    place.ensure()
    return place


@pytest.fixture
def later(place: Place) -> Place:
    """A directory that is a hundred days old."""
    place.ensure()
    place.now += 100 * DAY
    return place


def subjects(place: Place) -> list[str]:
    return [each.subject.rfc4514_string() for each in place.authorities()]


# What each step does


def test_begin_trusts_both_and_changes_nothing_that_is_served(later: Place) -> None:
    before = later.contents()
    told = later.begin()
    after = later.contents()
    assert set(after) == {*before, "next-ca.key"}
    assert {name for name in before if after[name] != before[name]} == {"ca.crt"}
    assert subjects(later) == ["CN=extapi serving CA 2030-01-01T00:00:00Z", "CN=extapi serving CA 2030-04-11T00:00:00Z"]
    assert later.paths.next_key.stat().st_mode & 0o777 == 0o600
    assert f"next: put {later.paths.authorities} into the caBundle of each APIService" in told
    assert f"after that: extapi certs rotate switch --dir {later.paths.directory}" in told


def test_switch_serves_for_the_same_names_what_the_new_one_signed(later: Place) -> None:
    later.ensure("further.example.com")
    later.begin()
    old, new = later.authorities()
    told = later.switch()
    for name in (NAME, "pizza", "further.example.com"):
        assert later.trusted(name, by=[new])
        assert not later.trusted(name, by=[old])
    assert set(later.contents()) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert f"next: give {later.paths.certificate} and {later.paths.key} to the server" in told
    assert f"after that: extapi certs rotate finish --dir {later.paths.directory}" in told


def test_finish_trusts_the_new_one_alone_and_it_signs_from_now_on(later: Place) -> None:
    later.begin()
    _, new = later.authorities()
    later.switch()
    told = later.finish()
    assert later.authorities() == [new]
    assert 'removed "CN=extapi serving CA 2030-01-01T00:00:00Z" from' in told
    assert f"next: put {later.paths.authorities} into the caBundle of each APIService" in told
    later.now += 340 * DAY
    later.ensure()
    assert later.trusted(by=[new])


def test_one_rotation_may_follow_another(later: Place) -> None:
    for _ in range(2):
        later.begin()
        later.switch()
        later.finish()
        later.now += DAY
    assert subjects(later) == ["CN=extapi serving CA 2030-04-12T00:00:00Z"]
    assert later.trusted()


def test_what_is_to_be_typed_is_for_the_directory_that_was_named(later: Place) -> None:
    told = later.begin()
    assert f"extapi manifests MODULE:NAME --patch-ca-bundle --ca-file {later.paths.authorities})" in told
    assert f"kubectl apply -k {later.paths.directory.parent})" in later.switch()


# Steps again, and in the wrong order


@pytest.mark.parametrize("done", [("begin",), ("begin", "switch"), ("begin", "switch", "finish")])
def test_a_step_again_changes_nothing_and_says_what_is_next(later: Place, done: tuple[str, ...]) -> None:
    first = [str(getattr(later, step)()) for step in done][-1]
    before = later.contents()
    if done[-1] != "finish":  # after that, another begin is another rotation
        assert "a rotation is under way: tls.crt is signed by" in later.begin()
        assert later.said[1:] == first.split("\n")[1:]
    again = str(getattr(later, done[-1])())
    assert later.contents() == before
    assert again.split("\n")[1:] == first.split("\n")[1:] or again == "no rotation is under way: nothing to do"


def test_the_old_one_is_not_taken_out_while_it_is_needed(later: Place) -> None:
    later.begin()
    before = later.contents()
    with pytest.raises(CertsFailure, match=r"2030-01-01T00:00:00Z\", so .* still needed: first run .* rotate switch"):
        later.finish()
    assert later.contents() == before


def test_nothing_is_switched_before_it_was_begun(later: Place) -> None:
    with pytest.raises(CertsFailure, match=r"no rotation is under way in .*: start one with extapi certs rotate"):
        later.switch()
    assert later.finish() == "no rotation is under way: nothing to do"


def test_there_has_to_be_something_to_rotate(place: Place) -> None:
    for step in (place.begin, place.switch, place.finish):
        with pytest.raises(CertsFailure, match=r"no directory .*: name another one with --dir"):
            step()
    place.paths.directory.mkdir(parents=True)
    with pytest.raises(CertsFailure, match=r"no .*tls\.crt yet"):
        place.begin()
    assert place.contents() == {}


# Meanwhile


def test_a_certificate_is_renewed_by_the_one_that_signed_it(later: Place) -> None:
    old = later.authorities()
    later.begin()
    later.now += 250 * DAY
    told = later.ensure()
    assert "made" in told
    assert later.trusted(by=old)
    assert load(later.paths).stage is Stage.BEGUN
    later.switch()
    new = later.authorities()[1:]
    later.now += 340 * DAY
    later.ensure()
    assert later.trusted(by=new)
    assert load(later.paths).stage is Stage.SWITCHED


def test_each_run_reminds_of_it(later: Place) -> None:
    def reminders() -> str:
        return "\n".join(keeping.warnings(later.paths, load(later.paths), now=later.now))

    assert reminders() == ""
    later.begin()
    assert "nothing to do" in later.ensure()
    assert "a rotation is under way" in reminders()
    assert "extapi certs rotate switch" in reminders()
    later.switch()
    assert "extapi certs rotate finish" in reminders()
    later.finish()
    assert reminders() == ""


def test_a_lost_key_of_the_authority_is_overcome(later: Place) -> None:
    later.paths.authority_key.unlink()
    later.begin()
    assert later.trusted()
    later.switch()
    later.finish()
    later.now += 340 * DAY
    later.ensure()
    assert later.trusted()


@pytest.mark.parametrize("begun", [False, True])
def test_an_expired_authority_that_nobody_trusts_is_replaced_at_once(later: Place, begun: bool) -> None:
    if begun:
        later.begin()
    later.now += 3555 * DAY
    told = later.begin()
    assert "the old one has expired" in told
    assert "next: put" in told
    assert "next: give" in told
    assert subjects(later) == [f"CN=extapi serving CA {'2030-04-11' if begun else '2040-01-04'}T00:00:00Z"]
    assert "nothing to do" in later.ensure()
    assert later.trusted()


def test_the_next_authority_may_be_the_operators(now: Place) -> None:
    mine = certificates.authority("mine")
    now.paths.authorities.write_bytes(now.paths.authorities.read_bytes() + mine.pem)
    now.paths.next_key.write_bytes(mine.key_pem)
    now.switch()
    assert now.trusted(by=[mine.certificate])
    now.finish()
    assert now.authorities() == [mine.certificate]


def test_a_key_for_the_next_authority_that_is_there_already_is_taken(now: Place) -> None:
    now.paths.next_key.write_bytes(certificates.authority("mine").key_pem)
    before = load(now.paths).next_key
    assert before is not None
    now.begin()
    assert now.authorities()[1].public_key() == before.public_key()
    now.switch()
    now.finish()
    assert now.trusted()


def test_an_authority_whose_key_was_put_in_place_by_hand_is_switched_to_when_told(now: Place) -> None:
    (old,) = now.authorities()
    mine = certificates.authority("mine")
    now.paths.authorities.write_bytes(pem(old) + mine.pem)
    now.paths.authority_key.write_bytes(mine.key_pem)
    assert "nothing to do" in now.ensure()
    before = now.contents()
    with pytest.raises(CertsFailure, match=r"is not the key of \"CN=extapi serving CA .*extapi certs rotate switch"):
        now.ensure("a.b")
    assert now.contents() == before
    now.switch()
    assert now.trusted(by=[mine.certificate])
    now.finish()
    assert now.authorities() == [mine.certificate]


def test_the_root_above_an_intermediate_is_not_taken_for_an_old_authority(now: Place) -> None:
    root = certificates.authority("root")
    middle = root.intermediate("middle")
    now.paths.authorities.write_bytes(now.paths.authorities.read_bytes() + middle.pem + root.pem)
    now.paths.next_key.write_bytes(middle.key_pem)
    now.switch()
    now.finish()
    assert now.authorities() == [middle.certificate, root.certificate]
    assert now.trusted(by=[root.certificate])


def test_a_certificate_for_no_host_is_not_made_anew_as_such(now: Place) -> None:
    mine = certificates.authority("mine")
    now.paths.authorities.write_bytes(mine.pem)
    now.paths.authority_key.write_bytes(mine.key_pem)
    mine.leaf("nameless").save(now.paths.directory, "tls")
    with pytest.raises(CertsFailure, match=r'"CN=nameless" in .*tls.crt names no host: make a new one with'):
        now.begin()
    assert set(now.contents()) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    now.ensure()
    now.begin()


# Interruptions


@pytest.mark.parametrize("step", ["begin", "switch", "finish"])
def test_wherever_a_step_is_interrupted_the_server_goes_on_and_the_step_can_be_done_again(
    now: Place, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"begin": [], "switch": [now.begin], "finish": [now.begin, now.switch]}[step]
    after = {"begin": [now.switch, now.finish], "switch": [now.finish], "finish": []}[step]
    steps = 0
    completed = False
    while not completed:
        first = now.authorities()
        for earlier in before:
            earlier()
        serving = ServingCertificate(now.paths.certificate, now.paths.key)
        deployed = bundle(now.paths.authorities)
        with stopping_after(steps, monkeypatch):
            try:
                getattr(now, step)()
            except PowerFailure:
                pass
            else:
                completed = True
        serving.check()
        assert shakes_hands(serving, deployed)
        # As it lies there: with what of it the operator may have applied.
        assert shakes_hands(serving, bundle(now.paths.authorities))
        getattr(now, step)()
        serving.check()
        assert shakes_hands(serving, deployed)
        assert shakes_hands(serving, bundle(now.paths.authorities))
        assert len(now.authorities()) == (1 if step == "finish" else 2)
        for following in after:
            following()
        assert now.authorities() != first  # it is the whole of a rotation
        assert set(now.contents()) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
        assert load(now.paths).stage is Stage.NONE
        steps += 1
    assert steps > 3


def test_an_interrupted_switch_is_completed_by_any_run(now: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    completed = False
    while not completed:
        now.begin()
        with stopping_after(steps, monkeypatch):
            try:
                now.switch()
            except PowerFailure:
                pass
            else:
                completed = True
        now.ensure()
        ServingCertificate(now.paths.certificate, now.paths.key)
        assert now.trusted()
        now.switch()
        now.finish()
        steps += 1
    assert load(now.paths).stage is Stage.NONE


# Under a server


class Running:
    """Our listener with the files of a directory, and kubectl as a client of it: Go's judgement of certificates."""

    def __init__(self, place: Place, home: Path) -> None:
        self.place = place
        self.home = home
        self.reactor = SelectClock()
        serving = ServingCertificate(place.paths.certificate, place.paths.key)
        self.listener = Listener(self.reactor, self.answer, tls=serving, interface="127.0.0.1", port=0)
        self.port = self.listener.start()[1]

    async def answer(self, call: Request) -> Response:
        return Response(200, [("Content-Type", "text/plain")], b"served")

    def ask(self, ca_bundle: str) -> str:
        """What a client says that trusts this caBundle, after a time in which files are looked at again."""
        self.reactor.advance(POLL)
        (self.home / "bundle.crt").write_text(ca_bundle)
        (self.home / "config").write_text("")
        kubectl = subprocess.Popen(
            [
                Path(sysconfig.get_path("scripts")) / "kubectl",
                f"--kubeconfig={self.home / 'config'}",
                f"--server=https://127.0.0.1:{self.port}",
                f"--tls-server-name={NAME}",
                "--token=unused",  # without any credentials it asks for a password
                f"--certificate-authority={self.home / 'bundle.crt'}",
                "get",
                "--raw=/",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            self.reactor.until(lambda: kubectl.poll() is not None)
        finally:
            kubectl.kill()
            output, _ = kubectl.communicate()
        return output

    def close(self) -> None:
        self.reactor.pass_time(self.listener.drain(0))


@pytest.fixture
def running(now: Place, tmp_path: Path) -> Iterator[Running]:
    server = Running(now, tmp_path)
    yield server
    server.close()


def test_a_client_with_the_ca_bundle_of_each_step_always_gets_through(running: Running) -> None:
    place = running.place
    first = applied = bundle(place.paths.authorities)
    assert running.ask(applied) == "served"
    steps: list[Callable[[], str]] = [place.begin, place.switch, place.finish]
    for step in steps:
        step()
        assert running.ask(applied) == "served", step  # the server has the new files, the cluster is not told yet
        applied = bundle(place.paths.authorities)
        assert running.ask(applied) == "served", step
    # The end is not the beginning: it really is another authority.
    assert "certificate signed by unknown authority" in running.ask(first)
