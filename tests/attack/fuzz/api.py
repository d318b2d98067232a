"""The API that is attacked: pizzas, the twin's gadgets, and kinds that have every format, marker and subresource there is.

For ``extapi serve tests.attack.fuzz.api:api`` as well. Its own group is :data:`GROUP`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from extapi import (
    CLUSTER,
    Api,
    ApiError,
    Column,
    ConnectRequest,
    Group,
    Kind,
    Minimum,
    Object,
    Quantity,
    RESTRequest,
    Struct,
    Subresource,
    Version,
    WebSocket,
    WebSocketResponse,
)
from extapi.pizza import api as pizza
from tests.kubernetes.apis import gadgets
from tests.kubernetes.twin_schema import OURS, SCHEMA as GADGET

GROUP = "fuzz.example.com"
PIZZAS = "restaurant.programming-kubernetes.info"

FORMATS = (
    "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10",
    "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "date-time", "k8s-short-name",
    "k8s-long-name", "unknown-format",
)  # fmt: skip

_STRING = {"type": "string"}

EVERYTHING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                **{f"f-{name}": {"type": "string", "format": name} for name in FORMATS},
                "int": {"type": "integer"},
                "int32": {"type": "integer", "format": "int32"},
                "int64": {"type": "integer", "format": "int64", "minimum": -(2**53), "maximum": 2**53},
                "number": {"type": "number"},
                "float": {"type": "number", "format": "float"},
                "double": {"type": "number", "format": "double", "exclusiveMinimum": True, "minimum": 0},
                "multiple": {"type": "number", "multipleOf": 0.1},
                "multipleInt": {"type": "integer", "multipleOf": 7, "default": 7},
                "bool": {"type": "boolean", "default": False},
                "string": {"type": "string", "minLength": 1, "maxLength": 20},
                "enum": {"type": "string", "enum": ["a", "b", "", "\u00e9"], "default": "a"},
                "enumNumber": {"type": "number", "enum": [1, 1.5, -0.0]},
                "nullable": {"type": "string", "nullable": True, "default": None},
                "nullableMap": {"type": "object", "nullable": True, "additionalProperties": _STRING},
                "pattern": {"type": "string", "pattern": "^(a|b|ab)*c?$"},
                "patternAnywhere": {"type": "string", "pattern": "(a+)+b"},
                "patternUnicode": {"type": "string", "pattern": r"^\p{Lu}\pL*$"},
                "intOrString": {"x-kubernetes-int-or-string": True},
                "intOrStringBoth": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^[0-9]+%?$",
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "freeAny": {"x-kubernetes-preserve-unknown-fields": True},
                "map": {"type": "object", "additionalProperties": _STRING, "minProperties": 1, "maxProperties": 5},
                "maps": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
                },
                "atomicMap": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": _STRING},
                "list": {"type": "array", "items": _STRING, "minItems": 1, "maxItems": 5},
                "lists": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                "atomicList": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "atomic"},
                "set": {
                    "type": "array",
                    "items": {"type": "number"},
                    "x-kubernetes-list-type": "set",
                    "maxItems": 5000,
                },
                "setOfStrings": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
                "listMap": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "port"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": _STRING,
                            "port": {"type": "integer", "default": 80},
                            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    },
                },
                "embedded": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "embeddedList": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "properties": {"spec": {"type": "object", "properties": {"a": _STRING}}},
                    },
                },
                "oneOf": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
                "allOf": {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^a"}], "not": {"enum": ["ab"]}},
                "defaults": {
                    "type": "object",
                    "default": {"inner": {"x": 1}},
                    "properties": {
                        "inner": {
                            "type": "object",
                            "properties": {"x": {"type": "integer"}, "y": {"type": "string", "default": "y"}},
                        }
                    },
                },
                "selected": {"type": "string"},
                "selectedNumber": {"type": "integer"},
                "selectedBool": {"type": "boolean"},
                "selectedEmail": {"type": "string", "format": "email"},
            },
        },
        "notes": {"type": "array", "items": _STRING},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"phase": _STRING}},
    },
}

OPEN: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

SMALL: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {"size": {"type": "integer"}, "explode": _STRING},
        }
    },
}

QUOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"grams": {"type": "integer", "minimum": 1}, "cost": {"type": "string"}},
        },
        "status": {"type": "object", "properties": {"price": _STRING}},
    },
}
PIZZA_BETA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "toppings": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string", "enum": ["tomato", "mozzarella", "salami"]},
                            "quantity": {"type": "integer"},
                        },
                    },
                }
            },
        }
    },
}
PIZZA_ALPHA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "toppings": {"type": "array", "items": {"type": "string", "enum": ["tomato", "mozzarella", "salami"]}}
            },
        }
    },
}
TOPPING: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["cost"],
            "properties": {"cost": {"type": "string", "format": "quantity"}},
        }
    },
}


class QuoteSpec(Struct):
    grams: Annotated[int, Minimum(1)] = 1
    cost: str = ""


class QuoteStatus(Struct):
    price: str | None = None


class Quote(Object):
    """Answers itself: nothing of it is stored."""

    spec: QuoteSpec = QuoteSpec()
    status: QuoteStatus = QuoteStatus()


async def echo(request: ConnectRequest) -> WebSocketResponse:
    """Gives back what it is sent."""
    del request

    async def session(socket: WebSocket) -> None:
        async for message in socket:
            await socket.send(message)

    return WebSocketResponse(session)


class Quotes:
    """Answers every verb that a kind without a store can have."""

    async def create(self, asked: RESTRequest, quote: Quote) -> Quote:
        """The same with a price."""
        return self._priced(quote)

    async def get(self, asked: RESTRequest) -> Quote | None:
        """There are those whose names begin with ``n``."""
        if not asked.name.startswith("n"):
            return None
        quote = Quote()
        quote.metadata.name = asked.name
        quote.metadata.namespace = asked.namespace
        return quote

    async def list(self, asked: RESTRequest) -> list[Quote]:
        """Two of them."""
        found = []
        for name in ("n0", "n1"):
            quote = Quote()
            quote.metadata.name = name
            quote.metadata.namespace = asked.namespace or "a"
            found.append(quote)
        return found

    async def update(self, asked: RESTRequest, quote: Quote) -> Quote:
        """The same with a price."""
        return self._priced(quote)

    async def delete(self, asked: RESTRequest) -> None:
        """It is gone, as it always was."""

    @staticmethod
    def _priced(quote: Quote) -> Quote:
        if quote.spec.cost:
            try:
                Quantity.parse(quote.spec.cost)
            except ValueError as error:
                raise _BadCost(str(error)) from None
        quote.status.price = str(quote.spec.grams)
        return quote


class _BadCost(ApiError):
    code = 400
    reason = "BadRequest"


class HubSpec(Struct):
    size: int = 0
    explode: str = ""


class Hub(Object):
    """What both versions meet in."""

    spec: HubSpec = HubSpec()


class Beta(Object):
    """The stored version."""

    spec: HubSpec = HubSpec()


EXPLODED = "on purpose: this author's code has a mistake"


def _from_hub(hub: Hub) -> Beta:
    if hub.spec.explode == "please":
        raise RuntimeError(EXPLODED)
    return Beta(spec=HubSpec(size=hub.spec.size, explode=hub.spec.explode))


def _to_hub(beta: Beta) -> Hub:
    return Hub(spec=HubSpec(size=beta.spec.size, explode=beta.spec.explode))


_COLUMNS = [
    Column("Int", ".spec.int", "integer"),
    Column("Number", ".spec.number", "number"),
    Column("Bool", ".spec.bool", "boolean"),
    Column("String", ".spec.list[*]"),
    Column("Free", ".spec.free.a", "number"),
    Column("Any", ".spec.freeAny", "integer"),
    Column("When", ".spec.f-date-time", "date"),
    Column("Weird", ".spec.freeAny", "date", priority=1),
    Column("Phase", ".status.phase", "boolean"),
    Column("Notes", ".notes[*]"),
]

everything = Kind(
    "Everything",
    plural="everythings",
    storage="v1",
    short_names=["ev"],
    categories=["all"],
    versions={
        "v1": Version(EVERYTHING),
        "v1beta1": Version(EVERYTHING, deprecated=True, columns=[Column("Ints", ".spec.maps.*", "string")]),
    },
    columns=_COLUMNS,
    selectable=[".spec.selected", ".spec.selectedNumber", ".spec.selectedBool", ".spec.selectedEmail"],
    subresources={
        "notes": Subresource(field="notes"),
        "act": Subresource(rest=Quotes(), kind="Quote", type=Quote),
    },
)

api = Api(
    Group(
        GROUP,
        everything,
        Kind("Openness", plural="opens", scope=CLUSTER, storage="v1", status=False, versions={"v1": Version(OPEN)}),
        Kind(
            "Quote",
            storage="v1",
            status=False,
            versions={"v1": Version(Quote)},
            rest=Quotes(),
            subresources={"exec": Subresource(connects=echo)},
        ),
        Kind(
            "Hubbed",
            plural="hubs",
            storage="v1beta1",
            hub=Hub,
            status=False,
            versions={"v1": Version(Hub), "v1beta1": Version(Beta, to_hub=_to_hub, from_hub=_from_hub)},
        ),
    ),
    *gadgets.groups,
    *pizza.groups,
    admission=pizza.admission,
)
"""Without the pizzas' controller: a request then changes what it says, and nothing else."""


