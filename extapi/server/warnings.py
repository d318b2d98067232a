"""Texts that stages collected on a call become Warning headers of its answer, whatever the answer is (spec G15)."""

from __future__ import annotations

from extapi.codec.warnings import warning_headers
from extapi.listener.call import Call, Handler, Response


class Warnings:
    """Runs its successor and adds the headers."""

    def __init__(self, successor: Handler) -> None:
        self._successor = successor

    async def __call__(self, call: Call) -> Response:
        """The successor's answer with a Warning header for each distinct text."""
        response = await self._successor(call)
        if call.warnings:
            response.headers += [("Warning", value) for value in warning_headers(call.warnings)]
        return response
