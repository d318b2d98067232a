"""Config maps and secrets: data by key."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from string import ascii_letters, digits
from typing import Annotated

import msgspec

from extapi import Column, Description, FieldError, Object, Strategy
from extapi.api.types import Obj
from extapi.codec.gobytes import byte_count
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.messages import MESSAGES
from extapi.controlplane.kinds.parts import AGE, Base64, canonical, kind_of

LARGEST = 1024 * 1024
"""Bytes of all values together."""
_KEY = "[-._a-zA-Z0-9]+"
_IN_KEY = f"-._{ascii_letters}{digits}"

Immutable = Annotated[bool | None, Description("If true, only metadata can be changed.")]


class ConfigMap(Object):
    """Configuration data."""

    immutable: Immutable = None
    data: Annotated[dict[str, str], Description("Texts by key.")] = {}
    binary_data: Annotated[dict[str, Base64], Description("Bytes by key; no key may be in data too.")] = {}


class Secret(Object):
    """Confidential data."""

    immutable: Immutable = None
    data: Annotated[dict[str, Base64], Description("Bytes by key.")] = {}
    string_data: Annotated[dict[str, str], Description("Texts that a write puts into data; empty when read.")] = {}
    type: Annotated[str, Description("The purpose of the data; cannot be changed.")] = "Opaque"


def key_problems(key: str) -> Iterator[str]:
    """What is wrong with a key (``IsConfigMapKey``)."""
    if len(key) > 253:
        yield "must be no more than 253 characters"
    if not key or key.strip(_IN_KEY):
        yield (
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
            f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_KEY}')"
        )
    if key in {".", ".."}:
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def _frozen(new: ConfigMap | Secret, old: ConfigMap | Secret | None, fields: dict[str, str]) -> Iterator[FieldError]:
    """Errors of changes to an immutable object; ``fields``: wire names and attributes."""
    if old is None or not old.immutable:
        return
    changed = [name for name, attribute in fields.items() if getattr(new, attribute) != getattr(old, attribute)]
    for name in ["immutable", *changed] if not new.immutable else changed:
        yield FieldError.forbidden(name, "field is immutable when `immutable` is set")


class ConfigMapStrategy(Strategy):
    """Keys are unique, and the data is bounded. Source: ``kubernetes/pkg/apis/core/validation`` ValidateConfigMap."""

    def prepare(self, obj: ConfigMap, old: ConfigMap | None) -> None:
        """Normalize the base64."""
        del old
        obj.binary_data = {key: canonical("ConfigMap", text) for key, text in obj.binary_data.items()}

    def validate(self, obj: ConfigMap, old: ConfigMap | None) -> Iterable[FieldError]:
        """Check immutability, keys and size."""
        yield from _frozen(obj, old, {"data": "data", "binaryData": "binary_data"})
        for key in obj.data:
            for problem in key_problems(key):
                yield FieldError.invalid(f"data[{key}]", key, problem)
            if key in obj.binary_data:
                yield FieldError.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in obj.binary_data:
            for problem in key_problems(key):
                yield FieldError.invalid(f"binaryData[{key}]", key, problem)
        size = sum(len(text.encode()) for text in obj.data.values()) + sum(map(byte_count, obj.binary_data.values()))
        if size > LARGEST:
            yield FieldError.too_long("[]", LARGEST)  # kube-apiserver prints the path of the whole object so


class SecretStrategy(Strategy):
    """A secret keeps its type, and has its type's keys. Source: ``kubernetes/pkg/apis/core/validation`` ValidateSecret."""

    def prepare(self, obj: Secret, old: Secret | None) -> None:
        """Normalize the base64."""
        del old
        obj.type = obj.type or "Opaque"
        obj.data = {key: canonical("Secret", text) for key, text in obj.data.items()}

    def validate(self, obj: Secret, old: Secret | None) -> Iterable[FieldError]:
        """Check immutability, keys, size and type."""
        if old is not None and obj.type != old.type:
            yield FieldError.invalid("type", obj.type, "field is immutable")
        yield from _frozen(obj, old, {"data": "data"})
        for key in obj.data:
            for problem in key_problems(key):
                yield FieldError.invalid(f"data[{key}]", key, problem)
        if sum(map(byte_count, obj.data.values())) > LARGEST:
            yield FieldError.too_long("data", LARGEST)
        yield from _typed(obj)


def _typed(secret: Secret) -> Iterator[FieldError]:
    """Errors of the keys that the type of a secret requires."""
    data = secret.data
    match secret.type:
        case "kubernetes.io/service-account-token":
            name = "kubernetes.io/service-account.name"
            if not secret.metadata.annotations.get(name):
                yield FieldError.required(f"metadata.annotations[{name}]")
        case "kubernetes.io/dockercfg":
            yield from _json(data, ".dockercfg")
        case "kubernetes.io/dockerconfigjson":
            yield from _json(data, ".dockerconfigjson")
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                yield FieldError.required("data[username]")
                yield FieldError.required("data[password]")
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield FieldError.required("data[ssh-privatekey]")
        case "kubernetes.io/tls":
            yield from (FieldError.required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data)


def _json(data: dict[str, str], key: str) -> Iterator[FieldError]:
    """Errors of a required value that has to be a JSON object."""
    if key not in data:
        yield FieldError.required(f"data[{key}]")
        return
    try:
        msgspec.json.decode(base64.b64decode(data[key]), type=dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        yield FieldError.invalid(f"data[{key}]", "<secret contents redacted>", str(error))


def _complete(obj: Obj) -> None:
    """Put texts into the data (``Convert_v1_Secret_To_core_Secret``)."""
    texts, data = obj.get("stringData"), obj.get("data", {})
    if not (isinstance(texts, dict) and isinstance(data, dict)):
        return
    if all(isinstance(text, str) for text in texts.values()):
        del obj["stringData"]
        if texts:
            obj["data"] = {**data, **{key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}}


CONFIG_MAP = kind_of(
    ConfigMap,
    status=False,
    short_names=["cm"],
    columns=[
        Column("Data", type="integer", cell=lambda obj: len(obj.get("data", ())) + len(obj.get("binaryData", ()))),
        AGE,
    ],
    strategy=ConfigMapStrategy(),
)
SECRET = kind_of(
    Secret,
    status=False,
    columns=[Column("Type", ".type"), Column("Data", type="integer", cell=lambda obj: len(obj.get("data", ()))), AGE],
    selectable=[".type"],
    strategy=SecretStrategy(),
    behaviour=built_in(MESSAGES, complete=_complete),
)
