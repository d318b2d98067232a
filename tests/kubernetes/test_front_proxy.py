"""Who a caller is, as kube-apiserver knows it and as it arrives here; and how the front proxy's CA is rotated.

On control planes of their own: one that sends uids as well, and whose certificates may change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from tests.certificates import CLIENT, SERVER, Issued, authority as foreign, self_signed
from tests.kubernetes.backend import Backend
from tests.kubernetes.control_plane import add_extension_server, running
from tests.kubernetes.fixtures import planes
from tests.kubernetes.plane import FORGED, Headers, Plane, Trust, both, certificates, rights, user_of
from tests.kubernetes.registration import HOST, Registration, registered
from tests.kubernetes.traffic import Traffic
from tests.kubernetes.watching import watching
from tests.kubernetes.who import GROUP, NOTES, REVIEWS, note, review
from tests.waiting import until

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


@pytest.fixture(scope="module", params=planes())
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    flags = ["--requestheader-uid-headers=X-Remote-Uid"]
    with running(tmp_path_factory.mktemp("plane"), request.param, flags=flags) as control_plane:
        for path, obj in rights():
            control_plane.client.apply(path, obj)
        server = add_extension_server(control_plane, "tests.kubernetes.who:api")
        yield Plane(control_plane, server.port, tmp_path_factory.mktemp("callers"))


def sent(text: str) -> str:
    """A header's value that goes out as UTF-8."""
    return text.encode().decode("latin-1")


def bound_token(plane: Plane, account: str, reference: dict[str, str]) -> str:
    """A token that ends with an object."""
    spec = {"boundObjectRef": reference, "expirationSeconds": 600}
    made = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = plane.admin("POST", f"{ACCOUNTS}/{account}/token", made)
    assert answer.status == 201, answer.body
    return str(answer.json["status"]["token"])


@pytest.fixture
def account(plane: Plane) -> Iterator[str]:
    """A service account."""
    name = "robot"
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    assert plane.admin("POST", ACCOUNTS, made).status == 201
    yield name
    plane.admin("DELETE", f"{ACCOUNTS}/{name}")


def token_of(plane: Plane, account: str) -> str:
    made = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(plane.admin("POST", f"{ACCOUNTS}/{account}/token", made).json["status"]["token"])


