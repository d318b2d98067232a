"""``MODULE:NAME`` on a command line: the API that an author wrote."""

from __future__ import annotations

import importlib
import sys

from extapi.api.definition import Api


def load_api(target: str) -> Api:
    """The :class:`Api` that ``MODULE:NAME`` names; modules in the working directory are found.

    :raises ValueError: there is no such API; the message is one line.
    """
    module_name, colon, name = target.partition(":")
    if not (colon and module_name and name):
        raise ValueError(f"{target!r} is not of the form MODULE:NAME, such as extapi.pizza:api")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"cannot import {module_name}: {why}") from error
    try:
        api = getattr(module, name)
    except AttributeError:
        raise ValueError(f"module {module_name} has no {name!r}") from None
    if not isinstance(api, Api):
        what = type(api).__name__
        raise ValueError(f"{target} is {what}, not an extapi.Api")  # noqa: TRY004 - a mistake on a command line
    return api
