"""The etcd backend keeps the contract on a real etcd, with TLS and without, and while others write to it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Compacted, Unavailable
from extapi.storage.etcd import wire
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.etcd.channel import Channel
from extapi.storage.etcd.dialling import dialled
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdOptions
from extapi.testing.backend_log import LogStories
from extapi.testing.backends import BackendConformance
from extapi.testing.stories import Follower, read_until, refusal
from tests.conformance.onetcd import OnEtcd
from tests.conformance.users import with_users
from tests.etcds import Etcd, etcd

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd")) as member:
        yield member


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd"), tls=True) as member:
        yield member


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd"), tls=True, version="3.5") as member:
        yield member


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    arguments = ["--bcrypt-cost=4", "--auth-token-ttl=1"]
    with etcd(tmp_path_factory.mktemp("etcd"), arguments=arguments) as member:
        (member.directory / "password").write_text("secret")

        async def prepare(reactor: Any) -> None:
            admin = Channel(reactor, EtcdAccess(member.options("/")))
            await with_users(admin, "/test")
            admin.close()

        with private_reactor() as reactor:
            drive(reactor, prepare(reactor))
        yield member


class TestPlain(OnEtcd, BackendConformance):
    @pytest.fixture(autouse=True)
    def _place(self, plain: Etcd) -> None:
        self.use(plain)


class TestOlder(OnEtcd, BackendConformance):
    """The oldest line that is supported, over TLS."""

    @pytest.fixture(autouse=True)
    def _place(self, older: Etcd) -> None:
        self.use(older)


class TestWithUsers(OnEtcd, BackendConformance):
    """A user with a password, whose tokens end after a second in which it is silent."""

    @pytest.fixture(autouse=True)
    def _place(self, guarded: Etcd) -> None:
        self.use(guarded)

    def options(self) -> EtcdOptions:
        return replace(super().options(), username="extapi", password_file=self.etcd.directory / "password")


class TestSecured(OnEtcd, LogStories):
    """What depends on timing, which TLS changes: the tails."""

    @pytest.fixture(autouse=True)
    def _place(self, secured: Etcd) -> None:
        self.use(secured)


def test_others_compact_the_same_etcd(plain: Etcd) -> None:
    """As kube-apiserver, etcd itself or another API do: what they forgot is told, and where one can begin again."""

    async def tale(reactor: Any) -> None:
        ours, others = (EtcdBackend(reactor, plain.options(f"/test/{uuid.uuid4().hex}")) for _ in range(2))
        begin = await ours.revision()
        made = await ours.commit(b"/a", b"1", expected=0)
        live = Follower(ours.tail(begin))
        await live.reached(made)
        await others.commit(b"/b", b"1", expected=0)
        to = await others.revision()
        assert await others.compact(to, expected=await others.oldest()) == to
        assert begin < made < to
        for call in (ours.page(b"", at=made, after=b"", limit=0), ours.tail(begin).__anext__()):
            assert (await refusal(call, Compacted)).oldest == to
        assert await ours.oldest() == to
        page = await ours.page(b"", at=to, after=b"", limit=0)
        assert [(entry.key, entry.revision) for entry in page.entries] == [(b"/a", made)]
        changed = await ours.commit(b"/a", b"2", expected=made)
        assert [change.revision for change in live.changes] == [made, changed]
        assert [change.revision for change in await read_until(ours.tail(to), changed)] == [changed]
        # Our own compaction follows, and is not confused by the revision that others forced on us.
        assert await ours.compact(changed, expected=to) == changed
        await ours.close()
        await others.close()

    with private_reactor() as reactor:
        drive(reactor, tale(reactor))


def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    """Whoever holds it may not be the etcd that was named, whichever authority vouches for it."""

    async def tale(reactor: Any, member: Etcd) -> None:
        assert "its certificate is for another name" in await unreachable(reactor, member.options("/x"))

    with etcd(tmp_path, tls=True, names=["etcd.example"]) as member, private_reactor() as reactor:
        drive(reactor, tale(reactor, member))


def test_a_client_without_a_certificate_is_refused(secured: Etcd) -> None:
    with private_reactor() as reactor:
        why = drive(reactor, unreachable(reactor, secured.options("/x", certfile=None, keyfile=None)))
        assert "TLS: " in why


@pytest.mark.parametrize("member", ["plain", "secured"])
def test_what_is_written_is_sent_at_once(request: pytest.FixtureRequest, member: str) -> None:
    """Nagle's algorithm would keep a call behind the answer to a PING until etcd has acknowledged that, up to 40 ms later."""

    async def tale(reactor: Any, access: EtcdAccess) -> None:
        connection, _ = await dialled(reactor, access, access.endpoints[0], lambda *_: None)
        assert connection.transport.getTcpNoDelay()
        connection.close()

    with private_reactor() as reactor:
        drive(reactor, tale(reactor, EtcdAccess(request.getfixturevalue(member).options("/x"))))


async def unreachable(reactor: Any, options: EtcdOptions) -> str:
    """Why etcd cannot be used."""
    channel = Channel(reactor, EtcdAccess(options))
    error = await refusal(channel.call(wire.RANGE, b"", repeatable=True, seconds=3), Unavailable)
    channel.close()
    return str(error)
