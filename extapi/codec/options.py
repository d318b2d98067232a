"""The query parameters of requests as options (behaviour E20 to E23, E25, E27, E32, F4, F7, F10, F15, G4).

Responsible for: reading and validating CreateOptions, UpdateOptions, PatchOptions, ListOptions and TableOptions, with
kube-apiserver's texts. Must not know what the options do, or the grammar of selectors.

Source: ``apimachinery/pkg/apis/meta``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, cast

from extapi.api.metadata_rules import field_manager
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
_MANAGER_ERRORS = 256
"""Errors about the field manager in one answer; each of its characters may be wrong."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of all writes. ``field_manager`` is "" if the client named none; see :func:`manager_of`."""

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
    """Options of PATCH. Only apply has ``force``."""

    force: bool = False


_CREATE, _UPDATE, _PATCH = CreateOptions(), UpdateOptions(), PatchOptions()
"""The options of most writes: those of a request without a query."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of LIST, WATCH and deletecollection.

    ``limit`` 0 means no limit; without ``timeout_seconds`` the server chooses.
    """

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
    """Read the options of a create.

    Raises:
        Invalid: They are not valid; its kind is CreateOptions.
    """
    if not query:
        return _CREATE
    fields, errors = _write_fields(query)
    _refuse("CreateOptions", errors)
    return CreateOptions(*fields)


def update_options(query: Query) -> UpdateOptions:
    """Read the options of an update.

    Raises:
        Invalid: They are not valid; its kind is UpdateOptions.
    """
    if not query:
        return _UPDATE
    fields, errors = _write_fields(query)
    _refuse("UpdateOptions", errors)
    return UpdateOptions(*fields)


def patch_options(query: Query, *, apply: bool = False) -> PatchOptions:
    """Read the options of a patch (behaviour E56).

    Raises:
        Invalid: They are not valid; its kind is PatchOptions.
    """
    if not query and not apply:
        return _PATCH
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
    errors = [*islice(field_manager(manager), _MANAGER_ERRORS), *dry_run_errors(dry_run)]
    if validation not in ("", "Ignore", "Strict", "Warn"):
        errors.append(FieldError.not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    return (bool(dry_run), cast("Validation", validation or "Warn"), manager), errors


def dry_run_errors(dry_run: Sequence[str]) -> list[FieldError]:
    """The errors of ``dryRun``: only ``All`` is allowed, any number of times (behaviour E20)."""
    if all(value == "All" for value in dry_run):
        return []
    return [FieldError.not_supported("dryRun", list(dry_run), ("All",))]


def manager_of(field_manager: str, user_agent: str) -> str:
    """The manager of a write: the given one, else the User-Agent up to its first slash (behaviour E22)."""
    if field_manager:
        return field_manager
    product = user_agent.partition("/")[0]
    printable = product if product.isprintable() else "".join(char for char in product if char.isprintable())
    return printable.encode(errors="replace")[:_MANAGER_BYTES].decode(errors="ignore") or "unknown"


def list_options(query: Query, selectors: Selectors | None = None, *, watch_path: bool = False) -> ListOptions:
    """Read the options of a list or watch.

    A watch that names neither a revision nor initial events becomes one with initial events (behaviour F4).

    Args:
        query: The query parameters.
        selectors: The selectors of the query. They are parsed before the other options are validated, as in
            kube-apiserver: so an error in them comes first.
        watch_path: Whether the path is a deprecated one with ``/watch/``, whose options are validated as for a list
            (behaviour F15).

    Raises:
        BadRequest: A number or a selector cannot be parsed.
        Invalid: The options are not valid; its kind is ListOptions.
    """
    options = ListOptions(
        label_selector=first_value(query, "labelSelector"),
        field_selector=first_value(query, "fieldSelector"),
        watch=bool(parse_bool(query, "watch")) and not watch_path,
        allow_watch_bookmarks=bool(parse_bool(query, "allowWatchBookmarks")),
        resource_version=first_value(query, "resourceVersion"),
        resource_version_match=first_value(query, "resourceVersionMatch"),
        timeout_seconds=parse_int64(query, "timeoutSeconds"),
        limit=max(0, parse_int64(query, "limit") or 0),  # a negative limit is no limit
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
    """The errors of a list's options (behaviour E27)."""
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
    """The errors of a watch's options (behaviour F7)."""
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

    Raises:
        BadRequest: It is not a 64-bit number. kube-apiserver refuses lists like this; in get and watch it answers 500
            with the same text (behaviour E25, F10), which would count a client's mistake as the server's.
    """
    if not text:
        return None
    try:
        return parse_uint(text)
    except ValueError as why:
        error = FieldError.invalid("resourceVersion", text, str(why)).text()
    raise BadRequest(f"invalid resource version: {error}")


def include_object(query: Query) -> IncludeObject:
    """What the rows of a Table include (behaviour G4); ``Metadata`` by default.

    Raises:
        BadRequest: The value is unknown.
    """
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
    """A boolean parameter, or None if it is absent.

    All but ``0`` and ``false`` is true, also an empty value (behaviour E32).
    """
    values = query.get(name)
    return values[0] != "0" and values[0].lower() != "false" if values else None


def parse_int64(query: Query, name: str) -> int | None:
    """An integer parameter, or None if it is absent.

    Raises:
        BadRequest: It is not an integer; the message is Go's (behaviour E32).
    """
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
