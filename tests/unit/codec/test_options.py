"""Query options: behaviour E20-E23, E25, E27, E32, E56, F4, F7, F10, F15, G4."""

from typing import Any

import pytest

from extapi.api.requestselectors import Selectors
from extapi.codec.options import (
    CreateOptions,
    ListOptions,
    PatchOptions,
    UpdateOptions,
    create_options,
    include_object,
    list_options,
    manager_of,
    parse_int64,
    parse_resource_version,
    patch_options,
    update_options,
)
from extapi.errors import ApiError, BadRequest, Invalid

_UNSAID = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"


def test_defaults() -> None:
    assert create_options({}) == CreateOptions(False, "Warn", "")
    assert update_options({"pretty": ["1"], "unknown": ["x"]}) == UpdateOptions(False, "Warn", "")
    assert patch_options({"fieldValidation": [""]}) == PatchOptions(False, "Warn", "", force=False)
    assert list_options({}) == ListOptions()


def test_values() -> None:
    query = {"dryRun": ["All", "All"], "fieldValidation": ["Strict", "x"], "fieldManager": ["me"]}
    assert create_options(query) == CreateOptions(True, "Strict", "me")
    assert update_options(query) == UpdateOptions(True, "Strict", "me")
    assert patch_options(query | {"force": ["true"]}, apply=True) == PatchOptions(True, "Strict", "me", force=True)


def _invalid(error: ApiError) -> tuple[str, list[dict[str, str]]]:
    status = error.status()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["details"]["group"] == "meta.k8s.io"
    return status["message"], status["details"]["causes"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"dryRun": ["x"]}, 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
        ({"dryRun": ["All", ""]}, 'dryRun: Unsupported value: ["All",""]: supported values: "All"'),
        (
            {"fieldValidation": ["x"]},
            'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"',
        ),
        ({"fieldManager": ["x" * 129]}, "fieldManager: Too long: may not be more than 128 bytes"),
        ({"fieldManager": ["é" * 65]}, "fieldManager: Too long: may not be more than 128 bytes"),
        (
            {"fieldManager": ["é\t"]},
            'fieldManager: Invalid value: "é\\t": invalid character U+0009 (at position 2)',
        ),
    ],
)
def test_write_options_are_judged(query: dict[str, list[str]], text: str) -> None:
    makers: dict[str, Any] = {
        "CreateOptions": create_options,
        "UpdateOptions": update_options,
        "PatchOptions": patch_options,
    }
    for kind, make in makers.items():
        with pytest.raises(Invalid) as raised:
            make(query)
        message, _ = _invalid(raised.value)
        assert message == f'{kind}.meta.k8s.io "" is invalid: {text}'
        assert raised.value.status()["details"]["kind"] == kind


def test_patch_options_know_apply() -> None:
    with pytest.raises(Invalid, match=r"fieldManager: Required value: is required for apply patch$"):
        patch_options({}, apply=True)
    with pytest.raises(Invalid, match=r"force: Forbidden: may not be specified for non-apply patch$"):
        patch_options({"force": ["false"]})


def test_several_errors_come_together() -> None:
    with pytest.raises(Invalid) as raised:
        create_options({"dryRun": ["x"], "fieldValidation": ["y"]})
    message, causes = _invalid(raised.value)
    assert message.startswith('CreateOptions.meta.k8s.io "" is invalid: [dryRun: ')
    assert [cause["field"] for cause in causes] == ["dryRun", "fieldValidation"]


@pytest.mark.parametrize(
    ("manager", "agent", "expected"),
    [
        ("me", "kubectl/v1", "me"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "my\tagent/1", "myagent"),
        ("", "x" * 200, "x" * 128),
        ("", "é" * 100, "é" * 64),
        ("", "x" + "é" * 100, "x" + "é" * 63),
        ("", "", "unknown"),
        ("", "/x", "unknown"),
    ],
)
def test_the_default_manager_comes_from_the_user_agent(manager: str, agent: str, expected: str) -> None:
    assert manager_of(manager, agent) == expected


def test_list_values() -> None:
    query = {
        "labelSelector": ["a=b"],
        "fieldSelector": ["metadata.name=x"],
        "limit": ["+5"],
        "continue": ["abc"],
        "resourceVersion": ["0"],
        "timeoutSeconds": ["-3"],
        "allowWatchBookmarks": ["TRUE"],
    }
    assert list_options(query) == ListOptions(
        label_selector="a=b",
        field_selector="metadata.name=x",
        limit=5,
        continue_="abc",
        resource_version="0",
        timeout_seconds=-3,
        allow_watch_bookmarks=True,
    )


@pytest.mark.parametrize(("given", "limit"), [("-1", 0), ("-9223372036854775808", 0), ("0", 0), ("1", 1)])
def test_a_negative_limit_is_none(given: str, limit: int) -> None:
    """``k8s.io/apiserver/pkg/storage/etcd3`` takes a limit only if it is above 0."""
    assert list_options({"limit": [given]}).limit == limit


