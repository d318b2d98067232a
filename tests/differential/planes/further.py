"""What each kind has of its own: services, events, leases, APIServices."""

from __future__ import annotations

from typing import Any

from tests.differential.planes.naming import Steps, named
from tests.differential.planes.own import made
from tests.differential.planes.samples import EVENT, LEASE, SERVICE, STRATEGIC, TABLE, Sample
from tests.differential.side import Step, delete, get, merge, post, put

PORTS = [{"port": 80}]
SERVICES: dict[str, Steps] = {
    "bodies": made(
        SERVICE,
        {"spec": {"clusterIP": "None", "ports": PORTS}},
        {
            "spec": {
                "clusterIP": "None",
                "ports": [{"port": 80, "name": "a", "targetPort": "web"}, {"port": 81, "name": "b"}],
            }
        },
        {"spec": {"clusterIP": "None", "ports": PORTS, "selector": {"b": "c", "a": "b"}}},
        {"spec": {"clusterIP": "None", "ports": PORTS, "sessionAffinity": "ClientIP"}},
        {"spec": {"clusterIP": "None", "ports": PORTS, "externalIPs": ["1.2.3.4"]}},
        {"spec": {"type": "ExternalName", "externalName": "a.b.", "ports": PORTS}},
    ),
    "addresses": made(
        SERVICE,
        {"spec": {"ports": PORTS}},
        {"spec": {"ports": PORTS, "type": "NodePort"}},
        {"spec": {"ports": PORTS, "type": "LoadBalancer"}},
    ),
    "bad bodies": made(
        SERVICE,
        {"spec": {}},
        {"spec": {"clusterIP": "None", "ports": [{"port": 0}]}},
        {"spec": {"clusterIP": "None", "ports": [{"port": 70000, "targetPort": 70000}]}},
        {"spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": "A_b"}]}},
        {"spec": {"clusterIP": "None", "ports": [{"port": 80}, {"port": 81}]}},
        {"spec": {"clusterIP": "None", "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]}},
        {"spec": {"clusterIP": "None", "ports": [{"port": 80, "protocol": "IP"}]}},
        {"spec": {"clusterIP": "None", "ports": [{"port": 80, "nodePort": 30000}]}},
        {"spec": {"clusterIP": "None", "ports": PORTS, "sessionAffinity": "Some"}},
        {"spec": {"clusterIP": "None", "ports": PORTS, "internalTrafficPolicy": "Some"}},
        {"spec": {"type": "Some", "clusterIP": "None", "ports": PORTS}},
        {"spec": {"type": "ExternalName"}},
        {"spec": {"type": "ExternalName", "externalName": "A b"}},
        {"spec": {"type": "ExternalName", "externalName": "a.b", "clusterIP": "None"}},
        {"spec": {"clusterIP": "None", "ports": PORTS, "selector": {"a b": "c"}}},
    ),
    "ports by number": (
        post(SERVICE.obj(spec={"clusterIP": "None", "ports": [{"port": 80, "name": "a"}]}), SERVICE.path),
        merge(SERVICE.at("new"), {"spec": {"ports": [{"port": 81, "name": "b"}]}}, STRATEGIC),
        merge(SERVICE.at("new"), {"spec": {"ports": [{"port": 80, "name": "c"}]}}, STRATEGIC),
        merge(SERVICE.at("new"), {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}, STRATEGIC),
        merge(SERVICE.at("new"), {"spec": {"ports": [{"name": "x"}]}}, STRATEGIC),
        merge(SERVICE.at("new"), {"spec": {"ports": [{"port": 82, "name": "d"}]}}),
        merge(
            SERVICE.at("new"),
            {"spec": {"$setElementOrder/ports": [{"port": 83}, {"port": 82}], "ports": [{"port": 83, "name": "e"}]}},
            STRATEGIC,
        ),
    ),
    "status": (
        post(SERVICE.obj(spec={"clusterIP": "None", "ports": PORTS}), SERVICE.path),
        merge(
            SERVICE.at("new", "/status"),
            {
                "status": {
                    "conditions": [
                        {
                            "type": "A",
                            "status": "True",
                            "reason": "b",
                            "message": "c",
                            "lastTransitionTime": "2020-01-01T00:00:00Z",
                        }
                    ]
                }
            },
        ),
        merge(SERVICE.at("new", "/status"), {"spec": {"selector": {"a": "b"}}}),
        get(SERVICE.at("new", "/status")),
    ),
    "by field": [
        SERVICE.mine(f"&fieldSelector={field}")
        for field in ("spec.type%3DExternalName", "spec.clusterIP%3DNone", "spec.type%3DNodePort")
    ],
}

