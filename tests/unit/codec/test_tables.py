"""Tables: behaviour F20, G4, J44."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from extapi.api.column import Column
from extapi.codec.tables import Columns, row, row_object, table

CREATED = "2024-05-01T10:00:00Z"
NOW = datetime(2024, 5, 1, 10, 5, 30, tzinfo=UTC).timestamp()
PIZZA: dict[str, Any] = {
    "apiVersion": "g/v1",
    "kind": "Pizza",
    "metadata": {"name": "x", "creationTimestamp": CREATED, "resourceVersion": "7"},
    "spec": {"toppings": [{"name": "tomato"}, {"name": "ham"}]},
    "status": {"cost": "1.50"},
}


def test_without_columns_there_are_name_and_age() -> None:
    columns = Columns()
    name, age = json.loads(columns.definitions)
    assert (name["name"], name["type"], name["format"], name["priority"]) == ("Name", "string", "name", 0)
    assert name["description"].startswith("Name must be unique within a namespace.")
    assert (age["name"], age["type"], age["format"], age["priority"]) == ("Age", "date", "", 0)
    assert age["description"].startswith("CreationTimestamp is a timestamp representing the server time")
    raw = columns.raw_cells(PIZZA)
    assert columns.render(raw, NOW) == ["x", "5m30s"]
    assert columns.render(raw, NOW + 3600) == ["x", "65m"]


def test_definitions_carry_what_the_column_says() -> None:
    columns = Columns(
        [
            Column("Cost", ".status.cost", "string"),
            Column("N", ".spec.n", "integer", format="int32", description="how many", priority=1),
        ]
    )
    assert json.loads(columns.definitions)[1:] == [
        {
            "name": "Cost",
            "type": "string",
            "format": "",
            "description": "Custom resource definition column (in JSONPath format): .status.cost",
            "priority": 0,
        },
        {"name": "N", "type": "integer", "format": "int32", "description": "how many", "priority": 1},
    ]


def test_a_cell_is_made_of_the_whole_object_where_no_path_can_say_it() -> None:
    columns = Columns(
        [
            Column("Toppings", type="integer", cell=lambda obj: len(obj["spec"]["toppings"])),
            Column("Kind", type="string", description="what it is", cell=lambda obj: obj["kind"].lower()),
            Column("Since", type="date", cell=lambda obj: obj["metadata"]["creationTimestamp"]),
        ]
    )
    assert columns.render(columns.raw_cells(PIZZA), NOW) == ["x", 2, "pizza", "5m30s"]
    descriptions = [column["description"] for column in json.loads(columns.definitions)]
    assert descriptions[1:] == ["", "what it is", ""]


def test_a_cell_that_cannot_be_made_leaves_the_others() -> None:
    columns = Columns([Column("Bad", type="string", cell=lambda obj: obj["no"]), Column("C", ".kind", "string")])
    assert columns.render(columns.raw_cells(PIZZA), NOW) == ["x", "<error>", "Pizza"]


def test_a_column_called_name_stands_where_it_was_put() -> None:
    # As the events of kube-apiserver: Last Seen first, the name last.
    columns = Columns([Column("Cost", ".status.cost", "string"), Column("Name", ".metadata.name", "string")])
    assert [column["name"] for column in json.loads(columns.definitions)] == ["Cost", "Name"]
    assert columns.render(columns.raw_cells(PIZZA), NOW) == ["1.50", "x"]
    assert columns.bookmark_cells() == ["", None]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "a", "a"),
        ("string", 5, "5"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("string", False, "false"),
        ("string", {"b": 1, "a": [2]}, '{"a":[2],"b":1}'),
        ("string", None, None),
        ("integer", 5, 5),
        ("integer", 5.7, 5),
        ("integer", "5", None),
        ("integer", True, None),
        ("number", 5, 5.0),
        ("number", 1.5, 1.5),
        ("number", "x", None),
        ("boolean", True, True),
        ("boolean", 1, None),
        ("boolean", "true", None),
        ("date", CREATED, "5m30s"),
        ("date", "2024-05-01T12:00:00.25+02:00", "5m29s"),
        ("date", "2025-05-01T10:00:00Z", "<invalid>"),
        ("date", "yesterday", "<invalid>"),
        ("date", "2024-05-01", "<invalid>"),
        ("date", "2024-13-01T10:00:00Z", "<invalid>"),
        ("date", "", "<unknown>"),
        ("date", "0001-01-01T00:00:00Z", "<unknown>"),
        ("date", "0001-01-01T00:00:00+14:00", "292y"),
        ("date", 5, None),
        ("other", 5, None),
    ],
)
def test_cells_are_of_the_columns_type(kind: str, value: Any, cell: Any) -> None:
    columns = Columns([Column("C", ".v", kind)])
    rendered = columns.render(columns.raw_cells({"metadata": {"name": "x"}, "v": value}), NOW)
    assert rendered == ["x", cell]
    assert type(rendered[1]) is type(cell)


def test_missing_values_are_null_and_string_columns_show_all_of_several_results() -> None:
    columns = Columns([Column("T", ".spec.toppings[*].name", "string"), Column("M", ".spec.missing", "string")])
    assert columns.render(columns.raw_cells(PIZZA), NOW) == ["x", "tomato,ham", None]
    assert columns.raw_cells({}) == ("", None, None)


def test_a_definition_s_columns_show_the_first_result_and_the_name_before_all() -> None:
    """As of the models of kserve's ServingRuntime: 1.36.3 answers with the first."""
    columns = Columns([Column("Name", ".spec.toppings[*].name", "string")], defined=True)
    assert [each["name"] for each in json.loads(columns.definitions)] == ["Name", "Name"]
    assert columns.raw_cells(PIZZA) == ("x", "tomato")


