"""Which names of a definition are accepted: those that no other definition of its group has. A function of objects.

Source: ``apiextensions-apiserver/pkg/controller/status/naming_controller.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from extapi.api.types import Obj
from extapi.crd.conditions import ESTABLISHED, NAMES_ACCEPTED, DefinitionCondition, find_condition, is_true
from extapi.errors import go_quote

ACCEPTED = DefinitionCondition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
NOT_ACCEPTED = DefinitionCondition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
INSTALLING = DefinitionCondition(ESTABLISHED, "False", "Installing", "the initial names have been accepted")


@dataclass(slots=True)
class TakenNames:
    """The names that the definitions of one group have been given."""

    resources: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """Both: how often each is there. A definition may have a name twice."""

    @classmethod
    def of(cls, definitions: Iterable[Obj]) -> TakenNames:
        """The names that these definitions have."""
        taken = cls()
        for each in definitions:
            taken.resources.update(_of_resources(each))
            taken.kinds.update(_of_kinds(each))
        return taken

    def replace(self, before: Obj, after: Obj) -> None:
        """Take the names of a definition as it is now in place of those that it had."""
        for counter, names in ((self.resources, _of_resources), (self.kinds, _of_kinds)):
            counter.update(names(after))
            counter.subtract(names(before))


@dataclass(frozen=True, slots=True)
class Naming:
    """What becomes of the names of a definition."""

    accepted: Obj
    """The names that it has from now on."""
    names: DefinitionCondition
    established: DefinitionCondition


def accepted_names(definition: Obj) -> Obj:
    """The names that a definition has been given."""
    found: Obj = (definition.get("status") or {}).get("acceptedNames") or {}
    return found


def _of_resources(definition: Obj) -> list[str]:
    names = accepted_names(definition)
    return [names.get("plural", ""), names.get("singular", ""), *names.get("shortNames", ())]


def _of_kinds(definition: Obj) -> list[str]:
    names = accepted_names(definition)
    return [names.get("kind", ""), names.get("listKind", "")]


def settled(definition: Obj) -> bool:
    """Whether a definition has all names that it wants."""
    return _plain(definition["spec"]["names"]) == _plain(accepted_names(definition))


def named(definition: Obj, taken: TakenNames) -> Naming:
    """Give a definition the names that are free; ``taken``: of its group."""
    wanted, had = definition["spec"]["names"], accepted_names(definition)
    new = dict(had)
    refusal: tuple[str, str] | None = None
    for name, reason, used in (
        ("plural", "PluralConflict", taken.resources),
        ("singular", "SingularConflict", taken.resources),
        ("shortNames", "ShortNamesConflict", taken.resources),
        ("kind", "KindConflict", taken.kinds),
        ("listKind", "ListKindConflict", taken.kinds),
    ):
        if name == "shortNames":
            own = had.get(name) or ()
            lost = [each for each in wanted.get(name) or () if each not in own and used[each]]
        else:
            lost = [each for each in [wanted.get(name, "")] if each != had.get(name, "") and used[each]]
        if lost:  # the last conflict is told
            refusal = reason, _joined([f"{go_quote(each)} is already in use" for each in lost])
        else:
            _copy(name, wanted, new)
    _copy("categories", wanted, new)
    names = ACCEPTED if refusal is None else DefinitionCondition(NAMES_ACCEPTED, "False", *refusal)
    established = find_condition(definition, ESTABLISHED) or NOT_ACCEPTED
    if names is ACCEPTED and not is_true(definition, ESTABLISHED):
        established = INSTALLING
    return Naming(new, names, established)


def _joined(texts: list[str]) -> str:
    """Errors as Go's ``Aggregate`` prints them: each once."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def _copy(name: str, source: Obj, into: Obj) -> None:
    if source.get(name):
        into[name] = source[name]
    else:
        into.pop(name, None)


def _plain(names: Obj) -> Obj:
    """Names without those that are not set."""
    return {key: value for key, value in names.items() if value}
