"""Following the ConfigMap (behaviour A1-A9)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogPublisher

from extapi.authentication.authenticator import AuthenticationError
from extapi.authentication.configmap import AuthenticationConfigMap, LookupFailed, header_names, subject_flag
from extapi.authentication.requestheader import RequestHeader
from extapi.authentication.trust import HeaderNames, TrustSettings
from extapi.client.kube import Client
from extapi.client.transport import ClientRequest, TransportError
from tests.certificates import CLIENT, authority
from tests.unit.client.building import call, now, run
from tests.unit.client.kubernetes import Answer, Kubernetes, status

CLIENTS, PROXIES = authority("clients").pem.decode(), authority("proxies").pem.decode()

DATA = {
    "client-ca-file": CLIENTS,
    "requestheader-client-ca-file": PROXIES,
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-allowed-names": '["front-proxy-client"]',
}
NAMES = HeaderNames(("x-remote-user",), (), ("x-remote-group",), ("x-remote-extra-",), ("front-proxy-client",))


def _configmap(data: dict[str, str], version: str = "1") -> dict[str, Any]:
    return {
        "metadata": {
            "name": "extension-apiserver-authentication",
            "namespace": "kube-system",
            "resourceVersion": version,
        },
        "data": data,
    }


class _Cluster:
    """The ConfigMap as it is now, and the watch on it."""

    def __init__(self, first: Any) -> None:
        self.first = first
        self.watch = Answer(200, stream=True)
        self.kubernetes = Kubernetes(self._react)
        self.settings = TrustSettings()

    def _react(self, request: ClientRequest) -> Any:
        query = dict(request.query)
        if "watch" in query:
            return self.watch
        if "fieldSelector" not in query:
            return self.first if isinstance(self.first, Answer | Exception) else Answer(200, _configmap(self.first))
        items = [_configmap(self.first)] if isinstance(self.first, dict) else []
        return Answer(200, {"items": items, "metadata": {"resourceVersion": "1"}})

    def follower(self, **options: Any) -> AuthenticationConfigMap:
        return AuthenticationConfigMap(
            Client(self.kubernetes), self.settings, clock=now(), jitter=lambda: 0.0, **options
        )

    def change(self, data: dict[str, str], version: str) -> None:
        self.watch.send("MODIFIED", _configmap(data, version))


def test_the_first_read_is_one_get() -> None:
    cluster = _Cluster(DATA)
    run(cluster.follower().load())
    (request,) = cluster.kubernetes.requests
    assert request.path == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    assert cluster.settings.names == NAMES
    assert cluster.settings.client_ca is not None
    assert cluster.settings.client_ca.pem == CLIENTS.encode()
    assert cluster.settings.proxy_ca is not None
    assert cluster.settings.proxy_ca.pem == PROXIES.encode()
    assert cluster.settings.generation > 0


def test_the_watch_is_of_that_one_name() -> None:
    cluster = _Cluster(DATA)
    follower = cluster.follower()
    follower.start()
    listed, watched = cluster.kubernetes.requests
    for request in (listed, watched):
        assert request.path == "/api/v1/namespaces/kube-system/configmaps"
        assert dict(request.query)["fieldSelector"] == "metadata.name=extension-apiserver-authentication"
    assert dict(watched.query)["resourceVersion"] == "1"
    follower.stop()


def test_it_may_come_later() -> None:
    cluster = _Cluster(status(404, "NotFound"))
    follower = cluster.follower()
    run(follower.load())
    assert cluster.settings.names == HeaderNames()
    follower.start()
    cluster.watch.send("ADDED", _configmap(DATA, "2"))
    assert cluster.settings.names == NAMES
    follower.stop()


def test_forbidden_names_the_role() -> None:
    cluster = _Cluster(status(403, "Forbidden", "cannot get"))
    with pytest.raises(LookupFailed, match="--role=extension-apiserver-authentication-reader"):
        run(cluster.follower().load())


def test_the_role_is_for_who_was_refused() -> None:
    refused = status(403, "Forbidden", 'User "system:serviceaccount:restaurant:pizza" cannot get it')
    with pytest.raises(LookupFailed, match="--serviceaccount=restaurant:pizza"):
        run(_Cluster(refused).follower().load())


@pytest.mark.parametrize(
    "first", [status(404, "NotFound"), {"client-ca-file": CLIENTS}, {**DATA, "requestheader-client-ca-file": " \n"}]
)
def test_an_aggregation_layer_that_is_not_configured_is_told(first: Any) -> None:
    """Step 1 of a server's start: without it nothing that kube-apiserver proxies can be believed."""
    (line,) = _told(first)
    assert line["log_level"] is LogLevel.error
    text = formatEvent(line)
    assert "aggregation layer is not configured" in text
    assert "kube-system/extension-apiserver-authentication" in text
    # The flags of "Configure the Aggregation Layer".
    for flag in (
        "--requestheader-client-ca-file",
        "--requestheader-allowed-names",
        "--requestheader-username-headers",
        "--requestheader-group-headers",
        "--requestheader-extra-headers-prefix",
        "--proxy-client-cert-file",
        "--proxy-client-key-file",
    ):
        assert flag in text


