"""The order of questions: everything is gathered first, in a few rounds of parallel requests, then judged.

Knows paths and rights. Judges only which questions make sense.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast
from urllib.parse import quote

from extapi.admission.matching.rules import ALL
from extapi.api.definition import Api
from extapi.client.authority import authority
from extapi.doctor.accounts import REVIEWS, RIGHTS, accounts_of, review_of, selector_of
from extapi.doctor.addresses import Address, addresses_of
from extapi.doctor.clusterreader import CannotAsk, ClusterReader
from extapi.doctor.etcd import read_etcd
from extapi.doctor.etcdfacts import EtcdFacts
from extapi.doctor.facts import (
    Account,
    AccountFacts,
    ExpectedGroup,
    ExpectedKind,
    Facts,
    LeaseRights,
    Obj,
    Reading,
    Right,
    Served,
    ServiceFacts,
    StoredVersions,
    member,
    text,
)
from extapi.doctor.handshake import shake_hands
from extapi.doctor.hookexamination import HookExamination
from extapi.doctor.leases import Candidates, lease_rights
from extapi.doctor.parallel import Answer, Key, Question, in_parallel
from extapi.doctor.registration import RegisteredService, Registration, registration
from extapi.doctor.store import read_store
from extapi.storage.etcd.endpoints import EtcdOptions

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
PAGE = "500"
"""Objects per list that are looked at."""
WORKERS = 8
"""Requests at a time."""
HANDSHAKE = 3.0
"""Seconds per address, including the look-up of its name; most are not reachable from outside the cluster."""


@dataclass(frozen=True)
class ExaminationScope:
    """What the operator asked about."""

    groups: frozenset[str] = frozenset()
    """Empty: every group with a Service."""
    expected: Sequence[ExpectedGroup] = ()
    needs: Sequence[Right] = ()
    """The rights that the code of the Api needs in the cluster."""
    candidates: Candidates | None = None
    """What is known of the election of a leader; None: nothing."""
    account: Account | None = None
    connect: Address | None = None
    storage: str = ""
    etcd: EtcdOptions | None = None
    """How the etcd of the store is reached; None: it is not in etcd."""
    in_cluster: bool = False
    """Whether this is a pod."""
    seconds: float = 5.0
    """Seconds per request."""


def expected_groups(api: Api) -> tuple[ExpectedGroup, ...]:
    """What ``--app`` is expected to serve."""
    return tuple(
        ExpectedGroup(
            group.name,
            group.versions_by_priority(),
            [
                ExpectedKind(
                    kind.name,
                    kind.plural,
                    "" if kind.rest is not None else kind.storage,
                    list(kind.versions),
                    [name for name, version in kind.versions.items() if not version.served],
                )
                for kind in group.kinds
            ],
        )
        for group in api.groups
    )


def gather(cluster: ClusterReader, scope: ExaminationScope) -> Facts:
    """Ask everything.

    Raises:
        CannotAsk: kube-apiserver does not answer the first question.
    """
    try:
        return _Examination(cluster, scope).facts()
    except BaseException:
        cluster.stop()  # threads that still work begin nothing more
        raise


class _Alone(TypedDict):
    """What is asked once, whatever there is."""

    config_map: Reading
    aggregated: Reading
    openapi_v2: Reading
    openapi_v3: Reading
    namespaces: Reading


class _Examination:
    """One run: each method asks something, :meth:`_each` in parallel."""

    def __init__(self, cluster: ClusterReader, scope: ExaminationScope) -> None:
        self._cluster = cluster
        self._scope = scope
        self._known: dict[Account, AccountFacts] = {}
        """Several Services may have the same account."""
        self._connected: frozenset[RegisteredService] = frozenset()
        """The Service to which ``--connect`` leads."""

    def facts(self) -> Facts:
        """All of it."""
        registrations, now = self._registrations()
        examination = HookExamination(self._cluster, self._scope.groups, min(HANDSHAKE, self._scope.seconds))
        hooks = examination.registered()
        own = [each.service for each in registrations if each.service is not None]
        others = [each.service for each in hooks.hooks if each.service is not None]
        references = dict.fromkeys([*own, *others])
        self._check_connect(own or [each.service for each in hooks.hooks if each.service and ALL not in each.groups])
        alone = self._alone()
        services = self._each({(each.namespace, each.name): each for each in references}, self._service)
        targets = {each: (each, services[each.namespace, each.name]) for each in references}
        paths = _document_paths(alone["openapi_v3"], registrations)
        etcd, stored = self._store()
        discovery = self._each({each.name: each for each in registrations}, self._discovery)
        servers = {(each.namespace, each.name) for each in own}
        accounts = {place: self._accounts(place[0], facts) for place, facts in services.items() if place in servers}
        documents = self._each(paths, self._document)
        return Facts(
            now=now,
            registrations=registrations,
            groups=self._scope.groups,
            expected=self._scope.expected,
            services=services,
            discovery=discovery,
            accounts=accounts,
            documents=documents,
            stored=stored,
            etcd=etcd,
            # Last: from outside the cluster most addresses time out without an answer.
            served=self._each(targets, self._served),
            hooks=examination.served(hooks),
            **alone,
        )

    def _store(self) -> tuple[EtcdFacts | None, StoredVersions | None]:
        """The server's store, if it is named."""
        scope = self._scope
        if scope.etcd is not None:
            return read_etcd(scope.etcd, seconds=scope.seconds)
        return None, read_store(scope.storage, seconds=scope.seconds) if scope.storage else None

    def _check_connect(self, references: Sequence[RegisteredService]) -> None:
        """What is at one address can be compared with the caBundles of one Service."""
        self._connected = frozenset(references)
        several = list(dict.fromkeys(f"{each.namespace}/{each.name}" for each in references))
        if self._scope.connect and len(several) > 1:
            raise CannotAsk(
                f"--connect leads to one server, and there are several Services: {', '.join(several)}; choose with --group"
            )

    def _registrations(self) -> tuple[list[Registration], dt.datetime]:
        """The APIServices in question, and kube-apiserver's time. The first question: it shows whether kube-apiserver answers."""
        # All of them, since what is not among them counts as not registered.
        reading = self._cluster.get(APISERVICES, "list on apiservices.apiregistration.k8s.io")
        if reading.status == 403 and self._scope.expected:
            names = [f"{version}.{group.name}" for group in self._scope.expected for version in group.versions]
            readings = self._each({name: name for name in names}, self._api_service).values()
            objects: list[Obj] = [each.obj() for each in readings if each.found]
            if any(not each.found and each.status != 404 for each in readings):
                raise CannotAsk(f"{self._cluster.server}: {reading.why}")
        elif reading.found:
            objects = reading.items()
        else:
            raise CannotAsk(f"{self._cluster.server}: {reading.why}")
        registrations = [registration(obj) for obj in objects]
        wanted = self._scope.groups
        chosen = [each for each in registrations if (each.group in wanted if wanted else each.service is not None)]
        return sorted(chosen, key=lambda each: (each.group, each.version)), reading.date or dt.datetime.now(dt.UTC)

    def _alone(self) -> _Alone:
        """The questions that are asked once, by their names in :class:`Facts`."""
        terminating = {"fieldSelector": "status.phase=Terminating", "limit": PAGE}
        get = self._cluster.get
        asked: dict[str, Callable[[], Reading]] = {
            "config_map": lambda: get(
                CONFIG_MAP, "get on configmaps extension-apiserver-authentication in kube-system"
            ),
            "aggregated": lambda: get("/apis", "get on the path /apis", accept=AGGREGATED),
            "openapi_v2": lambda: get("/openapi/v2", "get on the path /openapi/v2"),
            "openapi_v3": lambda: get("/openapi/v3", "get on the path /openapi/v3"),
            "namespaces": lambda: get("/api/v1/namespaces", "list on namespaces", query=terminating),
        }
        return cast("_Alone", self._each(asked, lambda ask: ask()))

    def _api_service(self, name: str) -> Reading:
        return self._cluster.get(f"{APISERVICES}/{name}", f"get on apiservices.apiregistration.k8s.io {name}")

    def _discovery(self, of: Registration) -> Reading:
        path = f"/apis/{of.group}/{of.version}"
        return self._cluster.get(path, f"get on the path {path}")

    def _document(self, path: str) -> Reading:
        return self._cluster.get(path, f"get on the path {path}")

    def _service(self, of: RegisteredService) -> ServiceFacts:
        """The Service; for one that selects pods, these, and the Deployments that make them."""
        base = f"/api/v1/namespaces/{of.namespace}"
        service = self._cluster.get(f"{base}/services/{of.name}", f"get on services in {of.namespace}")
        selector = selector_of(service.obj())
        if not service.found or text(service.obj(), "spec", "type") == "ExternalName":
            return ServiceFacts(service)
        slices = self._cluster.get(
            f"/apis/discovery.k8s.io/v1/namespaces/{of.namespace}/endpointslices",
            f"list on endpointslices.discovery.k8s.io in {of.namespace}",
            query={"labelSelector": f"kubernetes.io/service-name={of.name}", "limit": PAGE},
        )
        if not selector:
            return ServiceFacts(service, slices)
        labels = ",".join(f"{key}={value}" for key, value in selector.items())
        pods = self._cluster.get(
            f"{base}/pods", f"list on pods in {of.namespace}", query={"labelSelector": labels, "limit": PAGE}
        )
        deployments = None
        if not pods.items():
            deployments = self._cluster.get(
                f"/apis/apps/v1/namespaces/{of.namespace}/deployments",
                f"list on deployments.apps in {of.namespace}",
                query={"limit": PAGE},
            )
        return ServiceFacts(service, slices, pods, deployments)

    def _served(self, target: tuple[RegisteredService, ServiceFacts]) -> list[Served]:
        """The certificates at the first address that answers; if none does, the reasons, as far as there was time."""
        reference, facts = target
        failures: list[Served] = []
        given = self._scope.connect if reference in self._connected else None
        for host, port in [given] if given else addresses_of(reference, facts, in_cluster=self._scope.in_cluster):
            left = self._cluster.left()
            if left <= 0:
                return [*failures, Served(authority(host, port), given is not None, over=True)]
            found = shake_hands(
                host,
                port,
                server_name=reference.host,
                seconds=min(HANDSHAKE, self._scope.seconds, left),
                given=given is not None,
            )
            if found.chain:
                return [found]
            failures.append(found)
        return failures

    def _accounts(self, namespace: str, facts: ServiceFacts) -> list[AccountFacts]:
        accounts = [self._scope.account] if self._scope.account else accounts_of(namespace, facts)
        lease = lease_rights(namespace, facts, self._scope.candidates)
        for each in accounts:
            if each not in self._known:
                self._known[each] = self._account(each, lease)
        return [self._known[each] for each in accounts]

    def _account(self, account: Account, lease: LeaseRights) -> AccountFacts:
        path = f"/api/v1/namespaces/{quote(account.namespace)}/serviceaccounts/{quote(account.name)}"
        exists = self._cluster.get(path, f"get on serviceaccounts in {account.namespace}")
        reviews = self._each(
            {right: (account, right) for right in (*RIGHTS, *lease.rights, *self._scope.needs)}, self._review
        )
        return AccountFacts(account, exists, reviews, lease)

    def _review(self, asked: tuple[Account, Right]) -> Reading:
        return self._cluster.post(REVIEWS, "create on subjectaccessreviews.authorization.k8s.io", review_of(*asked))

    def _each(self, asked: Mapping[Key, Question], ask: Callable[[Question], Answer]) -> dict[Key, Answer]:
        """Ask about each, in parallel."""
        return in_parallel(asked, ask, workers=WORKERS)


def _document_paths(openapi_v3: Reading, registrations: Sequence[Registration]) -> dict[str, str]:
    """The path of the OpenAPI v3 document of each version, by name of its APIService; unlisted versions are left out."""
    listed = member(openapi_v3.obj(), "paths")
    urls = {each.name: text(listed, f"apis/{each.group}/{each.version}", "serverRelativeURL") for each in registrations}
    return {name: url for name, url in urls.items() if url.startswith("/openapi/v3/")}