def test_a_certificates_user_arrives_whatever_is_in_its_names(plane: Plane) -> None:
    orgs = ["dev team", "a,b", "ünï/cödé", "%2F%zz", "x:y/z", '"quoted"', "{}", "a\tb"]
    leaf = plane.signed_by("cluster-ca").leaf("jané/ö %41:x@y", orgs=orgs, uid="ü-1 %20/:", eku=CLIENT)
    theirs, ours = both(plane.caller(leaf))
    assert ours == theirs
    assert ours["username"] == "jané/ö %41:x@y"
    assert ours["uid"] == "ü-1 %20/:"
    assert ours["groups"] == [*orgs, "system:authenticated"]
    (credential,) = ours["extra"]["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("X509SHA256=")


def test_what_a_header_cannot_carry_is_trimmed_or_refused(plane: Plane) -> None:
    """As Go's net/http does; nobody becomes somebody else by a line break."""
    theirs, ours = both(plane.caller(plane.signed_by("cluster-ca").leaf(" padded ", eku=CLIENT)))
    assert (theirs["username"], ours["username"]) == (" padded ", "padded")
    for name in ("a\r\nX-Remote-Group: system:masters", "a\nb", "a\x01b", "a\x7fb"):
        refused = plane.caller(plane.signed_by("cluster-ca").leaf(name, eku=CLIENT))("POST", REVIEWS, review())
        assert refused.status == 503, name
        wanted = b'error trying to reach service: net/http: invalid header field value for "X-Remote-User"\n'
        assert refused.body == wanted, name


IMPERSONATED: dict[str, Headers] = {
    "everything": [
        ("Impersonate-User", "Ünï %zz: /\\\"'<>&;=?#"),
        ("Impersonate-Uid", "7%20 ä:/"),
        *(("Impersonate-Group", name) for name in ("dev team", "a,b", "ünï", "%2F", "x:y/z", "dev team")),
        ("Impersonate-Extra-example.com%2Fscopes", "a b"),
        ("Impersonate-Extra-example.com%2Fscopes", "x,y"),
        ("Impersonate-Extra-example.com%2Fscopes", "%41%zz ü"),
        ("Impersonate-Extra-%C3%BC%20%25%3A", "odd key"),
        ("Impersonate-Extra-UPPER", "lowered by kube-apiserver itself"),
        ("Impersonate-Extra-a%zz", "a broken escape"),
    ],
    "empty values": [
        ("Impersonate-User", "joe"),
        ("Impersonate-Group", ""),
        ("Impersonate-Group", "last"),
        ("Impersonate-Extra-void", ""),
        ("Impersonate-Extra-void", "and one that is not"),
    ],
    "a great deal": [
        ("Impersonate-User", "u" * 16384),
        *(("Impersonate-Group", f"{number:04}-" + "g" * 60) for number in range(2500)),
        ("Impersonate-Extra-long", "v" * 65536),
        *(("Impersonate-Extra-many", str(number)) for number in range(200)),
    ],
    "a service account": [("Impersonate-User", "system:serviceaccount:default:anybody")],
    "nobody": [("Impersonate-User", "system:anonymous")],
}


@pytest.mark.parametrize("case", IMPERSONATED)
def test_an_impersonated_user_arrives_as_it_was_asked_for(plane: Plane, case: str) -> None:
    headers = [(name, sent(value)) for name, value in IMPERSONATED[case]]
    theirs, ours = both(plane.admin, headers)
    # An empty group is none to whoever reads X-Remote-Group (headerrequest.allHeaderValues).
    theirs["groups"] = [group for group in theirs["groups"] if group]
    assert ours == theirs
    assert ours["username"] == dict(IMPERSONATED[case])["Impersonate-User"]


def test_capitals_in_a_key_of_extra_are_lost_on_the_way(plane: Plane) -> None:
    """Names of headers have no case: kube-apiserver's own front-proxy authentication loses them, too (behaviour A19)."""
    theirs, ours = both(plane.admin, [("Impersonate-User", "joe"), ("Impersonate-Extra-%41bc", "x")])
    assert (theirs["extra"], ours["extra"]) == ({"Abc": ["x"]}, {"abc": ["x"]})


def test_nobody_arrives_as_nobody(plane: Plane) -> None:
    theirs, ours = both(plane.caller())
    assert ours == theirs
    assert (ours["username"], ours["groups"]) == ("system:anonymous", ["system:unauthenticated"])


def test_a_service_account_arrives_with_what_its_token_is_bound_to(plane: Plane, account: str) -> None:
    name = f"system:serviceaccount:default:{account}"
    uid = plane.admin("GET", f"{ACCOUNTS}/{account}").json["metadata"]["uid"]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "holder"}}
    made = plane.admin("POST", "/api/v1/namespaces/default/secrets", secret).json["metadata"]
    reference = {"kind": "Secret", "apiVersion": "v1", "name": "holder", "uid": made["uid"]}
    for token in (token_of(plane, account), bound_token(plane, account, reference)):
        theirs, ours = both(plane.caller().with_token(token))
        assert ours == theirs
        assert (ours["username"], ours["uid"]) == (name, uid)
        assert ours["groups"] == [
            "system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"
        ]  # fmt: skip
        (credential,) = ours["extra"]["authentication.kubernetes.io/credential-id"]
        assert credential.startswith("JTI=")
        # Past the control plane it is the same: TokenReview says so.
        directly = plane.caller(directly=True).with_token(token)("POST", REVIEWS, review())
        assert user_of(directly, "user") == theirs
    plane.admin("DELETE", "/api/v1/namespaces/default/secrets/holder")