def test_one_that_is_configured_later_is_told_and_counts() -> None:
    cluster = _Cluster({"client-ca-file": CLIENTS})
    follower = cluster.follower()
    lines: list[Any] = []
    observer = cast("ILogObserver", lines.append)
    globalLogPublisher.addObserver(observer)
    try:
        run(follower.load())
        follower.start()
        cluster.change({"client-ca-file": CLIENTS, "unrelated": "x"}, "2")
        cluster.change(DATA, "3")
        follower.stop()
    finally:
        globalLogPublisher.removeObserver(observer)
    told = [formatEvent(line) for line in lines if "aggregation layer" in formatEvent(line)]
    assert len(told) == 2
    assert told[1] == "the cluster's aggregation layer is configured now"
    assert cluster.settings.proxy_ca is not None


def test_one_that_is_configured_is_not_talked_about() -> None:
    assert _told(DATA) == []


def test_nor_is_one_that_flags_stand_in_for() -> None:
    assert _told({"client-ca-file": CLIENTS}, proxies=False) == []


def _told(first: Any, **options: Any) -> list[Any]:
    """The errors in the log."""
    lines: list[Any] = []
    observer = cast("ILogObserver", lines.append)
    globalLogPublisher.addObserver(observer)
    try:
        run(_Cluster(first).follower(**options).load())
    finally:
        globalLogPublisher.removeObserver(observer)
    return [line for line in lines if line["log_level"] >= LogLevel.warn]


@pytest.mark.parametrize("first", [status(500, "InternalError"), TransportError("refused")])
def test_another_failure_is_one(first: Any) -> None:
    with pytest.raises(LookupFailed, match="unable to load configmap kube-system/extension-apiserver-authentication"):
        run(_Cluster(first).follower().load())


def test_a_tolerated_failure_switches_the_front_proxy_off_for_good() -> None:
    cluster = _Cluster(status(500, "InternalError"))
    follower = cluster.follower()
    run(follower.load(tolerate=True))
    follower.start()
    cluster.watch.send("ADDED", _configmap(DATA, "2"))
    assert cluster.settings.proxy_ca is None
    assert cluster.settings.names == HeaderNames()
    assert cluster.settings.client_ca is not None
    follower.stop()


def test_changes_count_at_once_and_raise_the_generation() -> None:
    cluster = _Cluster(DATA)
    follower = cluster.follower()
    run(follower.load())
    follower.start()
    generation = cluster.settings.generation
    cluster.change({**DATA, "unrelated": "x"}, "2")
    assert cluster.settings.generation == generation
    cluster.change({**DATA, "requestheader-allowed-names": '["other"]'}, "3")
    assert cluster.settings.names.allowed == ("other",)
    assert cluster.settings.generation > generation
    follower.stop()


@pytest.mark.parametrize(
    "change",
    [
        {"requestheader-client-ca-file": ""},
        {"requestheader-client-ca-file": "nonsense"},
        {"requestheader-username-headers": "[1]"},
        {"requestheader-username-headers": "nonsense"},
        {"client-ca-file": "nonsense"},
    ],
)
def test_the_last_good_state_stays(change: dict[str, str]) -> None:
    cluster = _Cluster(DATA)
    follower = cluster.follower()
    run(follower.load())
    follower.start()
    settings = cluster.settings
    before = (settings.client_ca, settings.proxy_ca, settings.names, settings.generation)
    cluster.change({**DATA, **change}, "2")
    assert (settings.client_ca, settings.proxy_ca, settings.names, settings.generation) == before
    follower.stop()


@pytest.fixture
def followed() -> Iterator[tuple[_Cluster, list[Any]]]:
    """A ConfigMap that is followed, and what is logged about it from now on, warnings and errors."""
    cluster = _Cluster(DATA)
    follower = cluster.follower()
    run(follower.load())
    follower.start()
    lines: list[Any] = []
    observer = cast("ILogObserver", lambda line: lines.append(line) if line["log_level"] >= LogLevel.warn else None)
    globalLogPublisher.addObserver(observer)
    yield cluster, lines
    globalLogPublisher.removeObserver(observer)
    follower.stop()