def test_of_several_results_that_are_no_strings_the_first_counts() -> None:
    columns = Columns([Column("Q", ".q[*]", "integer")])
    assert columns.raw_cells({"metadata": {"name": "x"}, "q": [3, 4]}) == ("x", 3)


def test_rows_include_the_object_as_asked() -> None:
    assert row(["x"], row_object(PIZZA, "None")) == b'{"cells":["x"],"object":null}'
    assert json.loads(row(["x"], row_object(PIZZA, "Object"))) == {"cells": ["x"], "object": PIZZA}
    assert json.loads(row(["x"], row_object(PIZZA, "Metadata", version="v1beta1")))["object"] == {
        "apiVersion": "meta.k8s.io/v1beta1",
        "kind": "PartialObjectMetadata",
        "metadata": PIZZA["metadata"],
    }


def test_a_table_of_a_list() -> None:
    columns = Columns()
    rows = [row(["a", "1s"], None), row(["b", "2s"], None)]
    metadata = {"resourceVersion": "9", "continue": "t", "remainingItemCount": 3}
    assert json.loads(b"".join(table(columns.definitions, metadata, rows))) == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": json.loads(columns.definitions),
        "rows": [{"cells": ["a", "1s"], "object": None}, {"cells": ["b", "2s"], "object": None}],
    }


def test_an_empty_table_and_the_other_version() -> None:
    made = json.loads(b"".join(table(b"[]", {"resourceVersion": "9"}, [], version="v1beta1")))
    assert (made["rows"], made["apiVersion"]) == ([], "meta.k8s.io/v1beta1")


def test_later_events_of_a_watch_have_no_definitions_and_a_bookmark_no_cells() -> None:
    columns = Columns([Column("A", ".a", "string"), Column("B", ".b", "date")])
    cells = columns.bookmark_cells()
    assert cells == ["", None, None]
    event = json.loads(b"".join(table(None, {"resourceVersion": "9"}, [row(cells, None)])))
    assert event["columnDefinitions"] is None


def test_large_tables_come_in_pieces() -> None:
    rows = [row(["x" * 1000], None)] * 500
    pieces = list(table(b"[]", {}, rows))
    assert len(pieces) > 5
    assert max(map(len, pieces)) < 70_000
    assert len(json.loads(b"".join(pieces))["rows"]) == 500
