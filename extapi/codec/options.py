"""The query parameters of requests, and the body of a delete, as options.

Responsible for: reading and judging CreateOptions, UpdateOptions, PatchOptions, ListOptions, DeleteOptions and
TableOptions, with kube-apiserver's texts. Must not know what the options lead to, nor the grammar of selectors.
Source: spec E20-E23, E25, E27, E32, E45, E46, E51, F4, F7, F10, F15, G4; ``apimachinery/pkg/apis/meta``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from extapi.api.requestselectors import Selectors
from extapi.api.strconv import parse_int, parse_uint
from extapi.errors import ApiError, BadRequest, FieldError, Invalid

__all__ = [
    "CreateOptions",
    "IncludeObject",
    "ListOptions",
    "PatchOptions",
    "Query",
    "UpdateOptions",
    "Validation",
    "WriteOptions",
    "create_options",
    "first_value",
    "include_object",
    "list_options",
    "manager_of",
    "parse_bool",
    "parse_int64",
    "parse_resource_version",
    "patch_options",
    "update_options",
]

Query = Mapping[str, Sequence[str]]
Validation = Literal["Ignore", "Warn", "Strict"]
IncludeObject = Literal["None", "Metadata", "Object"]

GROUP = "meta.k8s.io"
_MANAGER_BYTES = 128


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What all writes share. ``field_manager``: "" if the client named none; see :func:`manager_of`."""

    dry_run: bool = False
    field_validation: Validation = "Warn"
    field_manager: str = ""


class CreateOptions(WriteOptions):
    """Options of POST."""

    __slots__ = ()