@pytest.mark.parametrize("value", [None, "", "null", "[]", " [ ] "])
def test_allowed_names_that_go_away_stay_in_force(value: str | None, followed: tuple[_Cluster, list[Any]]) -> None:
    """No names are any name (behaviour A17): who edits the ConfigMap by mistake must not open the server to every such name."""
    cluster, lines = followed
    changed = {key: text for key, text in DATA.items() if key != "requestheader-allowed-names" or value is not None}
    if value is not None:
        changed["requestheader-allowed-names"] = value
    generation = cluster.settings.generation
    cluster.change(changed, "2")
    assert (cluster.settings.names, cluster.settings.generation) == (NAMES, generation)
    cluster.change({**changed, "unrelated": "x"}, "3")
    (line,) = lines  # once
    text = formatEvent(line)
    assert text.startswith(
        "kube-system/extension-apiserver-authentication: the last good state stays in force: "
        "requestheader-allowed-names is empty now: "
    )
    assert "front-proxy-client" in text
    assert "requestheader-allowed-names (empty now)" in cluster.settings.note()
    cluster.change(DATA, "4")
    assert cluster.settings.note() == ""
    cluster.change(changed, "5")
    assert len(lines) == 2


@pytest.mark.parametrize("key", ["client-ca-file", "requestheader-client-ca-file"])
def test_an_authority_that_goes_away_stays_in_force_and_is_noted(
    key: str, followed: tuple[_Cluster, list[Any]]
) -> None:
    cluster, lines = followed
    settings = cluster.settings
    before = (settings.client_ca, settings.proxy_ca)
    cluster.change({name: text for name, text in DATA.items() if name != key}, "2")
    assert (settings.client_ca, settings.proxy_ca) == before
    assert f"{key} (empty now)" in settings.note()
    assert f"{key} is empty now: its last authorities stay in force" in formatEvent(lines[0])
    cluster.change(DATA, "3")
    assert settings.note() == ""


def test_a_front_proxy_is_refused_by_name_after_its_list_became_empty(followed: tuple[_Cluster, list[Any]]) -> None:
    """The hole itself: with an empty list every certificate of that authority speaks for anybody."""
    cluster, _ = followed
    proxies = authority("other-proxies")
    cluster.change(
        {**DATA, "requestheader-client-ca-file": proxies.pem.decode(), "requestheader-allowed-names": ""}, "2"
    )
    asked = call(certificates=proxies.leaf("anybody", eku=CLIENT).chain, headers={"x-remote-user": ["admin"]})
    with pytest.raises(AuthenticationError, match="cn=anybody is not in the allowed list"):
        run(RequestHeader(cluster.settings, now()).authenticate(asked))


def test_no_allowed_names_at_the_start_are_any_name_and_a_warning() -> None:
    """As k8s.io/apiserver."""
    without = {**DATA, "requestheader-allowed-names": "[]"}
    (line,) = _told(without)
    assert line["log_level"] is LogLevel.warn
    assert "has no requestheader-allowed-names: any certificate" in formatEvent(line)
    cluster = _Cluster(without)
    run(cluster.follower().load())
    assert cluster.settings.names.allowed == ()
    assert cluster.settings.note() == ""


def test_one_authority_of_users_and_proxies_without_names_is_no_start() -> None:
    data = {**DATA, "requestheader-client-ca-file": CLIENTS, "requestheader-allowed-names": "[]"}
    with pytest.raises(LookupFailed) as caught:
        run(_Cluster(data).follower().load())
    for word in ("extension-apiserver-authentication", "client-ca-file", "(CN=clients)", "Name the front proxy's"):
        assert word in str(caught.value)
    cluster = _Cluster(data)
    run(cluster.follower().load(tolerate=True))
    assert cluster.settings.proxy_ca is None
    assert cluster.settings.client_ca is not None


def test_nor_with_the_users_of_a_flag() -> None:
    cluster = _Cluster({**DATA, "requestheader-allowed-names": ""})
    cluster.settings.trust_clients(PROXIES.encode())
    with pytest.raises(LookupFailed, match=r"\(CN=proxies\)"):
        run(cluster.follower(clients=False).load())


