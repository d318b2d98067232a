"""What is asked of a definition: everything of a new one; on update, what the stored one breaks may stay broken.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` validationOptions, and the functions that derive them from
the old object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from extapi.crd.validation.internal import Spec, VersionSpec
from extapi.crd.validation.webhooks import REVIEW_VERSIONS, ca_bundle_problem
from extapi.schema.cel.rules import NEW, StoredExpressions
from extapi.schema.check_keywords import ALL, TYPES, Asked
from extapi.schema.check_lists import check_map_items, has_open_sets
from extapi.schema.check_structure import structure_errors
from extapi.schema.default import has_default
from extapi.schema.prune import pruner
from extapi.schema.structural import MISSING, Structural
from extapi.schema.unreadable import unreadable

MOST_SELECTABLE: Final = 8


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked.

    Attributes:
        review_versions: One of the versions of ConversionReview is known.
        immutable_names: The scope and the kind stay as they are.
        schemas: Every version has a schema; otherwise those that are served.
        structural: Schemas are structural.
        schema: What is asked of the keywords of schemas.
        stored: The rules and messages that are stored.
        unchanged: The versions whose schemas are as they were: each of their rules may cost what it will.
        any_ca_bundle: The caBundle of the webhook may be anything.
        many_selectable: The versions that may have too many selectable fields; empty: what all share.
    """

    review_versions: bool = True
    immutable_names: bool = False
    schemas: bool = True
    structural: bool = True
    schema: Asked = ALL
    stored: StoredExpressions = NEW
    unchanged: frozenset[str] = frozenset()
    any_ca_bundle: bool = True
    many_selectable: frozenset[str] = field(default_factory=frozenset)


CREATE: Final = Options()


def options_of_update(spec: Spec, old_obj: Mapping[str, Any]) -> Options:
    """What is asked of an update.

    Args:
        spec: The new spec.
        old_obj: The stored definition.
    """
    old = Spec.read(old_obj)
    nodes = [_Schema(version) for version in old.schemas()]
    schemas, before = spec.schemas_by_version(), old.schemas_by_version()
    conversion = old.raw.get("conversion") or {}
    webhook = conversion.get("webhook") or {}
    reviewed = webhook.get("conversionReviewVersions") or ()
    established = is_established(old_obj)
    return Options(
        review_versions=not reviewed or any(each in REVIEW_VERSIONS for each in reviewed),
        immutable_names=established,
        schemas=old.shared.structure is not None or all(each.structure is not None for each in old.versions),
        structural=not any(schema.loose for schema in nodes),
        schema=Asked(
            known_types=not _any(nodes, lambda node: bool(node.type) and node.type not in TYPES),
            atomic_sets=not _any(nodes, has_open_sets),
            sound_keys=not _any(nodes, lambda node: any(check_map_items(node, ""))),
            pruned_defaults=not any(schema.has_unknown_in_defaults() for schema in nodes),
        ),
        stored=StoredExpressions(
            frozenset(rule.get("rule") or "" for rule in _rules(nodes)),
            frozenset(rule["messageExpression"] for rule in _rules(nodes) if rule.get("messageExpression")),
        ),
        unchanged=frozenset(name for name, schema in schemas.items() if name in before and schema == before[name]),
        any_ca_bundle=not established or _is_broken((webhook.get("clientConfig") or {}).get("caBundle") or ""),
        many_selectable=frozenset(_many_selectable(spec, old)),
    )


def is_established(obj: Mapping[str, Any]) -> bool:
    """Whether the definition's condition Established is True."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)


def _is_broken(ca_bundle: str) -> bool:
    return bool(ca_bundle) and bool(ca_bundle_problem(ca_bundle))


def _many_selectable(spec: Spec, old: Spec) -> Iterator[str]:
    before = {each.name: each.selectable for each in old.versions} | {"": old.shared.selectable}
    for each in (spec.shared, *spec.versions):
        kept = before.get(each.name, ())
        if len(kept) > MOST_SELECTABLE and list(each.selectable) == list(kept):
            yield each.name


class _Schema:
    """One stored schema."""

    def __init__(self, version: VersionSpec) -> None:
        self.root = version.read.structural or Structural()
        self.loose = bool(version.read.why or unreadable(self.root) or structure_errors(self.root, ""))

    def has_unknown_in_defaults(self) -> bool:
        """Whether pruning takes something from a default."""
        return not self.loose and any(has_default(node) and _is_unpruned(node) for node in walk(self.root))


def _is_unpruned(node: Structural) -> bool:
    around = Structural(type="object", properties={"default": replace(node, default=MISSING)})
    return bool(pruner(around)({"default": _copied(node.default)}))


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def walk(node: Structural) -> Iterator[Structural]:
    """All nodes of a schema, also those in junctors."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        if not found.plain:
            waiting += found.properties.values()
            waiting += (sub for _, sub in found.branches())
            waiting += (sub for sub in (found.additional, found.items) if sub is not None)


def _any(schemas: Iterable[_Schema], wanted: Callable[[Structural], bool]) -> bool:
    return any(wanted(node) for schema in schemas for node in walk(schema.root))


def _rules(schemas: Iterable[_Schema]) -> Iterator[Mapping[str, Any]]:
    return (rule for schema in schemas for node in walk(schema.root) for rule in node.validations)
