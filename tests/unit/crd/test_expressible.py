"""What a CustomResourceDefinition with webhooks cannot do is said."""

from __future__ import annotations

from examples.wardle import api as wardle
from extapi import Api, Group, Kind, Object, Strategy, Struct, Subresource, Version
from extapi.crd.expressible import not_supported, served_kinds
from extapi.pizza import api as pizza
from tests.kubernetes.hooked import api as lamps
from tests.kubernetes.who import api as who


class Spec(Struct):
    """The wanted state."""

    size: int = 0


class Status(Struct):
    """The state."""

    size: int = 0


class Thing(Object):
    """A thing."""

    spec: Spec = Spec()
    status: Status = Status()


class Everything(Strategy):
    """Each hook that a webhook cannot call."""

    def prepare(self, obj: Thing, old: Thing | None) -> None:
        """Do something."""

    def prepare_for_deletion(self, obj: Thing) -> None:
        """Do something."""

    def blocks_deletion(self, obj: Thing) -> bool:
        """Say something."""
        return False


def test_what_pizzas_and_lamps_lose() -> None:
    assert list(not_supported(pizza)) == [
        (
            "pizzas.restaurant.programming-kubernetes.info: a status that PizzaStrategy.prepare sets is dropped: with a "
            "status subresource, kube-apiserver empties it on create and keeps it on update"
        ),
    ]
    assert [each.partition(":")[0] for each in not_supported(lamps)] == ["lamps.hooked.example.com"]


def test_each_hook_is_named() -> None:
    subresources = {"size": Subresource(field="spec")}
    kind = Kind(
        "Thing", storage="v1", versions={"v1": Version(Thing)}, strategy=Everything(), subresources=subresources
    )
    texts = list(not_supported(Api(Group("things.example.com", kind))))
    assert [text.removeprefix("things.things.example.com: ").partition(":")[0] for text in texts] == [
        "a status that Everything.prepare sets is dropped",
        "Everything.prepare_for_deletion is not called",
        "Everything.blocks_deletion is not asked",
        "subresource size is not served",
    ]


def test_a_kind_without_status_loses_nothing() -> None:
    kind = Kind("Thing", storage="v1", versions={"v1": Version(Thing)}, status=False)
    assert list(not_supported(Api(Group("things.example.com", kind)))) == []


def test_kinds_that_cannot_be_custom_resources_have_no_paths() -> None:
    assert [text.partition(": ")[2] for text in not_supported(who)] == [
        "its objects are not stored (rest=), and custom resources always are"
    ]
    assert [kind.kind.name for kind in served_kinds(who)] == ["Note"]
    own = Api(Group("apps", Kind("Thing", storage="v1", versions={"v1": Version(Thing)})))
    assert list(not_supported(own)) == ["things.apps: its group has no dot, and those of custom resources have one"]


def test_kinds_of_other_examples() -> None:
    assert [kind.kind.name for kind in served_kinds(wardle)] == [
        kind.name for group in wardle.groups for kind in group.kinds
    ]
