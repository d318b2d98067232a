"""The preferred version: flunders with a field for each type of reference."""

from __future__ import annotations

from typing import Annotated

from extapi import Default, Description, Object, Struct


class FlunderSpec(Struct):
    """What a flunder refers to."""

    flunder_reference: Annotated[
        str | None, Description("The name of another flunder; not together with fischerReference.")
    ] = None
    fischer_reference: Annotated[
        str | None, Description("The name of a fischer; not together with flunderReference.")
    ] = None
    reference_type: Annotated[str | None, Description("Which of the two is given: Flunder or Fischer.")] = None


class FlunderStatus(Struct):
    """What is known of a flunder: nothing yet."""


class Flunder(Object):
    """A flunder, which may refer to another one or to a fischer."""

    spec: FlunderSpec = FlunderSpec()
    # sample-apiserver writes the empty status; a default in Python alone would be left out.
    status: Annotated[FlunderStatus | None, Default({})] = None
