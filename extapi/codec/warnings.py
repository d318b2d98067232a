"""The values of Warning headers, which kubectl prints to its user (behaviour G15, M16).

Responsible for: quoting, dropping what a header cannot hold, and the size limit. Must not know what the warnings are
about.

Source: ``k8s.io/apiserver/pkg/endpoints/filters/warning.go``, ``apimachinery/pkg/util/net/http.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from extapi.api.jsonvalue import has_surrogates

__all__ = ["warning_headers"]

_BUDGET = 4096
"""Characters of all texts together; if there are more, each text is cut."""
_CUT = 256
"""Characters that are left of a text that is cut."""
_CONTROL = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))


def warning_headers(texts: Iterable[str]) -> list[str]:
    r"""One header value per distinct text: ``299 - "unknown field \"spec.foo\""``.

    Texts that are empty or have control characters are left out. If the texts together exceed 4096 characters, each is
    cut to 256, and those beyond the limit are left out.
    """
    usable = [text for text in dict.fromkeys(texts) if text and _fits(text)]
    if sum(map(len, usable)) > _BUDGET:
        usable = list(_cut(usable))
    return [_header(text) for text in usable]


def _fits(text: str) -> bool:
    """Whether a header can hold the text."""
    # Printable text has neither. Nearly every text is, and the check is fast.
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
