"""Mutators that are called again, and what plugins declare.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/mutating`` dispatcher.go and reinvocationcontext.go;
``test/integration/apiserver/admissionwebhook/reinvocation_test.go`` has the same cases.
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Api, Group, Kind, Object, Operation, Review, Struct, Version
from extapi.admission.chain import AdmissionChain
from extapi.api.declaration import DeclarationError
from extapi.api.definition import Kind as AnyKind
from extapi.api.user import User
from extapi.errors import BadRequest, InternalError
from extapi.registry.base import Admission, RequestScope, ResourceCreater
from extapi.testing import serve

PATH = "/apis/box.example.com/v1/namespaces/default/boxes"
KIND = AnyKind("Box", plural="boxes", storage="v1", versions={"v1": Version({"type": "object"})})


class Sets:
    """Sets a label each time; ``value`` may name another label, whose value is copied."""

    def __init__(self, name: str, log: list[str], label: str = "", value: str = "", policy: str = "") -> None:
        self.name, self.log, self.label, self.value = name, log, label, value
        if policy:
            self.reinvocation_policy = policy

    async def mutate(self, review: Review) -> None:
        self.log.append(self.name)
        self.change(review, self.labels(dict(review.object["metadata"].get("labels", {}))))

    def labels(self, labels: dict[str, str]) -> dict[str, str]:
        if self.label and (not self.value or self.value in labels):
            labels[self.label] = labels[self.value] if self.value else "1"
        return labels

    def change(self, review: Review, labels: dict[str, str]) -> None:
        review.object = {"metadata": {"name": "a", "labels": labels}}


def mutated(chain: AdmissionChain) -> dict[str, Any]:
    """The labels after mutation, as a write renews reviews."""

    def renewed(review: Review, _: str) -> Review:
        result = review.result()
        if result is None or result is review.obj:
            return review
        return made(result)

    def made(obj: Any) -> Review:
        return Review(
            operation=Operation.CREATE, kind=KIND, group="box.example.com", version="v1", user=User("jane"), obj=obj
        )

    with pytest.raises(StopIteration) as stop:
        chain.mutate(made({"metadata": {"name": "a", "labels": {}}}), renewed).send(None)
    labels: dict[str, Any] = stop.value.value.obj["metadata"].get("labels", {})
    return labels


def test_nothing_is_called_again_if_nothing_changed() -> None:
    log: list[str] = []
    mutated(AdmissionChain([Sets("a", log, policy="IfNeeded")], [Sets("builtin", log, "x")]))
    assert log == ["builtin", "a"]


def test_those_before_a_change_are_called_again_if_they_want() -> None:
    log: list[str] = []
    chain = AdmissionChain(
        [
            Sets("wants", log, "copy", "size", "IfNeeded"),
            Sets("does-not", log, policy="Never"),
            Sets("default", log),
            Sets("changes", log, "size"),
            Sets("after", log, policy="IfNeeded"),
        ],
        [Sets("builtin", log)],
    )
    labels = mutated(chain)
    # "after" has seen the object as it is: only the change that "wants" makes in the second pass brings it in again.
    assert log == ["builtin", "wants", "does-not", "default", "changes", "after", "builtin", "wants", "after"]
    assert labels == {"copy": "1", "size": "1"}


def test_those_who_saw_the_last_change_are_not_called_again() -> None:
    log: list[str] = []
    mutated(AdmissionChain([Sets("changes", log, "size"), Sets("after", log, policy="IfNeeded")]))
    assert log == ["changes", "after"]


def test_a_change_of_a_builtin_plugin_brings_all_in_again() -> None:
    """A built-in plugin is not called because of its own change, but because of the author's."""
    log: list[str] = []
    mutated(
        AdmissionChain(
            [Sets("changes", log, "size"), Sets("after", log, policy="IfNeeded")],
            [Sets("builtin", log, "copy", "size")],
        )
    )
    assert log == ["builtin", "changes", "after", "builtin", "after"]


def test_there_is_no_third_pass() -> None:
    log: list[str] = []

    class Counts(Sets):
        def labels(self, labels: dict[str, str]) -> dict[str, str]:
            return {"count": str(int(labels.get("count", "0")) + 1)}

    labels = mutated(AdmissionChain([Counts("a", log, policy="IfNeeded"), Counts("b", log, policy="IfNeeded")]))
    assert log == ["a", "b", "a", "b"]
    assert labels == {"count": "4"}


class BoxSpec(Struct):
    size: int = 1
    price: int = 0


class Box(Object):
    spec: BoxSpec = BoxSpec()


class Priced:
    reinvocation_policy = "IfNeeded"

    async def mutate(self, review: Review) -> None:
        if review.operation is not Operation.DELETE:
            review.object.spec.price = 3 * review.object.spec.size


class Rounded:
    async def mutate(self, review: Review) -> None:
        if review.operation is not Operation.DELETE:
            review.object.spec.size = (review.object.spec.size + 9) // 10 * 10


class Mails:
    """Sends a mail about each box, and notes that."""

    plugin_name = "mails.box.example.com"
    side_effects = "Some"

    def __init__(self) -> None:
        self.sent: list[str] = []

    def handles(self, review: Review) -> bool:
        return review.operation is Operation.CREATE

    async def validate(self, review: Review) -> None:
        self.sent.append(review.object.metadata.name)
        review.add_audit_annotation("sent", "yes")


