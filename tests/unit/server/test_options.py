"""The flags: behaviour A9, A10, B9, L2 to L4, L10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extapi.server.flag import OptionErrors
from extapi.server.leaderoptions import LeaderOptions
from extapi.server.options import FLAGS, RequestHeaderOptions, ServerOptions, parse_options
from extapi.storage.etcd.endpoints import EtcdOptions

PAIR = "--tls-cert-file and --tls-private-key-file must be given together"
CERTIFICATE = {"tls-cert-file": "tls.crt", "tls-private-key-file": "tls.key"}


def parsed(**flags: Any) -> ServerOptions:
    """The options with these flags given, all others as they are by default."""
    raw = {flag.name: (False if flag.default else None) if flag.boolean else flag.default for flag in FLAGS}
    return parse_options({**raw, **CERTIFICATE, **{name.replace("_", "-"): value for name, value in flags.items()}})


def problems(**flags: Any) -> list[str]:
    with pytest.raises(OptionErrors) as caught:
        parsed(**flags)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def test_the_defaults_are_those_of_the_go_original() -> None:
    """Behaviour L2 to L4, L10."""
    assert parsed() == ServerOptions(
        bind_address="0.0.0.0",  # noqa: S104 - the default of the Go original
        secure_port=443,
        tls_cert_file=Path("tls.crt"),
        tls_private_key_file=Path("tls.key"),
        tls_min_version="VersionTLS12",
        kubeconfig=None,
        authentication_kubeconfig=None,
        authentication_skip_lookup=False,
        authentication_tolerate_lookup_failure=False,
        token_ttl=10.0,
        client_ca_file=None,
        requestheader=RequestHeaderOptions(
            ca_file=None,
            allowed_names=(),
            username_headers=("x-remote-user",),
            uid_headers=(),
            group_headers=("x-remote-group",),
            extra_prefixes=("x-remote-extra-",),
        ),
        authorization_kubeconfig=None,
        always_allow_paths=("/healthz", "/readyz", "/livez"),
        authorized_ttl=10.0,
        unauthorized_ttl=10.0,
        watch_reauthorize=10.0,
        reads=400,
        writes=200,
        request_timeout=60.0,
        shutdown_delay=0.0,
        storage="memory:",
        etcd=EtcdOptions(prefix="/extapi", compaction_interval=300.0, healthcheck_timeout=2.0),
        audit_log_path="",
    )


def test_flags_are_read() -> None:
    options = parsed(
        secure_port="0",
        kubeconfig="k",
        authentication_skip_lookup=True,
        authentication_token_webhook_cache_ttl="1m30s",
        requestheader_allowed_names=["a,b", "c"],
        requestheader_username_headers=["X-Remote-User,X-Other"],
        requestheader_client_ca_file="proxy.crt",
        max_requests_inflight="0",
        shutdown_delay_duration="500ms",
        storage="sqlite:////var/lib/x.db",
        authorization_always_allow_paths=["/healthz,/open/*"],
    )
    assert options.secure_port == 0
    assert options.kubeconfig == Path("k")
    assert options.authentication_skip_lookup
    assert options.token_ttl == 90.0
    assert options.requestheader.allowed_names == ("a", "b", "c")
    assert options.requestheader.username_headers == ("x-remote-user", "x-other")
    assert options.requestheader.ca_file == Path("proxy.crt")
    assert options.reads == 0
    assert options.shutdown_delay == 0.5
    assert options.storage == "sqlite:////var/lib/x.db"
    assert options.always_allow_paths == ("/healthz", "/open/*")


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = problems(
        tls_cert_file="",
        secure_port="65536",
        tls_min_version="VersionTLS10",
        authentication_token_webhook_cache_ttl="soon",
        storage="redis://x",
        request_timeout="0s",
    )
    assert len(found) == 6
    for flag in (
        "secure-port",
        "tls-min-version",
        "authentication-token-webhook-cache-ttl",
        "storage",
        "request-timeout",
    ):
        assert [text for text in found if text.startswith(f"--{flag}: ")], flag
    assert PAIR in found


@pytest.mark.parametrize("port", ["", "x", "-1", "65536", "٣"])
def test_ports_are_numbers(port: str) -> None:
    assert problems(secure_port=port) == [f"--secure-port: {port!r} is not a whole number from 0 to 65535"]


@pytest.mark.parametrize("address", ["localhost", "[::1]", "10.0.0.1:443"])
def test_a_wrong_address_is_told_before_anything_starts(address: str) -> None:
    assert problems(bind_address=address) == [
        f"--bind-address: {address!r} is not an IP address, such as 0.0.0.0 or ::1"
    ]


@pytest.mark.parametrize("address", ["", "0.0.0.0", "::", "fd00::1"])  # noqa: S104 - texts
def test_addresses_of_both_families_and_none_at_all(address: str) -> None:
    assert parsed(bind_address=address).bind_address == address


@pytest.mark.parametrize("bound", ["-1", "1.5"])
def test_bounds_are_not_negative(bound: str) -> None:
    """Behaviour L10."""
    assert len(problems(max_requests_inflight=bound, max_mutating_requests_inflight=bound)) == 2


@pytest.mark.parametrize(
    "flag", ["request_timeout", "shutdown_delay_duration", "authorization_webhook_cache_authorized_ttl"]
)
def test_durations_are_not_negative(flag: str) -> None:
    name = flag.replace("_", "-")
    assert problems(**{flag: "-1s"}) == [f"--{name}: must not be negative"]
    (text,) = problems(**{flag: "1 day"})
    assert text.startswith(f"--{name}: ")


@pytest.mark.parametrize("value", [" ", " x-remote-user", "x-remote-user "])
def test_header_names_are_not_blank(value: str) -> None:
    """Behaviour A10."""
    (text,) = problems(requestheader_group_headers=[value])
    assert text.startswith("--requestheader-group-headers: ")


def test_a_star_is_only_allowed_at_the_end_of_a_path() -> None:
    """Behaviour B9."""
    assert problems(authorization_always_allow_paths=["/a*b,/c*"]) == [
        "--authorization-always-allow-paths: '/a*b': only a trailing * is allowed"
    ]


@pytest.mark.parametrize("given", ["webhook_client_cert_file", "webhook_client_key_file"])
def test_the_certificate_for_webhooks_needs_its_key(given: str) -> None:
    text = "--webhook-client-cert-file and --webhook-client-key-file must be given together"
    assert problems(**{given: "file"}) == [text]


@pytest.mark.parametrize("missing", ["tls_cert_file", "tls_private_key_file"])
def test_certificate_and_key_belong_together(missing: str) -> None:
    assert problems(**{missing: ""}) == [PAIR]


def test_names_of_flags_are_unique_and_explained() -> None:
    assert len({flag.name for flag in FLAGS}) == len(FLAGS)
    assert all(flag.help.endswith(".") for flag in FLAGS)


def test_without_a_certificate_neither_is_given() -> None:
    assert parsed(tls_cert_file="", tls_private_key_file="").tls_cert_file is None


def test_what_manifests_for_the_go_original_say_is_accepted() -> None:
    """The flags of sample-apiserver in ``test/e2e/apimachinery/aggregator.go``."""
    options = parsed(
        etcd_servers=["http://127.0.0.1:2379,http://127.0.0.1:2380"],
        audit_log_path="-",
        audit_log_maxage="0",
        audit_log_maxbackup="0",
        storage="sqlite:///data.db",
    )
    assert options.etcd.servers == ("http://127.0.0.1:2379", "http://127.0.0.1:2380")
    etcd, audit = options.notices()
    assert "--etcd-servers" in etcd
    assert "sqlite:///data.db" in etcd
    assert "no events will be recorded" in audit
    assert list(parsed().notices()) == []


def test_a_front_proxy_of_any_name_is_warned_of() -> None:
    """Empty is the default of the Go original, and its rule; from the ConfigMap it is somebody else's to warn."""
    (warning,) = parsed(requestheader_client_ca_file="proxies.crt", requestheader_allowed_names=[""]).notices()
    assert "--requestheader-allowed-names is empty: any certificate" in warning
    assert list(parsed(requestheader_client_ca_file="a", requestheader_allowed_names=["proxy"]).notices()) == []