@pytest.mark.parametrize(
    ("value", "expected"), [("", True), ("1", True), ("no", True), ("0", False), ("false", False), ("FALSE", False)]
)
def test_booleans(value: str, expected: bool) -> None:
    assert list_options({"watch": [value]}).watch is expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"limit": ["x"]}, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"limit": [""]}, 'strconv.ParseInt: parsing "": invalid syntax'),
        ({"limit": ["1_0"]}, 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        (
            {"timeoutSeconds": ["9223372036854775808"]},
            'strconv.ParseInt: parsing "9223372036854775808": value out of range',
        ),
        ({"limit": ["9" * 5000]}, f'strconv.ParseInt: parsing "{"9" * 5000}": value out of range'),
    ],
)
def test_numbers_that_are_none_are_400(query: dict[str, list[str]], text: str) -> None:
    with pytest.raises(BadRequest) as raised:
        list_options(query)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ({"resourceVersionMatch": "Exact"}, ["Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"]),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "5", "continue": "x"}, [f"Forbidden: {_CONTINUE}"]),
        ({"resourceVersionMatch": "x", "resourceVersion": "5"}, ['Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""']),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, ['Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"']),
        ({"sendInitialEvents": "true"}, ["Forbidden: sendInitialEvents is forbidden for list"]),
        ({"watch": "1", "sendInitialEvents": "true"}, ["Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"]),
        ({"watch": "1", "resourceVersionMatch": "NotOlderThan"}, [f"Forbidden: {_UNSAID}"]),
        ({"watch": "1", "resourceVersion": "5", "resourceVersionMatch": "Exact"}, [f"Forbidden: {_UNSAID}", 'Unsupported value: "Exact": supported values: "NotOlderThan"']),
        ({"watch": "1", "continue": "x"}, [f"Forbidden: {_CONTINUE}"]),
    ],
)  # fmt: skip
def test_list_options_are_judged(query: dict[str, str], texts: list[str]) -> None:
    with pytest.raises(Invalid) as raised:
        list_options({name: [value] for name, value in query.items()})
    _, causes = _invalid(raised.value)
    assert [cause["message"] for cause in causes] == texts
    assert raised.value.status()["details"]["kind"] == "ListOptions"


def test_a_watch_that_says_nothing_begins_with_what_there_is() -> None:
    for version in ("", "0"):
        options = list_options({"watch": ["1"], "resourceVersion": [version]})
        assert (options.send_initial_events, options.resource_version_match) == (True, "NotOlderThan")
    options = list_options({"watch": ["1"], "resourceVersion": ["5"]})
    assert (options.send_initial_events, options.resource_version_match) == (None, "")
    options = list_options({"watch": ["1"], "sendInitialEvents": ["false"], "resourceVersionMatch": ["NotOlderThan"]})
    assert options.send_initial_events is False


def test_the_deprecated_watch_paths_are_judged_as_lists() -> None:
    options = list_options({}, watch_path=True)
    assert (options.watch, options.send_initial_events) == (True, None)
    with pytest.raises(Invalid, match="sendInitialEvents is forbidden for list"):
        list_options({"sendInitialEvents": ["1"], "watch": ["1"]}, watch_path=True)


def test_selectors_are_told_after_numbers_and_before_all_else() -> None:
    """As ``ListOptions`` are converted and then judged in k8s.io/apiserver."""
    bad = Selectors("a in", "b")
    with pytest.raises(BadRequest, match=r"^strconv.ParseInt: "):
        list_options({"limit": ["x"]}, bad)
    with pytest.raises(BadRequest, match="unable to parse requirement"):
        list_options({"resourceVersionMatch": ["x"]}, bad)
    with pytest.raises(BadRequest, match=r"^invalid selector: 'b'"):
        list_options({"resourceVersionMatch": ["x"]}, Selectors("", "b"))
    with pytest.raises(Invalid):
        list_options({"resourceVersionMatch": ["x"]}, Selectors("a", "b=c"))


def test_resource_versions() -> None:
    assert parse_resource_version("") is None
    assert parse_resource_version("0") == 0
    assert parse_resource_version("18446744073709551615") == 2**64 - 1


@pytest.mark.parametrize(
    ("text", "why"), [("abc", "invalid syntax"), ("-1", "invalid syntax"), ("1" * 30, "value out of range")]
)
def test_other_resource_versions(text: str, why: str) -> None:
    error = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'
    with pytest.raises(BadRequest) as raised:
        parse_resource_version(text)
    assert str(raised.value) == f"invalid resource version: {error}"


@pytest.mark.parametrize(
    ("text", "number"), [("0" * 5000 + "7", 7), ("-" + "0" * 5000 + "7", -7), ("+" + "0" * 5000, 0)]
)
def test_thousands_of_zeros_before_a_number(text: str, number: int) -> None:
    """Go reads them; Python's ``int`` refuses texts of more than 4,300 digits."""
    assert parse_int64({"limit": [text]}, "limit") == number
    if number >= 0:
        assert parse_resource_version(text.removeprefix("+")) == number
    with pytest.raises(BadRequest, match="value out of range"):
        parse_int64({"limit": ["9" * 5000]}, "limit")


def test_include_object() -> None:
    assert include_object({}) == "Metadata"
    assert [include_object({"includeObject": [text]}) for text in ("None", "Object", "")] == [
        "None",
        "Object",
        "Metadata",
    ]
    with pytest.raises(BadRequest) as raised:
        include_object({"includeObject": ["x"]})
    assert str(raised.value) == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "x": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )
