"""The worst inputs of each scan and each parser that a client's bytes reach, three megabytes each: ``python -m`` runs some.

A case runs in a process of its own, which the kernel ends when it has taken too much time or memory. What takes linear time
needs a second or so; what takes quadratic time would need hours.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any

from extapi import Api, Format, Group, Kind, Object, Struct, Version
from extapi.api import duration, metadata, metadata_rules, names, percent, quantity, selectors, timestamp, versions
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.authorization.impersonation import _service_account
from extapi.codec import (
    contenttype,
    continuation,
    gobytes,
    negotiation,
    options,
    strictjson,
    strictyaml,
    tables,
    warnings,
)
from extapi.codec.body import strict_error, strict_warnings
from extapi.codec.patches import json_patch
from extapi.controlplane.aggregator.headers import identity, request_bytes
from extapi.controlplane.builtin.protobufvalues import text as protobuf_text
from extapi.controlplane.kinds.data import key_problems
from extapi.controlplane.kinds.services import _port_name_problems
from extapi.errors import ApiError, Invalid, go_quote
from extapi.listener import request
from extapi.listener.requestinfo import request_info
from extapi.managedfields.atom import DEDUCED, Atom, ListType, MapType
from extapi.managedfields.comparison import compare
from extapi.managedfields.fieldmanager import FieldManager
from extapi.managedfields.fields import fields_of
from extapi.managedfields.fieldset import FieldSet
from extapi.managedfields.merging import merge, remove
from extapi.managedfields.typedsets import reconcile, with_named_fields
from extapi.managedfields.updater import Conversion, Types
from extapi.managedfields.validation import check
from extapi.pizza import api as pizza
from extapi.schema.default import default
from extapi.schema.embedded import coerce_embedded
from extapi.schema.formats import string_format
from extapi.schema.pattern import matcher
from extapi.schema.prune import prune
from extapi.schema.structural import from_openapi
from extapi.schema.validate import validate
from extapi.testing import InMemoryServer, serve
from extapi.webhooks.patch import json_patch as difference
from extapi.webhooks.reviews.admission import read_admission
from extapi.webhooks.reviews.conversion import read_conversion
from extapi.webhooks.reviews.reading import BadReview, read_object

SIZE = 3 * 1024 * 1024
"""Bytes: the most that a body may have."""
SECONDS = 30
"""Of CPU for one case, which has up to a dozen inputs."""
MEMORY = 3 << 30
"""Bytes of address space; several hundred megabytes are the interpreter's and its libraries'."""

Case = Callable[[], None]
CASES: dict[str, Case] = {}


def fill(unit: str) -> str:
    """As many of them as a body has room for."""
    return unit * (SIZE // len(unit.encode()))


def case(name: str, run: Callable[[Any], object], *inputs: Callable[[], Any]) -> None:
    """``run`` for each input, which may be refused."""

    def each() -> None:
        for make in inputs:
            try:
                found = run(make())
                if isinstance(found, Iterable):
                    list(found)
            except (ApiError, BadReview, ValueError) as error:
                str(error)

    CASES[name] = each


def filled(*units: str, before: str = "", after: str = "") -> list[Callable[[], str]]:
    """One input for each unit."""

    def one(unit: str) -> Callable[[], str]:
        return lambda: f"{before}{fill(unit)}{after}"

    return [one(unit) for unit in units]


# -- texts ------------------------------------------------------------------------------------------------------------

FORMATS: dict[str, list[Callable[[], str]]] = {
    "email": [
        *filled("a", "a.", '""', "=?x?q?a?= ", "()", before="x ", after="\x01 <a@b.c>"),
        *filled("a@", '\\"', "(", "a@b,"),
        *filled("(()", before="a@b "),
        *filled("a@b,", before="x:"),
        *filled("1.", before="a@["),
    ],
    "duration": filled("1", "1h", "1 ", "1x", "1" * 20 + "x", "0.1s"),
    "uri": [
        *filled("a", "a:", "%41", "%zz", "?", "/"),
        *filled("a@", "[", "]", ":", "%C3%A9", "1.", "a%25", before="http://"),
        *filled(":", "%25", "0:", before="http://[", after="]:1/"),
        # Marks in the wrong order: to put them right takes quadratic time.
        lambda: "http://" + "\u0301" * (SIZE // 4) + "\u0323" * (SIZE // 4) + "/",
    ],
    "hostname": filled("a", "a.", "-", "\u2603.", "\ud800"),
    "ipv4": filled("1", "1.", "0", ":", "0:", "0.", "%"),
    "ipv6": filled("1", ":", "0:", "0.", "::", "%"),
    "cidr": [*filled("1.", "0:", "/"), *filled("1", "0", before="1.2.3.4/")],
    "mac": filled("00:", "0000.", "0", "-"),
    "uuid": filled("0", "-", "0-"),
    "uuid4": filled("0", "-", "0-"),
    "isbn": filled("1", "-", "1-", " ", "\u2003"),
    "creditcard": filled("4", "4-", "-", "\u0664"),
    "ssn": filled("1", "-", "123-45-6789"),
    "hexcolor": filled("#", "f"),
    "rgbcolor": [*filled(" ", "1,", ",", " 1 ,", before="rgb(", after=")"), *filled("rgb(")],
    "byte": filled("YQ==", "YWJj", "="),
    "date": filled("1", "-", "2020-01-01"),
    "date-time": [*filled("t", "T", "1"), *filled("1", "z", "+00:00", before="2020-01-01t00:00:00.")],
    "bsonobjectid": filled("a"),
    "k8s-short-name": filled("a", "-"),
    "k8s-long-name": filled("a", "a.", "."),
}


def _checked(name: str) -> Callable[[str], bool]:
    check = string_format(name)
    if check is None:
        raise LookupError(name)
    return check


for _name, _inputs in FORMATS.items():
    case(f"format {_name}", _checked(_name), *_inputs)

_NAMES = filled("a", "a.", "-", "a-", ".", "_", "/", "a/", "A", "\U0001f355")
case("names: label", names.dns1123_label, *_NAMES)
case("names: label of RFC 1035", names.dns1035_label, *_NAMES)
case("names: subdomain", names.dns1123_subdomain, *_NAMES, *filled("a", after="_"), *filled("a.", after="-"))
case("names: qualified", names.qualified_name, *_NAMES, *filled("a.", after="/a"))
case("names: label value", names.label_value, *_NAMES)
case(
    "quantity",
    quantity.Quantity.parse,
    *filled("1", "1.", "E", "+"),
    *filled("1", before="1e"),
    *filled("1", after="x"),
)
case("quantity: suffix", quantity.Quantity.parse, *filled("E", before="1"), *filled("E", before="1", after="x"))
case("timestamp", timestamp.parse_timestamp, *filled("1", '"', "\x01"), *filled("1", before="2020-01-01T00:00:00."))
case("timestamp: more text", timestamp.canonical_timestamp, *filled("Z", before="2020-01-01T00:00:00Z"))
case("duration", duration.parse_duration, *filled("1", "1ns", "h"), *filled("0", before="0."))
case("timeout", lambda text: request.time_allowed(text, 60), *filled("1", "1h", "\x01"))
case("versions", lambda text: versions.by_priority([text]), *filled("1", "1alpha", "alpha", before="v"))
case("quoting", go_quote, *filled("a", '"', "\\", "\x01", "\u0301", "\U000e0001", "\ud800"))
case("patterns of authors", matcher("(a+)+$"), *filled("a"), *filled("a", after="b"))
case("patterns with bounds", matcher("^.{0,500}z|(x+x+)+y"), *filled("a", "x"))
case("base64", gobytes.canonical_bytes, *filled("YQ==", "A", "\n", "="), *filled("A", after="!"))
case("warnings", lambda text: warnings.warning_headers([text]), *filled("a", "\x01", "\u0301", '"', "\u0301\ud800"))
case("warnings: many", warnings.warning_headers, lambda: [f"x{number}" for number in range(SIZE // 8)])
case("cells: dates", lambda text: tables.Columns().raw_cells({"metadata": {"creationTimestamp": text}}),
     *filled("1", "-"), *filled("1", before="2020-01-01T00:00:00."), *filled("1", before="2020-01-01T00:00:00.", after="Z"))  # fmt: skip
case(
    "protobuf: texts",
    lambda data: protobuf_text(memoryview(data)),
    lambda: b"\xff" * SIZE,
    lambda: b"\xe2\x82" * (SIZE // 2),
)

# -- requests ---------------------------------------------------------------------------------------------------------

_TARGETS = [*filled("/%41", "/%4", "%", "?", "://", "/a"), *filled("%ff", "a", before="/")]
case("target", lambda text: request.split_target(text.encode()), *_TARGETS, *filled("a", "/", "?", before="http://"))
case(
    "query", request.parse_query, *filled("a=", "%41", "+", "%", ";", "="), lambda: "&".join([fill("%41")[:3000]] * 999)
)
case("request info", lambda path: request_info("GET", path, {}), *filled("/", "a"), *filled("a/", before="/apis/g/v1/"))
case(
    "numbers in queries",
    lambda text: options.list_options({"limit": [text]}),
    *filled("1", "0", "+"),
    *filled("0", before="-"),
)
case("revisions in queries", options.parse_resource_version, *filled("1", "0", "x"))
case("field manager", lambda text: options.create_options({"fieldManager": [text]}), *filled("a", "\x01", "\u0301"))
case("user agent", lambda text: options.manager_of("", text), *filled("a", "\x01", "/"))
case("continue", continuation.decode, *filled("a", "="), *filled("a", after="="))
_ACCEPTS = filled("a/b,", ",", ";", "/", "*", "=", " ", "a/b;q=1,", "*/*;q=0.", "application/json;as=", "a/b;a=b;")
_WEIGHTS = filled("1", "0", ".", before="application/json;q=1")
case("accept", negotiation.negotiate, *_ACCEPTS, *_WEIGHTS)
case("accept: discovery", negotiation.negotiate_discovery, *_ACCEPTS)
case("accept: watch", negotiation.negotiate_stream, *_ACCEPTS)
case("accept: openapi", negotiation.negotiate_openapi, *_ACCEPTS)
case(
    "content type",
    contenttype.request_format,
    *filled(";", '"', " ", "a/", before="a/b;a="),
    *filled("a=b;", before="a/b;"),
)
case("content type of patches", contenttype.patch_type, *_ACCEPTS)
case("escapes in headers", percent.unescaped_leniently, *filled("%41", "%", "%zz", "%ff", "a"))
case("service accounts", _service_account, *filled(":", "a:", "a"), *filled("a:", before="system:serviceaccount:"))
_LABELS = ["!a,", "a=b,", "(", ",", "=", "a", " ", "a\0", "\u00e9"]
for _unit in _LABELS:
    case(f"label selector {_unit!r}", selectors.parse_label_selector, *filled(_unit))
case("label selector: values", selectors.parse_label_selector, *filled("b,", "-,", ",", before="a in (", after=")"))
case("label selector: numbers", selectors.parse_label_selector, *filled("0", "1", before="a > "))
case("label selector: bad values", selectors.parse_label_selector,
     lambda: f"a in ({','.join(f'-{number}' for number in range(SIZE // 9))})")  # fmt: skip
case(
    "label selector: keys",
    selectors.parse_label_selector,
    lambda: ",".join(f"x{number}" for number in range(SIZE // 9)),
)


def _asked_often(text: str) -> None:
    """As for a list of a thousand objects."""
    labels = {"app.kubernetes.io/name": "web", "tier": "5"}
    matches = selectors.parse_label_selector(text.removesuffix(",")).matches
    fields = selectors.parse_field_selector(text.replace("!", "metadata.name!=").removesuffix(",")).matches
    for _ in range(1000):
        matches(labels)
        fields({"metadata.name": "web", "metadata.namespace": "default"})


case("selectors: asked", _asked_often, *filled("!a,"))
_FIELDS = ["a=b,", "a=b\\,", "\\", ",", "!=", "a\\=,"]
case("field selector", selectors.parse_field_selector, *filled(*_FIELDS))
case("field selector: value", selectors.parse_field_selector, *filled(*_FIELDS, before="a="))
case("field selector: escaped", selectors.escaped, *filled("\\", ",", "a"))
case("field selector: name", lambda text: request_info("GET", "/apis/g/v1/r", {"fieldSelector": [text]}),
     *filled(*_FIELDS, before="metadata.name=x,"))  # fmt: skip

# -- the control plane ------------------------------------------------------------------------------------------------

case("keys of config maps", key_problems, *filled("a", ".", "-!", "\u00e9"))
case("names of ports", _port_name_problems, *filled("a", "-", "1", "-!"))


case("proxy: extra", lambda key: identity(User("jane", extra={key: ("x",)})), *filled("a", "%", "\u00e9", "\x01"))
case("proxy: headers", lambda value: request_bytes("GET", "/", [("a", value)]), *filled("a", "\u00e9"))

# -- bodies -----------------------------------------------------------------------------------------------------------

_JSON = [" ", "[", '"', '["a",', '"\\', "1", "-", "1.", "[1,", "\\u", "{", '{"a":', "t", '{"":1,', "[[],"]
case(
    "json: a small member behind many in order",
    strictjson.encode,
    lambda: {**dict.fromkeys(sorted(f"k{number}" for number in range(SIZE // 11)), 1), "a": 1},
    lambda: [{**dict.fromkeys([f"k{number:03}" for number in range(255)], 1), "a": 1} for _ in range(SIZE // 2048)],
)
case("json", strictjson.decode, *[lambda unit=unit: fill(unit).encode() for unit in _JSON])
case(
    "json: bytes that are no UTF-8",
    strictjson.decode,
    lambda: b"\xff" * SIZE,
    lambda: b'["' + b"\xff" * SIZE + b'"]',
    lambda: b'["' + b"\\ud800" * (SIZE // 6) + b'"]',
    lambda: b"[" + b'"\\ud800",' * (SIZE // 9) + b"1]",
)
case("json: depth", strictjson.decode, lambda: b"[" * 199 + b"1," * (SIZE // 2) + b"1" + b"]" * 199)


def _twice(item: str) -> bytes:
    """A key that occurs twice, and a long one with many items below it, whose paths all begin with it."""
    return f'{{"a":1,"a":1,"{"k" * (SIZE // 2)}":[{",".join([item] * (SIZE // 2 // (len(item) + 1)))}]}}'.encode()


case("json: duplicates", strictjson.decode, *[partial(_twice, item) for item in ("[]", '{"a":1,"a":1}', '{"a":[]}')])
_YAML = [
    *(
        "[",
        "- ",
        "? ",
        "{",
        "a: ",
        "&a ",
        "*a ",
        "!",
        "!a ",
        "# ",
        "\n",
        " ",
        "\t",
        "'",
        '"',
        "|",
        ">",
        "- a\n",
        "a: b\n",
    ),
    *(
        "? a\n",
        "-\n",
        "[a, ",
        "{a: b, ",
        "--- ",
        "...\n",
        "%",
        "%TAG ",
        "%YAML 1.1\n",
        "a\n\n",
        "\\",
        "a: |\n  b\n\n\n",
    ),
    *("[],", ": ", "\u2028", "\x85", "<<: ", "a, "),
]
case("yaml", strictyaml.decode, *[lambda unit=unit: fill(unit).encode() for unit in _YAML])
_SCALARS = ["b", "''", "\\n", "b\n ", "1", "1_", "0x", "1:", "x\n\n"]
case(
    "yaml: scalars",
    strictyaml.decode,
    *[
        lambda start=start, unit=unit: (start + fill(unit)).encode()
        for unit in _SCALARS
        for start in ("a: ", "a: '", 'a: "', "a: |\n ", "a: >\n ", "a: !!int ", "a: &")
    ],
)
case(
    "yaml: tags",
    strictyaml.decode,
    lambda: b"".join(b"%%TAG !%d! x\n" % number for number in range(SIZE // 15)) + b"--- a",
)
case("yaml: many", strictyaml.decode, lambda: bytes(f"{'[' * 190}{fill('a,')}{']' * 190}", "utf-8"))


def _duplicate_keys(text: str) -> None:
    found = strictyaml.decode(text.encode()).duplicates
    strict_error([], found)
    strict_warnings([], found)


case("yaml: duplicates", _duplicate_keys, lambda: "a: 1\n" * 99_000)
case(
    "yaml: output",
    lambda text: strictyaml.encode_yaml({"a": text}),
    *filled("1", "1_", "\n", " ", "'", "\u0301", "-", ": "),
    *filled(":1", ":1x", before="1"),
    *filled("a", "\n", before="2020-01-01 "),
)
case("yaml: output of many", strictyaml.encode_yaml, lambda: ["1:1"] * 200_000)
_DOCUMENT = {"apiVersion": "g/v1", "kind": "K"}


def _patch(operations: list[Obj]) -> None:
    json_patch(_DOCUMENT, json.dumps(operations, separators=(",", ":")).encode())


def _operation(kind: str, path: str, value: Any = None) -> Obj:
    return {"op": kind, "path": path, "value": value}


case(
    "json patch",
    _patch,
    *[lambda unit=unit: [_operation("add", fill(unit))] for unit in ("/a", "~1", "/", "~")],
    lambda: [_operation("add", "/x", [1]), *[_operation("test", f"/x/{'0' * 300}")] * 9_000],
    lambda: [_operation("add", "/x", [0] * (SIZE // 3)), *[_operation("add", "/x/0", 1)] * 9_900],
    lambda: [_operation("add", "/x", [0] * (SIZE // 3)), *[_operation("remove", "/x/0")] * 9_900],
)

# -- objects ----------------------------------------------------------------------------------------------------------


def _metadata(given: Obj) -> None:
    obj = {"metadata": {"name": "a", **metadata.coerce(given).metadata}}
    metadata.dedupe_owner_references(obj)
    errors = metadata_rules.validate_object_meta(obj, namespaced=False)
    metadata.finalizer_warnings(obj)
    json.dumps(Invalid.of("K", "g", "n", errors).status())


def _owners(count: int, name: str = "", **more: Any) -> Obj:
    owner = {"apiVersion": "v1", "kind": "K", "uid": "u", **more}
    return {"ownerReferences": [{**owner, "name": f"{number}{name}"} for number in range(count)]}


case(
    "metadata",
    _metadata,
    lambda: _owners(SIZE // 60),
    lambda: _owners(SIZE // 80, controller=True),
    lambda: _owners(3, fill("x")[: SIZE // 3], controller=True),
    lambda: {
        "ownerReferences": _owners(1, fill("x")[: SIZE // 2], controller=True)["ownerReferences"]
        + _owners(SIZE // 160, controller=True)["ownerReferences"]
    },
    lambda: {"managedFields": [{"manager": fill("\x01")}]},
    lambda: {"managedFields": [{"manager": "\x01"}] * (SIZE // 30)},
    lambda: {"finalizers": [f"-{number}" for number in range(SIZE // 9)]},
    lambda: {"finalizers": [f"a{number}" for number in range(SIZE // 9)]},
    lambda: {"labels": {f"-{number}": "-" for number in range(SIZE // 14)}},
    lambda: {"annotations": {f"-{number}": "" for number in range(SIZE // 12)}},
    lambda: {"name": fill("/"), "generateName": fill("\x01")},
)

_TEXT = {"type": "string"}


def _object(**properties: Any) -> Obj:
    return {"type": "object", "properties": properties}


def _map(of: Obj) -> Obj:
    return {"type": "object", "additionalProperties": of}


def _list(of: Obj, **more: Any) -> Obj:
    return {
        "type": "array",
        "items": of,
        **{f"x-kubernetes-{key.replace('_', '-')}": value for key, value in more.items()},
    }


def _walk(schema: Obj, value: Any) -> None:
    structural = from_openapi(_object(spec=schema, bad=_TEXT))
    obj = {"spec": value, "bad": 1}
    unknown = prune(obj, structural)
    strict_error(unknown, [])
    default(obj, structural)
    coerce_embedded(obj, structural)
    json.dumps(Invalid.of("K", "g", "n", validate(obj, structural)).status())


def _below(value: Any) -> Obj:
    """Under a key of half a body."""
    return {"k" * (SIZE // 2): value}


_WALKS: dict[str, tuple[Obj, Callable[[], Any]]] = {
    "items below a long key": (_map(_list(_TEXT)), lambda: _below([""] * (SIZE // 6))),
    "unknown fields below a long key": (
        _map(_list(_object(a=_TEXT))),
        lambda: _below([{"b": 1} for _ in range(SIZE // 16)]),
    ),
    "unknown keys below a long key": (_map(_object(a=_TEXT)), lambda: _below({f"u{n}": 1 for n in range(SIZE // 24)})),
    "a set below a long key": (_map(_list(_TEXT, list_type="set")), lambda: _below(["a"] * (SIZE // 8))),
    "wrong items": (_list(_TEXT), lambda: [1] * (SIZE // 2)),
    "wrong members": (_map(_TEXT), lambda: {f"{n}": 1 for n in range(SIZE // 10)}),
    "values that are not allowed": (
        _list({**_TEXT, "enum": [f"x{n}" for n in range(100)]}),
        lambda: ["a"] * (SIZE // 4),
    ),
    "duplicates in a set": (_list(_TEXT, list_type="set"), lambda: ["a"] * (SIZE // 4)),
    "objects in a set": (_list(_map(_TEXT), list_type="set"), lambda: [{"a": str(n)} for n in range(SIZE // 18)]),
    "duplicates in a map": (
        _list(_object(a=_TEXT), list_type="map", list_map_keys=["a"]),
        lambda: [{"a": "x"} for _ in range(SIZE // 10)],
    ),
    "embedded objects": (
        _list({"type": "object", "x-kubernetes-embedded-resource": True}),
        lambda: [{"kind": "-"} for _ in range(SIZE // 13)],
    ),
}
for _name, (_schema, _value) in _WALKS.items():
    case(f"schema: {_name}", partial(_walk, _schema), _value)


# -- through the whole chain ------------------------------------------------------------------------------------------


class ThingSpec(Struct):
    mail: Annotated[str | None, Format("email")] = None
    span: Annotated[str | None, Format("duration")] = None
    link: Annotated[str | None, Format("uri")] = None
    since: Annotated[str | None, Format("date-time")] = None


class Thing(Object):
    spec: ThingSpec = ThingSpec()


_GROUP = "worst.example.com"
_THINGS = f"/apis/{_GROUP}/v1/namespaces/default/things"
_TOPPINGS = "/apis/restaurant.programming-kubernetes.info/v1alpha1/toppings"
_API = Api(Group(_GROUP, Kind("Thing", versions={"v1": Version(Thing)}, storage="v1")))


def _asked(server: InMemoryServer, status: int, method: str, path: str, **more: Any) -> None:
    answer = server.request(method, path, **more)
    if answer.status != status:
        raise AssertionError(f"{answer.status} instead of {status}: {answer.body[:300]!r}")


def _thing(spec: Obj | None = None, **more: Any) -> Obj:
    return {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", "metadata": {"name": "a", **more}, "spec": spec or {}}


def _room(text: str) -> str:
    """The text without its end, so that an object around it fits into a body."""
    return text[: SIZE - 1024]


_REFUSED: dict[str, Callable[[], Obj]] = {
    "format email": lambda: _thing({"mail": _room(f"{fill('a')[:-2048]}\1 <a@b.c>")}),
    "format duration": lambda: _thing({"span": _room(fill("1"))}),
    "format uri": lambda: _thing({"link": _room(f"http://{fill('%')}")}),
    "format date-time": lambda: _thing({"since": _room(fill("1"))}),
    "name": lambda: _thing(name=_room(fill("a-"))),
    "generated name": lambda: _thing(name="", generateName=_room(fill(".-"))),
    "label value": lambda: _thing(labels={"a": _room(fill("-"))}),
    "label key": lambda: _thing(labels={_room(fill("a.")): "a"}),
    "labels": lambda: _thing(labels={f"-{number}": "-" for number in range(SIZE // 16)}),
    "annotation": lambda: _thing(annotations={"a": _room(fill("a"))}),
    "finalizers": lambda: _thing(finalizers=[f"-{number}" for number in range(SIZE // 10)]),
    "owners": lambda: _thing(**_owners(SIZE // 90, controller=True)),
}
for _name, _body in _REFUSED.items():

    def _create(body: Callable[[], Obj] = _body) -> None:
        with serve(_API) as server:
            _asked(server, 422, "POST", _THINGS, body=body())

    CASES[f"server: {_name}"] = _create


def _read() -> None:
    """The head of a request has room for a megabyte."""

    def headed(unit: str) -> str:
        return unit * ((1 << 20) // len(unit))

    with serve(_API) as server:
        _asked(server, 201, "POST", _THINGS, body=_thing())
        for unit in ("!b,", "(", "=", " "):
            _asked(server, 400, "GET", _THINGS, query={"labelSelector": headed(unit)})
        for unit in ("metadata.name=a,", "\\", "=", "a\\,"):
            _asked(server, 400, "GET", _THINGS, query={"fieldSelector": headed(unit)})
        for unit, status in (("application/json;q=1,", 200), (";", 406), (",", 406), ("*/*;q=0.", 200)):
            _asked(server, status, "GET", _THINGS, headers={"accept": headed(unit)})
        _asked(server, 415, "POST", _THINGS, headers={"content-type": headed("a/b;")}, body=_thing())
        _asked(server, 400, "GET", _THINGS, query={"limit": headed("1")})
        _asked(server, 400, "GET", _THINGS, query={"continue": headed("a")})
        _asked(server, 422, "POST", _THINGS, query={"fieldManager": headed("\1")}, body=_thing())


CASES["server: selectors and headers"] = _read


def _numbers() -> None:
    with serve(_API) as server:
        _asked(server, 400, "POST", _THINGS, body=_thing(creationTimestamp=_room(fill("1"))))
        _asked(server, 201, "POST", _THINGS, body=_thing(resourceVersion=_room(fill("1"))))
        _asked(server, 500, "PUT", f"{_THINGS}/a", body=_thing(resourceVersion=_room(fill("1"))))


CASES["server: timestamps and revisions"] = _numbers


def _cost() -> None:
    with serve(pizza) as server:
        for cost in (fill("1"), f"{fill('1')}x", fill("E"), f"1{fill('E')}"):
            body = {
                "apiVersion": "restaurant.programming-kubernetes.info/v1alpha1",
                "kind": "Topping",
                "metadata": {"name": "a"},
            }
            _asked(server, 422, "POST", _TOPPINGS, body={**body, "spec": {"cost": _room(cost)}})


CASES["server: quantities"] = _cost


# -- managed fields ---------------------------------------------------------------------------------------------------

_ITEM = Atom(map_=MapType({"k": Atom(scalar="string"), "n": Atom(scalar="numeric")}, None))
_ITEMS = Atom(map_=MapType({"l": Atom(list_=ListType(_ITEM, associative=True, keys=("k", "n")))}, None))
_WHOLE = Atom(map_=MapType({"l": Atom(list_=ListType(_ITEM))}, None))


def _items(keys: Iterable[int]) -> Obj:
    return {"l": [{"k": f"item-{key}", "n": key} for key in keys]}


def _members(element: Callable[[int], str]) -> str:
    return json.dumps({element(number): {} for number in range(SIZE // 20)})


def _nested(depth: int) -> str:
    return '{"f:a":' * depth + "{}" + "}" * depth


case(
    "managed fields: sets",
    lambda text: FieldSet.from_json(json.loads(text)).to_json(),
    lambda: _members(lambda number: f"f:{number}"),
    lambda: _members(lambda number: f"v:{number}"),
    lambda: _members(lambda number: f"k:{json.dumps({'a': str(number)})}"),
    lambda: _members(lambda number: f"i:{number}"),
    lambda: _nested(190),
    lambda: _nested(900),
    lambda: json.dumps({f"v:{'[' * (SIZE // 2)}": {}}),
    lambda: json.dumps({f"v:{'1' * SIZE}": {}}),
    lambda: json.dumps({f"i:{'1' * SIZE}": {}}),
    lambda: json.dumps({f"f:{fill('a')}": {}}),
)


def _of_items(pair: tuple[Obj, Obj]) -> None:
    old, new = pair
    check(new, _ITEMS)
    own, other = fields_of(old, _ITEMS), fields_of(new, _ITEMS)
    found = compare(old, new, _ITEMS)
    merge(old, new, _ITEMS)
    remove(old, other, _ITEMS)
    reconcile(own, _WHOLE)
    for made in (
        own | other,
        own & other,
        own - other,
        own.without_subtrees(found.added),
        with_named_fields(own, _ITEMS),
    ):
        list(made.paths())


def _long_name(last: Any) -> Obj:
    return {fill("a")[: SIZE // 2]: {**{f"{number}": 1 for number in range(SIZE // 30)}, "last": last}}


class _Same(Conversion):
    """There is one version."""

    async def whole(self, obj: Obj, api_version: str) -> Obj:
        del api_version
        return obj


def _conflicts(pair: tuple[Obj, Obj]) -> None:
    live, config = ({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, **part} for part in pair)
    manager = FieldManager(Types({"v1": DEDUCED}, _Same()), "v1", "K")
    for who, obj in (("a", live), ("b", config)):
        try:
            manager.apply(live if who == "b" else None, obj, who, "2020-01-01T00:00:00Z", force=False).send(None)
        except StopIteration as end:
            live = end.value


_FLAGS = Atom(map_=MapType({}, Atom(map_=MapType({}, Atom(scalar="boolean")))))
case("managed fields: problems with long names", lambda obj: check(obj, _FLAGS), lambda: _long_name(1))


def _many(entries: int, fields: int) -> tuple[Obj, Obj]:
    """An object that many manage, and what somebody applies."""
    managed: list[Obj] = [
        {
            "manager": f"{number}",
            "operation": ("Update", "Apply")[number % 2],
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {f"f:{number}": {}}},
        }
        for number in range(entries)
    ]
    live = {"metadata": {"name": "a", "managedFields": managed}, "spec": {"0": 1}}
    return live, {"spec": {f"{number}": {"a": 1} for number in range(fields)}}


def _managed(pair: tuple[Obj, Obj]) -> None:
    live, config = ({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, **part} for part in pair)
    manager = FieldManager(Types({"v1": DEDUCED}, _Same()), "v1", "K")
    for write in (
        manager.apply(live, config, "1", "2020-01-01T00:00:00Z", force=True),
        manager.update(live, {**live, **config}, "b", "2020-01-01T00:00:00Z"),
    ):
        try:
            write.send(None)
        except StopIteration:
            continue


case("managed fields: managers", _managed, lambda: _many(SIZE // 150, 1), lambda: _many(SIZE // 300, SIZE // 40))
case(
    "managed fields: conflicts with long names",
    _conflicts,
    lambda: (_long_name(1), _long_name(2)),
    lambda: (_long_name(1), {fill("a")[: SIZE // 2]: dict.fromkeys(map(str, range(SIZE // 30)), 2)}),
)
case(
    "managed fields: items",
    _of_items,
    lambda: (_items(range(20_000)), _items(reversed(range(20_000)))),
    lambda: (_items(range(20_000)), _items(range(0, 40_000, 2))),
    lambda: (_items(range(1)), _items(range(20_000))),
    lambda: (_items([1] * 20_000), _items(range(20_000))),
    lambda: (_items(range(20_000)), _items([*range(10_000, 20_000), *range(10_000)])),
)

# -- webhooks: what kube-apiserver passes on, and patches of it --------------------------------------------------------


def _wrapped(wrap: Callable[[Any, int], Any], leaf: Any, levels: int = 190) -> Obj:
    for level in range(levels):
        leaf = wrap(leaf, level)
    return {"spec": leaf}


def _big(first: Any) -> Any:
    return [first, *range(SIZE // 8)]


def _patched(pair: tuple[Obj, Obj]) -> None:
    """The patch, which is right."""
    old, new = pair
    operations = difference(old, new)
    if len(operations) <= 1000:
        typed = {"apiVersion": "v1", "kind": "K", **old}
        made = json_patch(typed, strictjson.encode(operations)).value
        if {name: made[name] for name in new} != new:
            raise LookupError("the patch is wrong")


case(
    "webhooks: patches",
    _patched,
    lambda: ({"a": list(range(SIZE // 7))}, {"a": list(range(SIZE // 7))[::-1]}),
    lambda: ({"a": list(range(SIZE // 7))}, {"a": [-1, *range(SIZE // 7)]}),
    lambda: ({"a": [0] * (SIZE // 2)}, {"a": [0, 1] * (SIZE // 4)}),
    lambda: ({str(key): 0 for key in range(SIZE // 12)}, {str(key): 1 for key in range(SIZE // 12)}),
    lambda: (_wrapped(lambda x, _: {"a": x}, _big(0)), _wrapped(lambda x, _: {"a": x}, _big(1))),
    lambda: (_wrapped(lambda x, _: [x], _big(0)), _wrapped(lambda x, _: [x], _big(1))),
    lambda: (_wrapped(lambda x, _: [x], _big(0)), _wrapped(lambda x, level: [x, level], _big(0))),
    lambda: (_wrapped(lambda x, _: {"l": [x]}, _big(0)), _wrapped(lambda x, level: {"l": [level, x]}, _big(1))),
    lambda: (
        {"a": [[*range(32)] for _ in range(SIZE // 90)]},
        {"a": [[*range(31, -1, -1)] for _ in range(SIZE // 90)]},
    ),
    lambda: ({"a": ["x" * 90_000 + str(n) for n in range(32)]}, {"a": ["x" * 90_000 + str(-n) for n in range(32)]}),
    lambda: ({"a~/" * (SIZE // 6): 1}, {"a~/" * (SIZE // 6): 2}),
)


def _conversion(objects: str) -> bytes:
    request = '{"uid":"u","desiredAPIVersion":"v1","objects":%s}'
    return (
        '{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":' + request % objects + "}"
    ).encode()


def _admission(obj: str) -> bytes:
    request = '{"uid":"u","operation":"CREATE","object":%s}'
    return ('{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":' + request % obj + "}").encode()


_WORST_OBJECTS = ("{}", "[]", "0", '""', "null", '{"a":{}}', "1e9", '"\\ud800"')


def _objects_of(body: bytes) -> None:
    for each in read_conversion(body).objects:
        read_object(bytes(each))  # the first one that is none ends the review


case(
    "webhooks: ConversionReviews",
    _objects_of,
    *(lambda unit=unit: _conversion(f"[{','.join([unit] * (SIZE // (len(unit) + 1)))}]") for unit in _WORST_OBJECTS),
    lambda: _conversion("[" * (SIZE // 2) + "]" * (SIZE // 2)),
    lambda: _conversion('{"a":' * (SIZE // 5)),
    lambda: _conversion("9" * SIZE),
)
case(
    "webhooks: AdmissionReviews",
    lambda body: read_object(read_admission(body).object),
    *(
        lambda unit=unit: _admission(f'{{"a":[{",".join([unit] * (SIZE // (len(unit) + 1)))}]}}')
        for unit in _WORST_OBJECTS
    ),
    lambda: _admission('{"a":' * (SIZE // 6) + "1" + "}" * (SIZE // 6)),
    lambda: _admission("9" * SIZE),
    lambda: _admission("{" + ",".join(f'"a{n}":{{}}' for n in range(SIZE // 12)) + "}"),
)


def run(name: str) -> str:
    """How the case ends in a process of its own: nothing, or what went wrong."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        why = ""
        try:
            CASES[name]()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent is told
            why = f"{type(error).__name__}: {str(error)[:500]}"
        os.write(writer, why.encode())
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    said = os.read(reader, 4096).decode()
    os.close(reader)
    return f"took more than {SECONDS} seconds of CPU, or was ended: status {status}" if status else said


if __name__ == "__main__":
    for each in sys.argv[1:] or CASES:
        print(json.dumps([each, run(each)]), flush=True)  # noqa: T201 - that is what it is for