def test_storage_in_etcd() -> None:
    options = parsed(
        storage="etcd:",
        etcd_servers=["https://a:2379,https://b:2379"],
        etcd_prefix="/extapi/pizza",
        etcd_cafile="ca.crt",
        etcd_certfile="client.crt",
        etcd_keyfile="client.key",
        etcd_username="pizza",
        etcd_password_file="password",
        etcd_compaction_interval="0",
        etcd_healthcheck_timeout="500ms",
    )
    assert options.etcd == EtcdOptions(
        servers=("https://a:2379", "https://b:2379"),
        prefix="/extapi/pizza",
        cafile=Path("ca.crt"),
        certfile=Path("client.crt"),
        keyfile=Path("client.key"),
        username="pizza",
        password_file=Path("password"),
        compaction_interval=0.0,
        healthcheck_timeout=0.5,
    )
    assert list(options.notices()) == []


def test_connections_end_where_servers_share_a_store() -> None:
    shared = {"storage": "etcd:", "etcd_servers": ["https://a:2379"]}
    assert parsed().connection_requests == 0
    assert parsed(**shared).connection_requests == 1000
    assert parsed(connection_requests="50").connection_requests == 50
    assert parsed(connection_requests="0", **shared).connection_requests == 0
    assert "--connection-requests" in problems(connection_requests="-1")[0]
    assert "--connection-requests" in problems(connection_requests="many")[0]


