"""Texts for the client's user, as values of the Warning header.

Responsible for: quoting, dropping what a header cannot hold, and the budget. Must not know what the warnings are about.
Source: spec G15, M16; ``k8s.io/apiserver/pkg/endpoints/filters/warning.go``, ``apimachinery/pkg/util/net/http.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from extapi.codec.surrogates import has_surrogates

__all__ = ["warning_headers"]

_BUDGET = 4096
"""Characters of all texts together; beyond it each is cut."""
_CUT = 256
"""Characters left of a text once the budget is exceeded."""
_CONTROL = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))


def warning_headers(texts: Iterable[str]) -> list[str]:
    r"""One header value for each distinct text: ``299 - "unknown field \"spec.foo\""``.

    Texts that are empty or hold control characters are left out. If all of them do not fit into the budget, each is cut
    to 256 characters, and those that even so come after the budget is used up are left out.
    """
    usable = [text for text in dict.fromkeys(texts) if text and _fits(text)]
    if sum(map(len, usable)) > _BUDGET:
        usable = list(_cut(usable))
    return [_header(text) for text in usable]


def _fits(text: str) -> bool:
    """Whether a header can hold it."""
    # What can be printed has neither; that is nearly every text, and quick to tell.
    return text.isprintable() or (_CONTROL.isdisjoint(text) and not has_surrogates(text))


def _cut(texts: Iterable[str]) -> Iterable[str]:
    used = 0
    for text in texts:
        if used >= _BUDGET:
            return
        used += min(len(text), _CUT)
        yield text[:_CUT]


def _header(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