# There are no pods on the built-in control plane.
@pytest.mark.parametrize("plane", [pytest.param("kube", id="kube", marks=pytest.mark.kubernetes)], indirect=True)
def test_a_pods_token_names_pod_and_node(plane: Plane, account: str) -> None:
    admin = plane.admin
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    assert admin("POST", "/api/v1/nodes", node).status == 201
    spec = {"serviceAccountName": account, "nodeName": "node-1", "containers": [{"name": "main", "image": "none"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod-1"}, "spec": spec}
    made = admin("POST", "/api/v1/namespaces/default/pods", pod)
    assert made.status == 201, made.body
    uid = made.json["metadata"]["uid"]
    token = bound_token(plane, account, {"kind": "Pod", "apiVersion": "v1", "name": "pod-1", "uid": uid})
    theirs, ours = both(plane.caller().with_token(token))
    assert ours == theirs
    about = {key.removeprefix("authentication.kubernetes.io/"): values for key, values in ours["extra"].items()}
    assert (about["pod-name"], about["pod-uid"], about["node-name"]) == (["pod-1"], [uid], ["node-1"])
    directly = plane.caller(directly=True).with_token(token)("POST", REVIEWS, review())
    assert user_of(directly, "user") == theirs
    admin("DELETE", "/api/v1/namespaces/default/pods/pod-1?gracePeriodSeconds=0")
    admin("DELETE", "/api/v1/nodes/node-1")


ADMIN = "admin"
"""Whom the headers name."""
REFUSED = ""
Certified = Callable[[Plane], Issued | None]


def with_more(leaf: Issued, more: Issued) -> Issued:
    """A leaf that is presented together with somebody else's certificate."""
    return Issued(leaf.certificate, leaf.key, Issued(more.certificate, more.key, more.issuer))


DIRECT: dict[str, tuple[Certified, str]] = {
    "without a certificate": (lambda _: None, "system:anonymous"),
    "a user of the cluster": (lambda plane: plane.signed_by("cluster-ca").leaf("jane", eku=CLIENT), "jane"),
    "a user called as the front proxy": (
        lambda plane: plane.signed_by("cluster-ca").leaf("front-proxy-client", eku=CLIENT),
        "front-proxy-client",
    ),
    "a user, and the front proxy's certificate behind the own": (
        lambda plane: with_more(
            plane.signed_by("cluster-ca").leaf("jane", eku=CLIENT),
            plane.signed_by("front-proxy-ca").leaf("front-proxy-client", eku=CLIENT),
        ),
        "jane",
    ),
    "a user whose certificate has expired": (
        lambda plane: plane.signed_by("cluster-ca").leaf("jane", eku=CLIENT, expired=True),
        REFUSED,
    ),
    "the front proxy": (
        lambda plane: plane.signed_by("front-proxy-ca").leaf("front-proxy-client", eku=CLIENT),
        ADMIN,
    ),
    "the front proxy, by an intermediate": (
        lambda plane: plane.signed_by("front-proxy-ca").intermediate("middle").leaf("front-proxy-client", eku=CLIENT),
        ADMIN,
    ),
    "the front proxy's CA, another name": (
        lambda plane: plane.signed_by("front-proxy-ca").leaf("somebody-else", eku=CLIENT),
        REFUSED,
    ),
    "the front proxy's CA, two names": (
        lambda plane: plane.signed_by("front-proxy-ca").leaf("front-proxy-client, x", eku=CLIENT),
        REFUSED,
    ),
    "the front proxy, expired": (
        lambda plane: plane.signed_by("front-proxy-ca").leaf("front-proxy-client", eku=CLIENT, expired=True),
        REFUSED,
    ),
    "the front proxy, a certificate for serving": (
        lambda plane: plane.signed_by("front-proxy-ca").leaf("front-proxy-client", eku=SERVER),
        REFUSED,
    ),
    "a wrong CA of the right name": (
        lambda _: foreign("extapi-dev-front-proxy-ca").leaf("front-proxy-client", orgs=["system:masters"], eku=CLIENT),
        REFUSED,
    ),
    "the serving CA": (lambda plane: plane.signed_by("serving-ca").leaf("front-proxy-client", eku=CLIENT), REFUSED),
    "signed by itself": (lambda _: self_signed("front-proxy-client", orgs=["system:masters"], eku=CLIENT), REFUSED),
}
"""Certificates, and who it is that comes with one and with forged headers, past kube-apiserver (behaviour A13-A18).

The sample-apiserver of 1.36.3 was asked each of these as well, with a token and without, and answered the same.
"""


@pytest.mark.parametrize("case", DIRECT)
def test_forged_headers_past_kube_apiserver(plane: Plane, account: str, case: str) -> None:
    make, expected = DIRECT[case]
    caller = plane.caller(make(plane), directly=True)
    robot = f"system:serviceaccount:default:{account}"
    with_token = caller.with_token(token_of(plane, account))
    forged = caller("POST", REVIEWS, review(), headers=FORGED)
    if expected == REFUSED:
        assert (forged.status, forged.message) == (401, "Unauthorized")
    else:
        found = user_of(forged, "user")
        assert found["username"] == expected
        assert ("system:masters" in found["groups"]) == (expected == ADMIN)
        if expected == ADMIN:
            assert (found["uid"], found["extra"]) == ("u-1", {"scopes/a": ["all"]})
    # A token counts where nothing before it said who it is; what was wrong with the certificate is no harm then.
    found = user_of(with_token("POST", REVIEWS, review(), headers=FORGED), "user")
    assert found["username"] == (robot if expected in (REFUSED, "system:anonymous") else expected)
    # Without their headers the front proxy is nobody, and refused: its CA is not that of users (behaviour A18).
    bare = caller("POST", REVIEWS, review())
    if expected in (REFUSED, ADMIN):
        assert bare.status == 401
    else:
        assert user_of(bare, "user")["username"] == expected


def test_the_front_proxys_authority_is_rotated_under_traffic(plane: Plane, tmp_path: Path) -> None:
    """Old and new published together, then the proxy's certificate, then the old one out: nobody notices, but the old."""
    client, admin, trust = plane.control_plane.client, plane.admin, Trust(plane)
    old, new = plane.signed_by("front-proxy-ca"), foreign("new-front-proxy-ca")
    leaf = new.leaf("front-proxy-client", eku=CLIENT)
    both_cas = tmp_path / "both.crt"
    both_cas.write_bytes(old.pem + new.pem)
    serving = foreign("witness-ca")
    # A server of the test's sees which certificate is shown; ours tells nobody.
    witness = Backend(serving.leaf("w", san=[HOST], eku=SERVER).save(tmp_path, "witness"), clients=both_cas)
    service = Registration(client, f"v1.{GROUP}")
    before = service.condition()
    held = plane.caller(old.leaf("front-proxy-client", eku=CLIENT), directly=True).connect(60)
    fresh = plane.caller(leaf, directly=True)
    try:
        assert vouched(held) == 201
        assert fresh("POST", REVIEWS, review(), headers=FORGED).status == 401
        with (
            registered(client, "v1.witness.example.com", witness.port, serving.pem) as seen,
            watching(admin, NOTES) as watch,
            Traffic(lambda _: admin("POST", REVIEWS, review())) as asking,
            Traffic(lambda number: admin("POST", NOTES, note(f"traffic-{number}"))) as writing,
        ):
            until(lambda: seen.condition().get("status") == "True", 60)
            asking.further()
            trust.add(old.pem, new.pem)
            until(lambda: fresh("POST", REVIEWS, review(), headers=FORGED).status == 201, 60)
            assert vouched(held) == 201
            asking.further()
            trust.write("front-proxy-client.key", leaf.key_pem)
            trust.write("front-proxy-client.crt", leaf.pem)
            trust.write("front-proxy-ca.key", new.key_pem)

            def shown() -> bool:
                assert admin("GET", seen.path).status == 200
                return witness.requests[-1].client == leaf.certificate.serial_number

            until(shown, 90)
            asking.further(60)
            trust.take_out(old, new.pem)
            # A connection that the old one has vouched for is believed no more, though it is open still.
            until(lambda: vouched(held) == 401, 60)
            assert fresh("POST", REVIEWS, review(), headers=FORGED).status == 201
            asking.further()
            writing.further()
            # Nor is a watch that was passed on over one: it ends, and clients open it again.
            watch.over()
            assert admin("POST", NOTES, note("last")).status == 201
            with watching(admin, NOTES) as again:
                again.until("last")
        assert service.condition() == before
        assert certificates(trust.published) == [new.certificate]
        plane.control_plane.processes.check()  # all still run: nothing was restarted
        assert len(admin("GET", NOTES).json["items"]) == writing.count + 1
    finally:
        held.close()
        witness.close()


def vouched(connection: HTTPSConnection) -> int:
    """The status of a request on this open connection, in the name of somebody."""
    connection.request("POST", REVIEWS, json.dumps(review()), {"Content-Type": "application/json", **dict(FORGED)})
    answer = connection.getresponse()
    answer.read()
    return answer.status