def test_what_is_wrong_with_storage_in_etcd_is_told() -> None:
    """All of it; and nothing if objects are stored elsewhere."""
    wrong = {"etcd_prefix": "/registry", "etcd_certfile": "a", "etcd_username": "root"}
    with pytest.raises(OptionErrors) as raised:
        parsed(storage="etcd:", **wrong)
    assert [problem.split(" ")[0].rstrip(":") for problem in raised.value.problems] == [
        "--etcd-servers",
        "--etcd-prefix",
        "--etcd-certfile",
        "--etcd-username",
    ]
    assert parsed(**wrong).storage == "memory:"
    with pytest.raises(OptionErrors) as raised:
        parsed(storage="etcd:", etcd_servers=["http://me:secret@a:1"], etcd_healthcheck_timeout="0")
    assert len(raised.value.problems) == 2
    assert "secret" not in str(raised.value)


def test_credentials_of_etcd_are_not_repeated() -> None:
    assert not [text for text in parsed(etcd_servers=["https://me:secret@etcd:2379"]).notices() if "secret" in text]


@pytest.mark.parametrize("flag", ["audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"])
@pytest.mark.parametrize("number", ["-1", "soon", ""])
def test_numbers_of_the_audit_log_are_not_negative(flag: str, number: str) -> None:
    """Nor are they in ``AuditLogOptions.Validate``."""
    (text,) = problems(**{flag.replace("-", "_"): number})
    assert text.startswith(f"--{flag}: {number!r} ")


def test_reload_is_for_development() -> None:
    assert problems(reload=True) == [
        "--reload needs --development: it is for writing an API, where a file that is saved may be wrong"
    ]
    options = parsed(reload=True, development=True, served_file="served.json")
    assert (options.reload, options.served_file) == (True, Path("served.json"))
    assert (parsed().reload, parsed().served_file) == (False, None)


def test_the_election_is_as_in_kube_controller_manager() -> None:
    assert parsed().leader == LeaderOptions()
    given = parsed(
        leader_elect=True, leader_elect_lease_duration="30s", leader_elect_resource_namespace="kitchen"
    ).leader
    assert given == LeaderOptions(elect=True, lease_duration=30.0, namespace="kitchen")
    assert parsed(leader_elect=False).leader.elect is False


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # In client-go's words (tools/leaderelection NewLeaderElector).
        ({"leader_elect_lease_duration": "10s"}, "--leader-elect: leaseDuration must be greater than renewDeadline"),
        (
            {"leader_elect_retry_period": "9s"},
            "--leader-elect: renewDeadline must be greater than retryPeriod*JitterFactor",
        ),
        ({"leader_elect_retry_period": "0s"}, "--leader-elect-retry-period: must not be zero"),
    ],
)
def test_an_election_that_cannot_work_is_refused(given: dict[str, Any], expected: str) -> None:
    assert problems(**given) == [expected]


def test_durations_of_no_election_are_not_compared() -> None:
    assert parsed(leader_elect=False, leader_elect_lease_duration="1s").leader.lease_duration == 1.0
