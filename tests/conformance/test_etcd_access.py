"""Who may use a real etcd: users with passwords and tokens, certificates that are replaced; and an etcd that is full."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Compacted, NotFreed, StoreRefused, Unavailable
from extapi.storage.etcd import wire
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.etcd.channel import Channel
from extapi.storage.etcd.endpoints import EtcdAccess
from extapi.storage.etcd.survey import survey
from extapi.storage.etcd.times import EtcdTimes
from extapi.storage.sqlite import SqliteBackend
from extapi.storetool.filling import Filling
from extapi.storetool.source import LiveSource
from extapi.storetool.status import lines, status_of
from extapi.storetool.stores import NamedStore
from extapi.testing.stories import Follower, read_until, refusal
from tests.certificates import CLIENT, SERVER, authority
from tests.conformance.users import administered, signed_tokens, with_users
from tests.etcds import Etcd, etcd

pytestmark = pytest.mark.kubernetes
PREFIX = "/extapi/pizza"
SOON = EtcdTimes(call=0.5)


def run(tale: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    with private_reactor() as reactor:
        drive(reactor, tale(reactor), timeout=60)


async def again(call: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """The result, once etcd is there again."""
    while True:
        try:
            return await call()
        except Unavailable:
            continue


def test_a_user_with_a_password(tmp_path: Path) -> None:
    """Who may use the prefix alone can do all that a store does. Tokens are lost, and passwords change."""
    password, roots = tmp_path / "password", tmp_path / "root"
    password.write_text("secret\n")
    roots.write_text("toor")

    async def tale(reactor: Any, member: Etcd) -> None:
        admin = Channel(reactor, EtcdAccess(member.options("/")))
        await with_users(admin, PREFIX)
        admin.close()
        store = EtcdBackend(reactor, member.options(PREFIX, username="extapi", password_file=password))
        begin = await store.oldest()
        reader = Follower(store.tail(begin))
        made = await store.commit(b"/a", b"1", expected=0)
        assert await store.compact(made, expected=begin) == made  # as 3.6.8 lets it; see the next test
        assert [entry.revision for entry in (await store.page(b"", at=None, after=b"", limit=0)).entries] == [made]
        # Other prefixes are not its own, and without a password nothing is.
        other = EtcdBackend(reactor, member.options("/extapi/other", username="extapi", password_file=password))
        assert "permission denied" in str(await refusal(other.revision(), Unavailable))
        nobody = EtcdBackend(reactor, member.options(PREFIX, times=SOON))
        assert "user name is empty" in str(await refusal(nobody.revision(), Unavailable))
        # What 3.6.8 says of itself, it says to root alone.
        named = [{"username": "extapi", "password_file": password}, {"username": "root", "password_file": roots}]
        ((own,), (whole,)) = [await survey(reactor, member.options(PREFIX, **each)) for each in named]
        assert (own.hidden, own.failure, own.seconds is not None) == (True, "", True)
        assert (whole.hidden, whole.leads, whole.size > 0) == (False, True, True)
        (row,) = [
            line
            for line in lines(await status_of(NamedStore("etcd:", member.options(PREFIX, **named[0])), reactor))
            if line.startswith(member.url)
        ]
        assert row.endswith("it tells its version, size and alarms to root alone")
        # A new password, in etcd and in the file: etcd forgets the token, and what was refused for that is done.
        admin = Channel(reactor, EtcdAccess(member.options("/", username="root", password_file=roots)))
        await administered(admin, "UserChangePassword", b"extapi", b"other")
        password.write_text("other")
        changed = await store.commit(b"/a", b"2", expected=made)
        await reader.reached(changed)
        assert [change.value for change in reader.changes] == [b"1", b"2"]
        # A password that is wrong is named as the reason.
        await administered(admin, "UserChangePassword", b"extapi", b"third")
        wrong = EtcdBackend(reactor, member.options(PREFIX, username="extapi", password_file=password, times=SOON))
        assert "invalid user ID or password" in str(await refusal(wrong.get(b"/a"), Unavailable))
        password.write_text("third")
        # Simple tokens are in the member's memory alone.
        member.kill()
        member.start()
        last = await again(lambda: store.commit(b"/b", b"1", expected=0))
        assert last > changed
        await refusal(reader.done, Unavailable)
        for each in (store, other, nobody, wrong):
            await each.close()
        admin.close()

    with etcd(tmp_path, arguments=["--bcrypt-cost=4"]) as member:
        run(lambda reactor: tale(reactor, member))


def test_who_may_not_compact_forgets_all_the_same(tmp_path: Path) -> None:
    """Newer etcds let only root compact. The past is gone for clients then, and etcd keeps it; a store can be filled."""
    password = tmp_path / "password"
    password.write_text("secret\n")

    async def tale(reactor: Any, member: Etcd) -> None:
        admin = Channel(reactor, EtcdAccess(member.options("/")))
        await with_users(admin, PREFIX)
        admin.close()
        options = member.options(PREFIX, username="extapi", password_file=password)
        store, other = EtcdBackend(reactor, options), EtcdBackend(reactor, options)
        begin = await store.oldest()
        made = await store.commit(b"/a", b"1", expected=0)
        last = await store.commit(b"/a", b"2", expected=made)
        assert "lets only root compact it" in str(await refusal(store.compact(last, expected=begin), NotFreed))
        for each in (store, other):
            assert await each.oldest() == last
            await refusal(each.page(b"", at=made, after=b"", limit=0), Compacted)
        source = SqliteBackend(reactor, tmp_path / "source.db")
        await source.commit(b"/b", b"3", expected=0)
        done = await Filling(store, await LiveSource.of("source", source), replace=True).run(lambda *_: None)
        assert (done.entries, done.deleted) == (1, 1)
        assert "lets only root compact it" in done.note
        assert await other.oldest() == done.revision
        for engine in (store, other, source):
            await engine.close()

    with etcd(tmp_path, arguments=["--bcrypt-cost=4"], version="3.5") as member:
        run(lambda reactor: tale(reactor, member))


@pytest.mark.parametrize("kind", ["simple", "jwt"])
def test_every_kind_of_stream_takes_a_new_token(tmp_path: Path, kind: str) -> None:
    """As clientv3 does: a log that begins again, the question of what is compacted, and a list that is."""
    password, roots = tmp_path / "password", tmp_path / "root"
    password.write_text("secret\n")
    roots.write_text("toor")

    async def tale(reactor: Any, member: Etcd) -> None:
        admin = Channel(reactor, EtcdAccess(member.options("/")))
        await with_users(admin, PREFIX)
        admin.close()
        admin = Channel(reactor, EtcdAccess(member.options("/", username="root", password_file=roots)))

        async def end_tokens() -> None:
            if kind == "jwt":
                await administered(admin, "UserAdd", uuid.uuid4().hex.encode(), b"x")
            else:
                await administered(admin, "UserChangePassword", b"extapi", b"secret")

        store = EtcdBackend(reactor, member.options(PREFIX, username="extapi", password_file=password))
        begin = await store.oldest()
        first = Follower(store.tail(begin))
        made = await store.commit(b"/a", b"1", expected=0)
        await first.reached(made)
        await end_tokens()
        assert [change.revision for change in await read_until(store.tail(begin), made)] == [made]
        # Others compact; a list of what is gone then is told so, though the connection of watches has an old token again.
        last = await store.commit(b"/a", b"2", expected=made)
        await admin.call(wire.COMPACT, wire.compaction_request(last), repeatable=True)
        await end_tokens()
        gone = await refusal(store.page(b"", at=made, after=b"", limit=0), Compacted)
        assert gone.oldest == last
        await store.close()
        admin.close()

    arguments = ["--bcrypt-cost=4", *([signed_tokens(tmp_path)] if kind == "jwt" else [])]
    with etcd(tmp_path, arguments=arguments) as member:
        run(lambda reactor: tale(reactor, member))


def test_users_are_switched_off_and_on(tmp_path: Path) -> None:
    """Without users there are no tokens; who has a password goes on, as clientv3 does, and gets one again later."""
    password, roots = tmp_path / "password", tmp_path / "root"
    password.write_text("secret\n")
    roots.write_text("toor")

    async def tale(reactor: Any, member: Etcd) -> None:
        admin = Channel(reactor, EtcdAccess(member.options("/")))
        await with_users(admin, PREFIX)
        admin.close()
        admin = Channel(reactor, EtcdAccess(member.options("/", username="root", password_file=roots)))
        await administered(admin, "AuthDisable")
        store = EtcdBackend(reactor, member.options(PREFIX, username="extapi", password_file=password))
        begin = await store.oldest()
        made = await store.commit(b"/a", b"1", expected=0)
        await administered(admin, "AuthEnable")
        changed = await store.commit(b"/a", b"2", expected=made)
        reader = Follower(store.tail(begin))
        await reader.reached(changed)
        await store.close()
        admin.close()

    with etcd(tmp_path, arguments=["--bcrypt-cost=4"]) as member:
        run(lambda reactor: tale(reactor, member))


def test_all_certificates_are_replaced_while_the_store_is_open(tmp_path: Path) -> None:
    """The authority, etcd's certificate, and the client's: the next connection uses what is in the files then."""

    async def tale(reactor: Any, member: Etcd) -> None:
        store = EtcdBackend(reactor, member.options(PREFIX))
        made = await store.commit(b"/a", b"1", expected=0)
        ca = authority("new-etcd-ca")
        (tmp_path / "ca.crt").write_bytes(ca.pem)
        ca.leaf("etcd", san=("127.0.0.1",), eku=(*SERVER, *CLIENT)).save(tmp_path, "server")
        ca.leaf("extapi", eku=CLIENT).save(tmp_path, "client")
        member.kill()
        member.start()
        assert await again(lambda: store.commit(b"/a", b"2", expected=made)) > made
        await store.close()

    with etcd(tmp_path, tls=True) as member:
        run(lambda reactor: tale(reactor, member))


def test_an_etcd_that_is_full(tmp_path: Path) -> None:
    """Writes are refused with its reason, and not done; but the one with which it becomes full may be both."""

    async def tale(reactor: Any, member: Etcd) -> None:
        store = EtcdBackend(reactor, member.options(PREFIX))
        revision = 0
        refused: Unavailable | None = None
        while refused is None:
            try:
                revision = await store.commit(b"/a", b"x" * 1_000_000, expected=revision)
            except Unavailable as error:
                refused = error
        assert type(refused) is StoreRefused
        assert "database space exceeded" in str(refused)
        entry = await store.get(b"/a")
        assert entry is not None
        assert revision <= entry.revision <= revision + 1
        assert await refusal(store.commit(b"/a", b"y", expected=entry.revision), StoreRefused) is not None
        after = await store.get(b"/a")
        assert after == entry
        assert await store.revision() >= entry.revision
        await store.close()

    with etcd(tmp_path, arguments=["--quota-backend-bytes=4194304"]) as member:
        run(lambda reactor: tale(reactor, member))
