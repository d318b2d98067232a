"""``jsonpatch.escapeKey``, which makes a segment of a JSON pointer of a key. For expressions of mutations only.

Source: ``k8s.io/apiserver/pkg/cel/library`` jsonpatch.go.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.library.charges import walk, walk_estimate


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


JSON_PATCH: Final[tuple[Overload, ...]] = (
    overload(
        "string_jsonpatch_escapeKey_string",
        "jsonpatch.escapeKey(string) -> string",
        _escape_key,
        cost=walk(),
        estimate=walk_estimate(sized=True),
    ),
)
"""What came with MutatingAdmissionPolicy."""