HERE: dict[str, Any] = {"kind": "Pod", "namespace": "{ns}", "name": "a"}
NEW: dict[str, Any] = {
    "involvedObject": HERE,
    "eventTime": "2026-01-01T00:00:00.000001Z",
    "reportingComponent": "example.com/oven",
    "reportingInstance": "oven-1",
    "action": "Burn",
    "reason": "Burnt",
    "type": "Normal",
}
PLAIN: dict[str, Any] = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "new", "labels": {"space": "{ns}"}}}
EVENTS: dict[str, Steps] = {
    "bodies": [
        *(
            post({**PLAIN, "metadata": {"name": f"new{number}", "labels": {"space": "{ns}"}}, **body}, EVENT.path)
            for number, body in enumerate(
                (
                    {"involvedObject": HERE},
                    {"involvedObject": {**HERE, "fieldPath": "spec.x", "uid": "u", "resourceVersion": "1"}},
                    NEW,
                    {**NEW, "series": {"count": 3, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
                    {"involvedObject": HERE, "message": " two\nlines ", "source": {"component": "a", "host": "b"}},
                )
            )
        ),
        EVENT.mine(),
        EVENT.mine("", TABLE),
    ],
    "bad bodies": [
        post({**PLAIN, **body}, EVENT.path)
        for body in (
            {},
            {"involvedObject": {"kind": "Pod", "name": "a"}},
            {"involvedObject": {"kind": "Pod", "namespace": "other"}},
            {"involvedObject": {"kind": "Node", "name": "a"}},
            {"involvedObject": {"kind": "Namespace", "name": "a"}},
            {**NEW, "reportingComponent": ""},
            {**NEW, "reportingComponent": "a b"},
            {**NEW, "reportingInstance": "", "action": "", "reason": ""},
            {**NEW, "type": "Other"},
            {**NEW, "type": ""},
            {**NEW, "action": "a" * 129, "message": "m" * 1025},
            {**NEW, "eventTime": "2026"},
            {**NEW, "firstTimestamp": "yesterday"},
        )
    ],
    "in default": post(
        {**PLAIN, "metadata": {"name": "new-{ns}"}, "involvedObject": {"kind": "Node", "name": "a"}},
        "/api/v1/namespaces/default/events?dryRun=All",
    ),
    "by field": [
        post(EVENT.obj("one"), EVENT.path),
        *(
            EVENT.mine(f"&fieldSelector={field}")
            for field in (
                "involvedObject.kind%3DConfigMap",
                "involvedObject.name%3Done,involvedObject.namespace%3D{ns}",
                "involvedObject.uid%3Du",
                "type%3DWarning",
                "type!%3DWarning",
                "reason%3DBurnt",
                "source%3Doven",
                "reportingComponent%3Doven",
                "reportingComponent%3D",
                "involvedObject.apiVersion%3Dv1",
            )
        ),
    ],
}

LEASES: dict[str, Steps] = {
    "bodies": made(
        LEASE,
        {"spec": {}},
        {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0}},
        {"spec": {"acquireTime": "2026-01-01T00:00:00.000001Z", "renewTime": "2026-01-01T00:00:00Z"}},
        {"spec": {"holderIdentity": "a", "strategy": "OldestEmulationVersion"}},
    ),
    "bad bodies": made(
        LEASE,
        {"spec": {"leaseDurationSeconds": 0}},
        {"spec": {"leaseDurationSeconds": -1, "leaseTransitions": -1}},
        {"spec": {"preferredHolder": "b"}},
        {"spec": {"strategy": "some thing"}},
        {"spec": {"renewTime": "yesterday"}},
    ),
    "update": (
        post(LEASE.obj(), LEASE.path),
        get(LEASE.at("new")),
        put(LEASE.at("new"), LEASE.obj(meta={"resourceVersion": "{rv}"}, spec={"holderIdentity": "b"})),
        put(LEASE.at("new"), LEASE.obj(spec={"holderIdentity": "c"})),
        merge(LEASE.at("new"), {"spec": {"leaseTransitions": -1}}),
    ),
}

SERVICED = {"group": "x{ns}.test", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
BACKEND = {"name": "none", "namespace": "{ns}"}
API = Sample(
    "APIService",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    {"spec": {**SERVICED, "service": BACKEND}},
    {},
    "apiregistration.k8s.io/v1",
)


def _api(meta: dict[str, Any] | None = None, **spec: Any) -> Step:
    named = {"name": "v1.x{ns}.test", **(meta or {})}
    return post(API.obj(meta=named, spec={**SERVICED, **spec}), f"{API.path}?dryRun=All")


APIS: dict[str, Steps] = {
    "bodies": [
        _api(service=BACKEND),
        _api(),
        _api(service={**BACKEND, "port": 8443}, caBundle="YQ=="),
        _api(service=BACKEND, insecureSkipTLSVerify=True),
    ],
    "bad bodies": [
        _api({"name": "other"}),
        _api({"name": "v1.other"}),
        _api(service={}),
        _api(service={**BACKEND, "port": 70000}),
        _api(service=BACKEND, insecureSkipTLSVerify=True, caBundle="YQ=="),
        _api(caBundle="YQ=="),
        _api(insecureSkipTLSVerify=True),
        _api(groupPriorityMinimum=0, versionPriority=0),
        _api(groupPriorityMinimum=20001, versionPriority=1001),
        _api(version="V1"),
        _api(group="A_b"),
        post(API.obj(spec={}), f"{API.path}?dryRun=All"),
    ],
    "a life": (
        post(NAMED := API.obj(meta={"name": "v1.x{ns}.test"}), API.path),
        post(NAMED, API.path),
        get(ONE := f"{API.path}/v1.x{{ns}}.test"),
        merge(ONE, {"spec": {"versionPriority": 7}}),
        merge(ONE, {"spec": {"versionPriority": 7000}}),
        merge(ONE, {"spec": {"service": {"port": 1}}}, STRATEGIC),
        merge(ONE, {"spec": {"group": "other"}}),
        merge(ONE, {"status": {"conditions": [{"type": "Other", "status": "True"}]}}),
        merge(f"{ONE}/status", {"spec": {"versionPriority": 9}}),
        put(ONE, NAMED),
        put(ONE, API.obj(meta={"name": "v1.x{ns}.test", "resourceVersion": "1"})),
        get(ONE, TABLE),
        API.mine(),
        get("/apis/x{ns}.test/v1/things"),
        delete(ONE, {"preconditions": {"uid": "u"}}),
        delete(ONE),
        get(ONE),
    ),
    "the control plane's own": [
        *(get(f"{API.path}/v1.{group}") for group in ("", "apps.none")),
        merge(f"{API.path}/v1.none-{{ns}}", {"spec": {}}),
        get(f"{API.path}/v1.rbac.authorization.k8s.io", TABLE),
        get(f"{API.path}/v1.coordination.k8s.io/status"),
    ],
}

TOPICS = {"Service, own": SERVICES, "Event, own": EVENTS, "Lease, own": LEASES, "APIService": APIS}
CASES = named(TOPICS)
