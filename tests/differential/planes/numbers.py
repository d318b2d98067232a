"""Numbers that the kinds of Kubernetes cannot hold, at every entrance: the built-in control plane must not store them."""

from __future__ import annotations

from tests.differential.planes.naming import Steps, named
from tests.differential.planes.samples import ACCOUNT, CONFIG_MAP, EVENT, LEASE, SERVICE, STRATEGIC
from tests.differential.side import JSON_PATCH, MERGE, YAML, Step, delete, get, merge, post

FAR = "1" + "0" * 400
NUMBERS = ("1e400", FAR, "9223372036854775808", "2147483648")


def _text(body: str, metadata: str = "") -> str:
    return f'{{"metadata":{{"name":"new"{metadata}}}{body and "," + body}}}'


def _lease(value: str) -> tuple[Step, ...]:
    """A field of type int32 at every entrance, and one of metadata."""
    spec = f'"spec":{{"leaseDurationSeconds":{value}}}'
    one = LEASE.at("one")
    return (
        post(LEASE.obj("one"), LEASE.path),
        post(_text(spec), LEASE.path),
        post(_text("", f',"generation":{value}'), LEASE.path),
        post(f"metadata: {{name: other}}\nspec: {{leaseDurationSeconds: {value}}}\n", LEASE.path, YAML),
        merge(one, f"{{{spec}}}"),
        merge(one, f"{{{spec}}}", STRATEGIC),
        merge(one, f'[{{"op":"add","path":"/spec/leaseDurationSeconds","value":{value}}}]', JSON_PATCH),
        merge(one, f'{{"metadata":{{"generation":{value}}}}}', MERGE),
        get(one),
        delete(one, f'{{"gracePeriodSeconds":{value}}}'),
    )


def _short(value: str) -> str:
    return value if len(value) < 40 else f"{value[:8]}..{len(value)}"


LEASES: dict[str, Steps] = {f"of a lease {_short(value)}": _lease(value) for value in NUMBERS}
OTHERS: dict[str, Steps] = {
    f"of others {_short(value)}": (
        post(_text(f'"data":{{"a":{value}}}'), CONFIG_MAP.path),
        post(_text(f'"spec":{{"clusterIP":"None","ports":[{{"port":{value}}}]}}'), SERVICE.path),
        post(_text(f'"spec":{{"clusterIP":"None","ports":[{{"port":80,"targetPort":{value}}}]}}'), SERVICE.path),
        post(_text(f'"involvedObject":{{"kind":"A","namespace":"{{ns}}","name":"a"}},"count":{value}'), EVENT.path),
        post(ACCOUNT.obj("one"), ACCOUNT.path),
        post(f'{{"spec":{{"audiences":[],"expirationSeconds":{value}}}}}', ACCOUNT.at("one", "/token")),
        get(CONFIG_MAP.path + "?fieldSelector=metadata.name%3Dnew"),
    )
    for value in ("1e400", FAR, "9223372036854775808")
}

CASES = named({"numbers": {**LEASES, **OTHERS}})
