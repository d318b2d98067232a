"""``/healthz``, ``/livez`` and ``/readyz``: named checks, each also at a path of its own (spec C22-C26, M15).

Reasons go to the log only: who may read health need not learn what is inside. A check that passes may have a note, which
``?verbose`` shows: everybody may read it, so it names what an operator has to look at, and no values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from extapi.listener.call import Call, Response

Check = Callable[[], str | None]
"""Says why something is not well; None: it is. Must answer at once: a check that needs time keeps its last result."""

PATHS = ("healthz", "livez", "readyz")


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check and the endpoints that ask it."""

    name: str
    check: Check
    paths: frozenset[str] = frozenset(PATHS)
    note: Callable[[], str] = lambda: ""
    """What an operator should know although nothing fails; empty: nothing. Shown to everybody."""


class Health:
    """The three endpoints. ``log`` is told ``(endpoint, check, reason)`` of each failure."""

    def __init__(self, checks: Sequence[NamedCheck], log: Callable[[str, str, str], None]) -> None:
        self._checks: Mapping[str, Sequence[NamedCheck]] = {
            path: [NamedCheck("ping", lambda: None), *(check for check in checks if path in check.paths)]
            for path in PATHS
        }
        self._log = log

    def paths(self) -> list[str]:
        """All paths that :meth:`answer` knows, each with a leading slash."""
        return [
            path
            for name, checks in self._checks.items()
            for path in (f"/{name}", *(f"/{name}/{check.name}" for check in checks))
        ]

    def answer(self, call: Call, path: str) -> Response | None:
        """The response for a health path; None where ``path`` is none."""
        endpoint, _, single = path.removeprefix("/").partition("/")
        if endpoint not in self._checks:
            return None
        if not single:
            return self._all(call, endpoint)
        for check in self._checks[endpoint]:
            if check.name == single:
                reason = check.check()
                return _text(200, "ok") if reason is None else _text(500, f"internal server error: {reason}\n")
        return None

    def _all(self, call: Call, endpoint: str) -> Response:
        excluded = set(call.query.get("exclude", ()))
        unknown = excluded - {check.name for check in self._checks[endpoint]}
        lines = []
        failed = False
        for check in self._checks[endpoint]:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            reason = check.check()
            if reason is None:
                note = check.note()
                lines.append(f"[+]{check.name} ok: {note}" if note else f"[+]{check.name} ok")
            else:
                failed = True
                self._log(endpoint, check.name, reason)
                lines.append(f"[-]{check.name} failed: reason withheld")
        if unknown:
            names = ",".join(f'"{name}"' for name in sorted(unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            return _text(500, "\n".join([*lines, f"{endpoint} check failed", ""]))
        if "verbose" in call.query:
            return _text(200, "\n".join([*lines, f"{endpoint} check passed", ""]))
        return _text(200, "ok")


def _text(status: int, text: str) -> Response:
    return Response(
        status,
        [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")],
        text.encode(),
    )