class UpdateOptions(WriteOptions):
    """Options of PUT."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class PatchOptions(WriteOptions):
    """Options of PATCH. ``force`` is only for apply."""

    force: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of LIST, WATCH and deletecollection. ``limit`` 0: all; ``timeout_seconds`` None: the server's choice."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    watch: bool = False
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None
    timeout_seconds: int | None = None


def create_options(query: Query) -> CreateOptions:
    """The options of a create. Raises :class:`Invalid` of kind CreateOptions."""
    fields, errors = _write_fields(query)
    _refuse("CreateOptions", errors)
    return CreateOptions(*fields)


def update_options(query: Query) -> UpdateOptions:
    """The options of an update. Raises :class:`Invalid` of kind UpdateOptions."""
    fields, errors = _write_fields(query)
    _refuse("UpdateOptions", errors)
    return UpdateOptions(*fields)


def patch_options(query: Query, *, apply: bool = False) -> PatchOptions:
    """The options of a patch. Raises :class:`Invalid` of kind PatchOptions (spec E56)."""
    fields, errors = _write_fields(query)
    force = parse_bool(query, "force")
    if apply and not first_value(query, "fieldManager"):
        errors.insert(0, FieldError.required("fieldManager", "is required for apply patch"))
    if not apply and force is not None:
        errors.insert(0, FieldError.forbidden("force", "may not be specified for non-apply patch"))
    _refuse("PatchOptions", errors)
    return PatchOptions(*fields, force=bool(force))


def _write_fields(query: Query) -> tuple[tuple[bool, Validation, str], list[FieldError]]:
    manager = first_value(query, "fieldManager")
    validation = first_value(query, "fieldValidation")
    dry_run = list(query.get("dryRun", ()))
    errors = [*_manager_errors(manager), *dry_run_errors(dry_run)]
    if validation not in ("", "Ignore", "Strict", "Warn"):
        errors.append(FieldError.not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    return (bool(dry_run), cast("Validation", validation or "Warn"), manager), errors


def dry_run_errors(dry_run: Sequence[str]) -> list[FieldError]:
    """Only ``All`` is allowed, as often as it may occur (spec E20)."""
    if all(value == "All" for value in dry_run):
        return []
    return [FieldError.not_supported("dryRun", list(dry_run), ("All",))]


def _manager_errors(manager: str) -> list[FieldError]:
    """Spec E22. Positions are counted in bytes."""
    errors = []
    if len(manager.encode(errors="replace")) > _MANAGER_BYTES:
        errors.append(FieldError.too_long("fieldManager", _MANAGER_BYTES))
    at = 0
    for char in manager[: _MANAGER_BYTES * 2]:
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {at})"
            errors.append(FieldError.invalid("fieldManager", manager, detail))
        at += len(char.encode(errors="replace"))
    return errors


def manager_of(field_manager: str, user_agent: str) -> str:
    """The name under which a write is recorded: as given, else the User-Agent up to its first slash (spec E22)."""
    if field_manager:
        return field_manager
    product = user_agent.partition("/")[0]
    printable = "".join(char for char in product if char.isprintable())
    return printable.encode(errors="replace")[:_MANAGER_BYTES].decode(errors="ignore") or "unknown"


def list_options(query: Query, selectors: Selectors | None = None, *, watch_path: bool = False) -> ListOptions:
    """The options of a list or watch.

    ``selectors``: those of the query, parsed in between, as kube-apiserver does: one that cannot be is told before the
    other options are judged. ``watch_path``: the deprecated paths with ``/watch/``, judged as a list (spec F15). A watch
    that names neither a revision nor what it wants first is turned into one with initial events (spec F4). Raises
    :class:`BadRequest` for what is no number and no selector, :class:`Invalid` of kind ListOptions otherwise.
    """
    options = ListOptions(
        label_selector=first_value(query, "labelSelector"),
        field_selector=first_value(query, "fieldSelector"),
        watch=bool(parse_bool(query, "watch")) and not watch_path,
        allow_watch_bookmarks=bool(parse_bool(query, "allowWatchBookmarks")),
        resource_version=first_value(query, "resourceVersion"),
        resource_version_match=first_value(query, "resourceVersionMatch"),
        timeout_seconds=parse_int64(query, "timeoutSeconds"),
        limit=max(0, parse_int64(query, "limit") or 0),  # a negative one is none
        continue_=first_value(query, "continue"),
        send_initial_events=parse_bool(query, "sendInitialEvents"),
    )
    if selectors is not None:
        _ = selectors.labels, selectors.fields
    unsaid = options.send_initial_events is None and not options.resource_version_match
    if options.watch and unsaid and options.resource_version in ("", "0"):
        options = replace(options, send_initial_events=True, resource_version_match="NotOlderThan")
    _refuse("ListOptions", _watch_errors(options) if options.watch else _list_errors(options))
    return replace(options, watch=True) if watch_path else options


_MATCH = "resourceVersionMatch"
_NOT_WITH_CONTINUE = FieldError.forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided")


def _list_errors(options: ListOptions) -> list[FieldError]:
    """Spec E27."""
    match, errors = options.resource_version_match, []
    if match:
        if not options.resource_version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            errors.append(FieldError.forbidden(_MATCH, why))
        if options.continue_:
            errors.append(_NOT_WITH_CONTINUE)
        if match not in ("Exact", "NotOlderThan"):
            errors.append(FieldError.not_supported(_MATCH, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            errors.append(FieldError.forbidden(_MATCH, why))
    if options.send_initial_events is not None:
        errors.append(FieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    """Spec F7."""
    match, errors = options.resource_version_match, []
    if options.send_initial_events is not None and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        errors.append(FieldError.forbidden(_MATCH, why))
    if match:
        if options.send_initial_events is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(FieldError.forbidden(_MATCH, why))
        if match != "NotOlderThan":
            errors.append(FieldError.not_supported(_MATCH, match, ("NotOlderThan",)))
        if options.continue_:
            errors.append(_NOT_WITH_CONTINUE)
    return errors


def parse_resource_version(text: str) -> int | None:
    """The revision that ``resourceVersion`` names; None for "".

    Raises :class:`BadRequest` for anything else than a number of 64 bits. kube-apiserver does so for lists; its get and
    watch say the same with 500 (spec E25, F10), which would count a client's mistake as ours.
    """
    if not text:
        return None
    try:
        return parse_uint(text)
    except ValueError as why:
        error = FieldError.invalid("resourceVersion", text, str(why)).text()
    raise BadRequest(f"invalid resource version: {error}")


def include_object(query: Query) -> IncludeObject:
    """What rows of a Table carry (spec G4); ``Metadata`` if nothing is said. Raises :class:`BadRequest`."""
    text = first_value(query, "includeObject")
    if text not in ("", "None", "Metadata", "Object"):
        error = FieldError.invalid("includeObject", text, "must be 'Metadata', 'Object', 'None', or empty")
        raise BadRequest(f"Unable to convert to Table as requested: {error.text()}")
    return cast("IncludeObject", text or "Metadata")


def first_value(query: Query, name: str) -> str:
    """The first value of a parameter, "" if there is none."""
    values = query.get(name)
    return values[0] if values else ""


def parse_bool(query: Query, name: str) -> bool | None:
    """A boolean parameter: anything but ``0`` and ``false`` is true, even nothing (spec E32). None if it is absent."""
    values = query.get(name)
    return values[0] != "0" and values[0].lower() != "false" if values else None


def parse_int64(query: Query, name: str) -> int | None:
    """An integer parameter, None if it is absent. Raises :class:`BadRequest` with Go's text (spec E32)."""
    values = query.get(name)
    if not values:
        return None
    try:
        return parse_int(values[0])
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _refuse(kind: str, errors: list[FieldError]) -> None:
    if errors:
        refusal: ApiError = Invalid.of(kind, GROUP, "", errors)
        raise refusal
