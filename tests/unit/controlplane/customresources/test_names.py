"""The names of definitions; reasons and texts are those of apiextensions-apiserver/pkg/controller/status."""

from __future__ import annotations

import pytest

from extapi.controlplane.customresources.names import TakenNames, named, settled
from tests.unit.controlplane.customresources.plane import definition


def accepted(obj: dict[str, object], **names: object) -> dict[str, object]:
    return {**obj, "status": {"acceptedNames": names}}


TAKEN = accepted(
    definition("tables"), plural="tables", singular="table", shortNames=["tb", "tt"], kind="Table", listKind="TableList"
)


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        ({"plural": "table"}, "PluralConflict", '"table" is already in use'),
        ({"singular": "tables"}, "SingularConflict", '"tables" is already in use'),
        ({"shortNames": ["x", "tb"]}, "ShortNamesConflict", '"tb" is already in use'),
        ({"shortNames": ["tb", "tt"]}, "ShortNamesConflict", '["tb" is already in use, "tt" is already in use]'),
        ({"kind": "Table"}, "KindConflict", '"Table" is already in use'),
        ({"listKind": "TableList"}, "ListKindConflict", '"TableList" is already in use'),
        ({"kind": "TableList"}, "KindConflict", '"TableList" is already in use'),
        ({"kind": "Table", "listKind": "TableList"}, "ListKindConflict", '"TableList" is already in use'),
    ],
)
def test_a_name_that_another_definition_has_is_refused(names: dict[str, object], reason: str, message: str) -> None:
    obj = definition("chairs", listKind="ChairList")
    obj["spec"]["names"].update(names)
    naming = named(obj, TakenNames.of([TAKEN, obj]))
    assert naming.names == ("NamesAccepted", "False", reason, message)
    assert naming.established == ("Established", "False", "NotAccepted", "not all names are accepted")
    wanted = obj["spec"]["names"]
    assert naming.accepted == {key: value for key, value in wanted.items() if key not in names}


def test_free_names_are_accepted_and_categories_always() -> None:
    obj = definition("chairs", categories=["all"], shortNames=["ch"], listKind="ChairList")
    naming = named(obj, TakenNames.of([TAKEN, obj]))
    assert naming.accepted == obj["spec"]["names"]
    assert naming.names == ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    assert naming.established == ("Established", "False", "Installing", "the initial names have been accepted")
    assert settled(accepted(obj, **naming.accepted))


def test_what_a_definition_has_stays_its_own_until_it_wants_something_else() -> None:
    had = {"plural": "chairs", "singular": "chair", "kind": "Chair", "listKind": "ChairList", "shortNames": ["ch"]}
    obj = accepted(definition("chairs", listKind="ChairList", shortNames=["ch", "tb"]), **had)
    naming = named(obj, TakenNames.of([TAKEN, obj]))
    assert naming.names[2:] == ("ShortNamesConflict", '"tb" is already in use')
    assert naming.accepted == had
    fewer = named(accepted(definition("chairs", listKind="ChairList"), **had), TakenNames.of([TAKEN, obj]))
    assert fewer.accepted == {key: value for key, value in had.items() if key != "shortNames"}


def test_one_that_is_established_stays_so() -> None:
    obj = accepted(definition("chairs"))
    condition = {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "m"}
    obj["status"]["conditions"] = [condition]  # type: ignore[index]
    naming = named(obj, TakenNames.of([TAKEN, accepted(definition("sofas"), plural="chairs")]))
    assert naming.names[1] == "False"
    assert naming.established == ("Established", "True", "InitialNamesAccepted", "m")
    free = named(obj, TakenNames.of([TAKEN]))
    assert free.names[1] == "True"
    assert free.established == naming.established


def test_a_name_is_free_once_nobody_has_it_any_more() -> None:
    had = {"plural": "sofas", "singular": "couch", "shortNames": ["couch"], "kind": "Sofa", "listKind": "SofaList"}
    before = accepted(definition("sofas"), **had)
    between = accepted(definition("sofas"), **{**had, "singular": "sofa"})
    after = accepted(definition("sofas"), **{**had, "singular": "sofa", "shortNames": []})
    wants = definition("chairs", listKind="ChairList")
    wants["spec"]["names"]["singular"] = "couch"
    taken = TakenNames.of([before])
    taken.replace(before, between)
    assert named(wants, taken).names.reason == "SingularConflict"
    taken.replace(between, after)
    assert named(wants, taken).names.reason == "NoConflicts"
    assert taken == TakenNames.of([after])
