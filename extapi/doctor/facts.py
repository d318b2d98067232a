"""What was gathered, before anybody judges it: answers of kube-apiserver, what a server presented, what a store holds. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from cryptography import x509

from extapi.doctor.registration import Registration, ServiceReference

Obj = dict[str, Any]
OVER = "not tried, or not to its end: the time of the whole run is over"
"""Why there is no answer, where :attr:`Reading.over` or :attr:`Served.over`."""
MORE_TIME = "give it more time (--timeout), or look at less of the cluster (--group)"


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of one request to kube-apiserver. ``right``: what it takes, such as ``get on services in shop``."""

    right: str
    status: int = 0
    """0: there was no answer; ``text`` says why."""
    data: bytes = b""
    text: str = ""
    """The message of a refusal."""
    seconds: float = 0.0
    """From the request to the end of the answer."""
    date: dt.datetime | None = None
    """Of the ``Date`` header, whole seconds."""
    here: dt.datetime | None = None
    """This machine's clock when the answer's head had come."""
    cut: bool = False
    """The answer was larger than it may be."""
    over: bool = False
    """There was no time left for an answer."""

    @property
    def found(self) -> bool:
        """Whether the answer is a success, and whole."""
        return 200 <= self.status < 300 and not self.cut

    @property
    def why(self) -> str:
        """Why there is nothing to judge."""
        if self.over:
            return f"{self.right}: {OVER}"
        if self.cut:
            return f"the answer to {self.right} has more than {len(self.data)} bytes"
        if self.status == 403:
            return f"needs {self.right}: {self.text}"
        if self.status == 404:
            return f"kube-apiserver does not know what it takes for {self.right}: {self.text}"
        if self.status:
            return f"kube-apiserver answered {self.status} to {self.right}: {self.text}"
        return f"no answer to {self.right}: {self.text}"

    def obj(self) -> Obj:
        """The answer as a JSON object; empty if it is none."""
        try:
            value = msgspec.json.decode(self.data)
        except (msgspec.DecodeError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def items(self) -> list[Obj]:
        """The items of a list."""
        return objects(self.obj().get("items"))


@dataclass(frozen=True, slots=True)
class Served:
    """What a server presented in its TLS handshake. ``address``: where; ``given``: whether the operator named it."""

    address: str
    given: bool
    chain: tuple[x509.Certificate, ...] = ()
    """The leaf first; empty: ``failure`` says why."""
    failure: str = ""
    over: bool = False
    """There was no time left for it."""
    readiness: str = ""
    """What it answered to ``GET /readyz?verbose`` without credentials; empty: nothing, or not in time."""


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """A Service and what is behind it. ``pods``, ``deployments``: None where nothing selects any."""

    service: Reading
    slices: Reading | None = None
    pods: Reading | None = None
    deployments: Reading | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """The service account of a server. ``given``: the operator named it."""

    namespace: str
    name: str
    given: bool = False

    @property
    def user(self) -> str:
        """Its name as a user."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


@dataclass(frozen=True, slots=True)
class Right:
    """One right, as a SubjectAccessReview names it. ``name``: of the one object; empty: any."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    @property
    def what(self) -> str:
        """What the verb is for."""
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{resource}{self.name and f' {self.name}'}{self.namespace and f' in {self.namespace}'}"


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """An account: whether it exists, and the answered SubjectAccessReview of each right that it needs."""

    account: Account
    exists: Reading
    reviews: Mapping[Right, Reading]


@dataclass(frozen=True, slots=True)
class ExpectedKind:
    """A kind of ``--app``. ``storage``: the version it is stored in; empty for one that stores nothing.

    ``versions`` are all that the app has, also those in ``unserved``, which it reads from its store only.
    """

    name: str
    plural: str
    storage: str
    versions: Sequence[str]
    unserved: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ExpectedGroup:
    """A group of ``--app``, its versions by priority."""

    name: str
    versions: Sequence[str]
    kinds: Sequence[ExpectedKind]


@dataclass(frozen=True, slots=True)
class StoredVersions:
    """What a store says: by group and plural, the versions on record and how many objects are in each."""

    url: str
    recorded: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    counts: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    complete: bool = True
    """Whether all objects could be counted in time."""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the checks look at. Missing keys: it made no sense to ask."""

    now: dt.datetime
    """By kube-apiserver's clock where it is known, since that one judges certificates."""
    registrations: Sequence[Registration]
    groups: frozenset[str]
    """What was asked about; empty: every group with a Service."""
    expected: Sequence[ExpectedGroup]
    services: Mapping[tuple[str, str], ServiceFacts]
    served: Mapping[ServiceReference, Sequence[Served]]
    discovery: Mapping[str, Reading]
    """By name of the APIService."""
    aggregated: Reading
    openapi_v2: Reading
    openapi_v3: Reading
    documents: Mapping[str, Reading]
    """OpenAPI v3 of a version, by name of the APIService."""
    config_map: Reading
    accounts: Mapping[tuple[str, str], Sequence[AccountFacts]]
    """By namespace and name of the Service."""
    namespaces: Reading
    stored: StoredVersions | None


def objects(value: Any) -> list[Obj]:
    """The objects in a list, whatever the peer sent."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def member(value: Any, *names: str) -> Any:
    """What stands at ``names`` in an object; None where anything on the way is missing or no object."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def text(value: Any, *names: str) -> str:
    """A string at ``names``; empty if there is none."""
    found = member(value, *names)
    return found if isinstance(found, str) else ""
