from __future__ import annotations

import subprocess
import sys
from typing import Any

from extapi.schema.schema import Schema
from extapi.schema.structural import from_openapi

SCHEMA = Schema(
    from_openapi(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "default": {},
                    "properties": {"n": {"type": "integer", "default": 1, "maximum": 2}},
                }
            },
        }
    )
)


def test_what_is_unknown_goes_before_defaults_are_filled_in() -> None:
    obj: dict[str, Any] = {"spec": None, "typo": 1}
    assert SCHEMA.prune_and_default(obj) == ["typo"]
    assert obj == {"spec": {"n": 1}}


def test_validation_knows_the_old_object() -> None:
    assert [error.path for error in SCHEMA.validate({"spec": {"n": 3}})] == ["spec.n"]
    assert SCHEMA.validate({"spec": {"n": 3}}, {"spec": {"n": 3}}) == []


def test_one_schema_serves_many_objects_without_mixing_them() -> None:
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    SCHEMA.prune_and_default(first)
    SCHEMA.prune_and_default(second)
    first["spec"]["n"] = 5
    assert second == {"spec": {"n": 1}}
    assert SCHEMA.validate(second) == []


def test_an_object_is_accepted_if_it_breaks_neither_schema_nor_rule() -> None:
    rules = [{"rule": "self.n % 2 == 0"}]
    node = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}, "x-kubernetes-validations": rules}
    schema = Schema(from_openapi({"type": "object", "properties": {"spec": node}}))
    assert [schema.accepts({"spec": {"n": n}}) for n in (4, 5, 6)] == [True, False, False]
    assert schema.validate({"spec": {"n": 3}}) == []
    assert (SCHEMA.accepts({}), SCHEMA.rules) == (True, None)


def test_a_server_without_rules_imports_no_cel() -> None:
    code = """
import sys
from extapi import Api, Group, Kind, Version
from extapi.testing import serve
schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}
with serve(Api(Group("a.example.com", Kind("A", storage="v1", versions={"v1": Version(schema)})))) as server:
    obj = {"apiVersion": "a.example.com/v1", "kind": "A", "metadata": {"name": "a"}}
    assert server.request("POST", "/apis/a.example.com/v1/namespaces/default/as", body=obj).status == 201
print([name for name in sys.modules if name.startswith("extapi.schema.cel")])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_a_converted_object_has_embedded_metadata_as_go_reads_it() -> None:
    schema = Schema(
        from_openapi(
            {
                "type": "object",
                "properties": {
                    "template": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        )
    )
    for stored, wanted in (
        (None, {}),
        ({"labels": {"a": None}, "typo": 1}, {"labels": {"a": ""}}),
        ("malformed", "malformed"),
    ):
        obj = {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": stored}, "unknown": 1}
        schema.normalize_converted(obj)
        assert obj == {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": wanted}}
