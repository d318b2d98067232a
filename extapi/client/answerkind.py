"""Whether an answer with a success code is what was asked for: a list of the resource's group and version, or an object of it.

What stands between this process and kube-apiserver, such as a proxy, may answer in its place, or mix answers up. A Status
or a Pod has no items, and would be an empty list: an informer would tell that all objects were deleted. Pure.
"""

from __future__ import annotations

from typing import Any

METADATA_VERSION = "meta.k8s.io/v1"
"""The apiVersion of PartialObjectMetadata and its list (and of a Table, which nobody asks for here)."""

_METADATA = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})


class WrongAnswer(Exception):
    """It is something else. The text says what came instead of what, and what to look at."""


class AnswerKinds:
    """The kinds that the resources of one server have had so far.

    Neither the plural of a kind nor the name of its list says which kind a resource has, and only discovery knows: so the
    first answer is believed, and a kind that comes twice, as a definition may be made anew.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, bool], str] = {}

    def check_list(self, answer: dict[str, Any], api_version: str, resource: str) -> None:
        """Check that ``answer`` is a list of ``resource``.

        Raises:
            WrongAnswer: It is not.

        Source: ``k8s.io/client-go/rest`` Result.Into, with a typed list; with an unstructured one it takes anything.
        """
        wanted = f"a list of {resource} in {api_version}"
        items = answer.get("items", "")
        if items is not None and not (isinstance(items, list) and all(isinstance(each, dict) for each in items)):
            raise _wrong(wanted, answer, " whose items are no list of objects" if "items" in answer else "")
        self._check(answer, api_version, resource, wanted, is_list=True)

    def check_object(self, answer: dict[str, Any], api_version: str, resource: str, kind: Any = None) -> None:
        """Check that ``answer`` is an object of ``resource``, and of ``kind`` if that is known.

        Raises:
            WrongAnswer: It is not.
        """
        wanted = f"an object of {resource} in {api_version}"
        if isinstance(kind, str) and kind and answer.get("kind") not in {kind, *_METADATA}:
            raise _wrong(f"a {kind} in {api_version}", answer)
        self._check(answer, api_version, resource, wanted, is_list=False)

    def _check(self, answer: dict[str, Any], api_version: str, resource: str, wanted: str, *, is_list: bool) -> None:
        kind, its = answer.get("kind"), answer.get("apiVersion")
        if not isinstance(kind, str) or not kind or kind == "Status":
            raise _wrong(wanted, answer)
        if its == METADATA_VERSION and kind in _METADATA:
            return
        if its != api_version:
            raise _wrong(wanted, answer)
        key = api_version, resource, is_list
        known = self._seen.setdefault(key, kind)
        if known != kind:
            self._seen[key] = kind
            raise _wrong(f"{wanted}, which has been a {known} so far", answer)


def _wrong(wanted: str, answer: dict[str, Any], but: str = "") -> WrongAnswer:
    kind, version = (answer.get(name) for name in ("kind", "apiVersion"))
    what = f"a {str(kind)[:100]} in {str(version)[:100]}" if isinstance(kind, str) else "an object without a kind"
    message = answer.get("message")
    said = f" ({message[:200]})" if isinstance(message, str) and message else ""
    return WrongAnswer(
        f"the answer is {what}{but}{said}, not {wanted}; look at what is between this process and the API server"
    )
