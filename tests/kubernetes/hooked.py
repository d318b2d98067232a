"""An API for ``extapi webhooks``, with everything that a review can carry: patches, refusals, warnings, annotations, dry run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from extapi import Api, FieldError, Group, Kind, Minimum, Object, Operation, Review, Scale, Strategy, Struct, Version

GROUP = "hooked.example.com"


class LampSpec(Struct):
    """How the lamp is set up."""

    watts: Annotated[int, Minimum(1)] = 40
    replicas: int = 1
    tags: list[str] = []  # noqa: RUF012 - defaults of fields are msgspec's to copy
    owner: str = ""


class LampStatus(Struct):
    """How the lamp is."""

    lit: bool = False
    replicas: int = 0


class Lamp(Object):
    """A lamp."""

    spec: LampSpec = LampSpec()
    status: LampStatus = LampStatus()


class Lamps(Strategy):
    """The rules of lamps."""

    def prepare(self, obj: Lamp, old: Lamp | None) -> None:
        """Tags are lower case."""
        del old
        obj.spec.tags = [tag.lower() for tag in obj.spec.tags]

    def validate(self, obj: Lamp, old: Lamp | None) -> Iterable[FieldError]:
        """A lamp never gets weaker."""
        if old is not None and obj.spec.watts < old.spec.watts:
            yield FieldError.invalid("spec.watts", obj.spec.watts, "may not become less")

    def warn(self, obj: Lamp, old: Lamp | None) -> Iterable[str]:
        """Strong lamps get hot."""
        del old
        if obj.spec.watts > 100:
            yield "lamps of more than 100 watts get hot"


class Owned:
    """Notes who made a lamp."""

    async def mutate(self, review: Review) -> None:
        """Write the owner, and note it for the audit."""
        if review.kind.name == "Lamp" and review.operation is Operation.CREATE:
            review.object.spec.owner = review.user.name
            review.object.metadata.labels["made-by"] = "hooks"
            review.add_audit_annotation("owner", review.user.name)


class Kept:
    """Protects lamps, and their scale."""

    async def validate(self, review: Review) -> None:
        """Refuse what is not allowed."""
        if review.subresource == "scale":
            if review.object.spec.replicas > 5:
                review.refuse("at most 5 lamps")
        elif review.operation is Operation.DELETE and review.old_object.metadata.labels.get("keep"):
            review.refuse("it is to be kept")
        elif review.subresource == "status" and review.object.status.lit and "broken" in review.object.spec.tags:
            review.refuse("a broken lamp cannot be lit")


class Counted:
    """Would count lamps somewhere else, so it does not take part in dry runs."""

    side_effects = "Some"

    def handles(self, review: Review) -> bool:
        """Only lamps that say so."""
        return review.operation is Operation.CREATE and "counted" in ((review.obj or {}).get("spec") or {}).get(
            "tags", ()
        )

    async def validate(self, review: Review) -> None:
        """Allow everything."""


api = Api(
    Group(
        GROUP,
        Kind(
            "Lamp",
            storage="v1",
            versions={"v1": Version(Lamp)},
            scale=Scale(spec_replicas_path=".spec.replicas", status_replicas_path=".status.replicas"),
            strategy=Lamps(),
        ),
    ),
    admission=[Owned(), Kept(), Counted()],
)
