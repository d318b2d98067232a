"""The first version, which is stored: flunders with one reference and its type, and fischers."""

from __future__ import annotations

from typing import Annotated

from extapi import Atomic, Default, Description, Object, Struct


class FlunderSpec(Struct):
    """What a flunder refers to."""

    reference: Annotated[
        str | None, Description("The name of another flunder, or of a fischer: see referenceType.")
    ] = None
    reference_type: Annotated[
        str | None, Description("What the reference names: Flunder, as if nothing is said, or Fischer.")
    ] = None


class FlunderStatus(Struct):
    """What is known of a flunder: nothing yet."""


class Flunder(Object):
    """A flunder, which may refer to another one or to a fischer."""

    spec: FlunderSpec = FlunderSpec()
    # sample-apiserver writes the empty status; a default in Python alone would be left out.
    status: Annotated[FlunderStatus | None, Default({})] = None


class Fischer(Object):
    """Says which names flunders may not have."""

    disallowed_flunders: Annotated[
        list[str] | None, Atomic(), Description("Names that no new flunder may have, in any namespace.")
    ] = None