def api(*plugins: Any) -> Api:
    return Api(
        Group(
            "box.example.com", Kind("Box", plural="boxes", storage="v1", status=False, versions={"v1": Version(Box)})
        ),
        admission=list(plugins),
    )


def box(size: int) -> dict[str, Any]:
    return {"apiVersion": "box.example.com/v1", "kind": "Box", "metadata": {"name": "b"}, "spec": {"size": size}}


def test_a_price_is_that_of_the_size_that_is_stored() -> None:
    with serve(api(Priced(), Rounded())) as server:
        assert server.request("POST", PATH, body=box(12)).json()["spec"] == {"size": 20, "price": 60}


def test_a_plugin_with_side_effects_refuses_dry_runs_of_what_it_handles() -> None:
    """``NewDryRunUnsupportedErr``; a webhook whose rules do not match is not asked."""
    mails = Mails()
    with serve(api(mails)) as server:
        answer = server.request("POST", PATH, {"dryRun": "All"}, body=box(1))
        assert (answer.status, answer.json()["reason"]) == (400, "BadRequest")
        assert answer.json()["message"] == 'admission webhook "mails.box.example.com" does not support dry run'
        assert mails.sent == []
        assert server.request("POST", PATH, body=box(1)).status == 201
        assert server.request("DELETE", f"{PATH}/b", {"dryRun": "All"}).status == 200
        assert mails.sent == ["b"]


@pytest.mark.parametrize("effects", ["None", "NoneOnDryRun"])
def test_other_plugins_are_asked_in_dry_runs(effects: str) -> None:
    class Quiet(Mails):
        side_effects = effects

    with serve(api(Quiet())) as server:
        assert server.request("POST", PATH, {"dryRun": "All"}, body=box(1)).status == 201


def test_a_plugin_that_cannot_say_what_it_handles_lets_nothing_through() -> None:
    class Broken(Mails):
        def handles(self, review: Review) -> bool:
            raise KeyError("rules")

    with serve(api(Broken())) as server:
        answer = server.request("POST", PATH, body=box(1))
        assert answer.status == 500
        assert answer.json()["message"] == 'Internal error occurred: admission plugin "Broken" failed'
        assert server.request("GET", f"{PATH}/b").status == 404


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("reinvocation_policy", "Always", "reinvocation_policy must be one of Never, IfNeeded"),
        ("side_effects", None, "side_effects must be one of NoneOnDryRun, None, Some"),
        ("plugin_name", "My Plugin", "plugin_name must be a DNS name in lower case, such as lots.parking.example.com"),
    ],
)
def test_wrong_declarations_are_refused_at_start(name: str, value: Any, why: str) -> None:
    wrong = type("Wrong", (Mails,), {name: value})
    with pytest.raises(DeclarationError, match=why):
        api(wrong())


def test_handles_is_no_coroutine() -> None:
    class Waits(Mails):
        async def handles(self, review: Review) -> bool:  # type: ignore[override]  # the mistake
            return True

    with pytest.raises(DeclarationError, match="handles is a coroutine"):
        api(Waits())


def test_a_refusal_in_the_second_pass_refuses() -> None:
    class Limits(Priced):
        async def mutate(self, review: Review) -> None:
            if review.object.spec.size > 15:
                raise BadRequest("too large")

    with serve(api(Limits(), Rounded())) as server:
        answer = server.request("POST", PATH, body=box(12))
        assert answer.json()["message"] == "too large"


def test_a_failing_mutator_is_named_in_both_passes() -> None:
    class FailsLater(Priced):
        async def mutate(self, review: Review) -> None:
            if review.object.spec.size > 15:
                raise KeyError

    with serve(api(FailsLater(), Rounded())) as server:
        answer = server.request("POST", PATH, body=box(12))
        assert (answer.status, answer.json()["reason"]) == (500, InternalError.reason)
        assert 'admission plugin "FailsLater" failed' in answer.json()["message"]


def test_annotations_of_a_plugin_are_kept_for_the_request() -> None:
    noted: dict[str, str] = {}
    with serve(api(Mails())) as server:
        resource = server.server._served.catalogue.endpoints["box.example.com", "v1", "boxes", ""].resource
        admit = Admission(server.server._plugins.chain, User("jane"), annotate=noted.__setitem__)
        obj = {**box(1), "metadata": {"name": "b", "namespace": "default"}}
        assert isinstance(resource, ResourceCreater)
        server.run(resource.create(RequestScope("v1", "default"), obj, admit=admit))
    assert noted == {"mails.box.example.com/sent": "yes"}


def test_the_name_of_a_plugin_is_by_default_that_of_its_class() -> None:
    class LotIsOpen:
        async def validate(self, review: Review) -> None:
            review.add_audit_annotation("state", "open")

    review = Review(
        operation=Operation.CREATE,
        kind=KIND,
        group="box.example.com",
        version="v1",
        user=User("jane"),
        obj={"metadata": {}},
    )
    with pytest.raises(StopIteration):
        AdmissionChain([LotIsOpen()]).validate(review).send(None)
    assert review.audit_annotations == {"lotisopen/state": "open"}
