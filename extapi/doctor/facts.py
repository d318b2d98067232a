"""What was gathered and not yet judged: answers of kube-apiserver, certificates of servers, the content of a store. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from cryptography import x509

from extapi.doctor.etcdfacts import EtcdFacts
from extapi.doctor.hooks import HookURL, RegisteredHook
from extapi.doctor.registration import RegisteredService, Registration

Obj = dict[str, Any]
OVER = "not tried, or not finished: the time for the whole run is over"
"""Why there is no answer if :attr:`Reading.over` or :attr:`Served.over` is set."""
MORE_TIME = "allow more time (--timeout), or check less of the cluster (--group)"


@dataclass(frozen=True, slots=True)
class Reading:
    """The outcome of one request to kube-apiserver. ``right``: the right it needs, such as ``get on services in shop``."""

    right: str
    status: int = 0
    """0: no answer; ``text`` says why."""
    data: bytes = b""
    text: str = ""
    """The message of a refusal."""
    seconds: float = 0.0
    """Seconds from the request to the end of the answer."""
    date: dt.datetime | None = None
    """The ``Date`` header, in whole seconds."""
    here: dt.datetime | None = None
    """This machine's clock when the head of the answer arrived."""
    cut: bool = False
    """The answer exceeded the bound."""
    over: bool = False
    """There was no time left for an answer."""

    @property
    def found(self) -> bool:
        """Whether the answer is a success and complete."""
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
        """The answer as a JSON object; empty if it is not one."""
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
    """Its answer to ``GET /readyz?verbose`` without credentials; empty: none, or not in time."""


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """A Service and what is behind it. ``pods``, ``deployments``: None if the Service has no selector."""

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
        """Its user name."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


@dataclass(frozen=True, slots=True)
class Right:
    """One right, as a SubjectAccessReview names it. ``name``: of a single object; empty: any."""

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
class LeaseRights:
    """The rights to the Lease of a leader. ``certain``: whether the server is known to elect one."""

    rights: tuple[Right, ...] = ()
    """Empty: none is elected, or nothing says so."""
    certain: bool = False


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """An account: whether it exists, and the answered SubjectAccessReview of each right that it needs."""

    account: Account
    exists: Reading
    reviews: Mapping[Right, Reading]
    lease: LeaseRights = LeaseRights()


@dataclass(frozen=True, slots=True)
class ExpectedKind:
    """A kind of ``--app``. ``storage``: its storage version; empty for a virtual kind.

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
    """The content of a store: by group and plural, the recorded versions and the number of objects in each."""

    url: str
    recorded: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    counts: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    complete: bool = True
    """Whether all objects could be counted in time."""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class HookCall:
    """A request by which kube-apiserver calls webhooks: what it was, and the answer."""

    what: str
    """Such as ``list pizzas.example.com in v1alpha1``."""
    converts: bool
    """Whether an object had to be converted for it."""
    admits: bool
    """Whether it is a write, about which webhooks of admission are asked."""
    reading: Reading


@dataclass(frozen=True, slots=True)
class HookFacts:
    """The webhooks of the groups in question, and what was found out about them."""

    lists: Sequence[Reading] = ()
    """Where they are kept: definitions, configurations of both kinds."""
    hooks: Sequence[RegisteredHook] = ()
    served: Mapping[HookURL, Sequence[Served]] = field(default_factory=dict)
    """What presented certificates at addresses that are not those of Services."""
    namespaces: Mapping[str, Reading] = field(default_factory=dict)
    """The namespaces of their servers, and kube-system."""
    calls: Sequence[HookCall] = ()
    """Only about named groups."""
    definitions: frozenset[tuple[str, str]] = frozenset()
    """Group and version of each custom resource."""
    stored: Mapping[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    """The storage version of each definition, and its ``status.storedVersions``."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the checks look at. A missing key means that the question made no sense."""

    now: dt.datetime
    """The time on kube-apiserver's clock if known, since kube-apiserver judges certificates."""
    registrations: Sequence[Registration]
    groups: frozenset[str]
    """What was asked about; empty: every group with a Service."""
    expected: Sequence[ExpectedGroup]
    services: Mapping[tuple[str, str], ServiceFacts]
    served: Mapping[RegisteredService, Sequence[Served]]
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
    hooks: HookFacts = HookFacts()
    etcd: EtcdFacts | None = None
    """None: the store is not in etcd, or was not named."""

    def references(self) -> dict[RegisteredService, NamedBy]:
        """Each Service that an APIService or a webhook leads to, and what does."""
        found: dict[RegisteredService, list[Registration | RegisteredHook]] = {}
        named: list[Registration | RegisteredHook] = [*self.registrations, *self.hooks.hooks]
        for each in named:
            if each.service is not None:
                found.setdefault(each.service, []).append(each)
        return {reference: NamedBy(of) for reference, of in found.items()}


@dataclass(frozen=True, slots=True)
class NamedBy:
    """What leads to a Service."""

    of: Sequence[Registration | RegisteredHook]

    @property
    def what(self) -> str:
        """The sort of objects."""
        return "webhooks" if all(isinstance(each, RegisteredHook) for each in self.of) else "APIServices"

    @property
    def fields(self) -> str:
        """Where to correct it."""
        if self.what == "APIServices":
            return "spec.service of its APIServices"
        return ", ".join(
            dict.fromkeys(
                f"{each.service_field} of {each.owner}" for each in self.of if isinstance(each, RegisteredHook)
            )
        )


def objects(value: Any) -> list[Obj]:
    """The objects in a list, whatever the peer sent."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def member(value: Any, *names: str) -> Any:
    """The value at the path ``names`` in an object; None if a part of the path is missing or not an object."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def text(value: Any, *names: str) -> str:
    """The string at the path ``names``; empty if there is none."""
    found = member(value, *names)
    return found if isinstance(found, str) else ""