def test_one_authority_is_a_start_with_names() -> None:
    cluster = _Cluster({**DATA, "requestheader-client-ca-file": CLIENTS})
    run(cluster.follower().load())
    assert cluster.settings.proxy_ca is not None


def test_a_change_to_one_authority_is_not_followed() -> None:
    without = {**DATA, "requestheader-allowed-names": "[]"}
    cluster = _Cluster(without)
    follower = cluster.follower()
    run(follower.load())
    follower.start()
    cluster.change({**without, "requestheader-client-ca-file": CLIENTS}, "2")
    assert cluster.settings.proxy_ca is not None
    assert cluster.settings.proxy_ca.pem == PROXIES.encode()
    assert "requestheader-client-ca-file (shares an authority" in cluster.settings.note()
    # Names in the same change, or later, make it harmless.
    cluster.change({**DATA, "requestheader-client-ca-file": CLIENTS}, "3")
    assert cluster.settings.proxy_ca.pem == CLIENTS.encode()
    assert cluster.settings.note() == ""
    follower.stop()


def test_what_cannot_be_read_is_noted_without_its_text(followed: tuple[_Cluster, list[Any]]) -> None:
    cluster, lines = followed
    cluster.change({**DATA, "client-ca-file": "s3cret", "requestheader-group-headers": "s3cret"}, "2")
    assert cluster.settings.note() == (
        "not followed: client-ca-file (cannot be read), requestheader-group-headers (cannot be read); "
        "what was in force stays, see the log"
    )
    (line,) = lines
    assert "client-ca-file" in formatEvent(line)
    assert "requestheader-group-headers" in formatEvent(line)
    cluster.change(DATA, "3")
    assert cluster.settings.note() == ""


def test_one_broken_part_does_not_hold_back_another() -> None:
    cluster = _Cluster(DATA)
    follower = cluster.follower()
    run(follower.load())
    follower.start()
    new = authority("new").pem.decode()
    cluster.change({**DATA, "client-ca-file": "nonsense", "requestheader-client-ca-file": new}, "2")
    assert cluster.settings.proxy_ca is not None
    assert cluster.settings.proxy_ca.pem == new.encode()
    follower.stop()


def test_a_deleted_configmap_stays_in_force() -> None:
    cluster = _Cluster(DATA)
    follower = cluster.follower()
    run(follower.load())
    follower.start()
    cluster.watch.send("DELETED", _configmap({}, "2"))
    assert cluster.settings.names == NAMES
    assert cluster.settings.proxy_ca is not None
    follower.stop()


def test_another_configmap_is_not_listened_to() -> None:
    cluster = _Cluster({})
    follower = cluster.follower()
    follower.start()
    other = _configmap(DATA, "2")
    other["metadata"]["name"] = "other"
    cluster.watch.send("ADDED", other)
    assert cluster.settings.generation == 0
    follower.stop()


def test_flags_win() -> None:
    cluster = _Cluster(DATA)
    run(cluster.follower(clients=False).load())
    assert cluster.settings.client_ca is None
    assert cluster.settings.proxy_ca is not None
    cluster = _Cluster(DATA)
    run(cluster.follower(proxies=False).load())
    assert cluster.settings.client_ca is not None
    assert cluster.settings.proxy_ca is None
    assert cluster.settings.names == HeaderNames()


def test_missing_and_empty_lists_are_empty() -> None:
    assert header_names({}) == HeaderNames()
    empty = {"requestheader-uid-headers": "", "requestheader-allowed-names": "null"}
    assert header_names(empty) == HeaderNames()


def test_a_uid_header_and_blank_names() -> None:
    data = {
        "requestheader-uid-headers": json.dumps(["X-Remote-Uid", " "]),
        "requestheader-extra-headers-prefix": '[""]',
    }
    assert header_names(data) == HeaderNames(uid=("x-remote-uid",))


WORDS = 'configmaps "x" is forbidden: User "{}" cannot get resource "configmaps" in API group "" in the namespace "kube-system"'


@pytest.mark.parametrize(
    ("user", "flag"),
    [
        ("system:serviceaccount:restaurant:pizza", "--serviceaccount=restaurant:pizza"),
        ("jane doe", '--user="jane doe"'),
        ("system:anonymous", '--user="system:anonymous"'),
    ],
)
def test_who_was_refused_is_who_is_bound(user: str, flag: str) -> None:
    assert subject_flag(WORDS.format(user)) == flag


def test_without_a_name_there_is_a_place_for_one() -> None:
    assert subject_flag("forbidden") == "--serviceaccount=YOUR_NS:YOUR_SA"