@dataclass(frozen=True)
class Served:
    """A resource in one version as the generator knows it: written down once more, not asked of our own discovery."""

    group: str
    version: str
    plural: str
    kind: str
    schema: dict[str, Any]
    namespaced: bool = True
    stored: bool = True
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """As in bodies."""
        return f"{self.group}/{self.version}"


RESOURCES = (
    Served(GROUP, "v1", "everythings", "Everything", EVERYTHING, subresources=("status", "notes", "act")),
    Served(GROUP, "v1beta1", "everythings", "Everything", EVERYTHING, subresources=("status", "notes", "act")),
    Served(GROUP, "v1", "opens", "Openness", OPEN, namespaced=False),
    Served(GROUP, "v1", "quotes", "Quote", QUOTE, stored=False),
    Served(GROUP, "v1", "hubs", "Hubbed", SMALL),
    Served(GROUP, "v1beta1", "hubs", "Hubbed", SMALL),
    # The only scale: twice as often as its status.
    Served(OURS, "v1", "gadgets", "Gadget", GADGET, subresources=("status", "scale", "scale")),
    Served(PIZZAS, "v1beta1", "pizzas", "Pizza", PIZZA_BETA, subresources=("status",)),
    Served(PIZZAS, "v1alpha1", "pizzas", "Pizza", PIZZA_ALPHA, subresources=("status",)),
    Served(PIZZAS, "v1alpha1", "toppings", "Topping", TOPPING, namespaced=False),
)
