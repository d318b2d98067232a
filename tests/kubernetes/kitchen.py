"""An operator written with kopf, for ``kopf run -m tests.kubernetes.kitchen``: it bakes pizzas and readies gadgets."""

from __future__ import annotations

from typing import Any

import kopf

from tests.kubernetes.pizzas import GROUP
from tests.kubernetes.twin_schema import OURS, PLURAL, VERSION

STATE = "kitchen.example.com/state"
CHANGES = "kitchen.example.com/changes"
FINALIZER = "kitchen.example.com/eaten"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    # What our schemas do not know is pruned from the status, so nothing is kept there.
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="kitchen.example.com")
    settings.persistence.finalizer = FINALIZER
    settings.watching.server_timeout = 30


@kopf.on.login()
def login(**kwargs: Any) -> Any:
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.create(GROUP, "v1beta1", "pizzas")
def baked(patch: kopf.Patch, body: kopf.Body, **_: Any) -> None:
    patch.metadata.annotations[STATE] = "baked"
    kopf.event(body, type="Normal", reason="Baked", message="It is hot.")


@kopf.on.update(GROUP, "v1beta1", "pizzas", field="spec")
def changed(patch: kopf.Patch, body: kopf.Body, annotations: Any, **_: Any) -> None:
    patch.metadata.annotations[CHANGES] = str(int(annotations.get(CHANGES, "0")) + 1)


@kopf.on.delete(GROUP, "v1beta1", "pizzas")
def eaten(body: kopf.Body, **_: Any) -> None:
    kopf.event(body, type="Normal", reason="Eaten", message="It was good.")


@kopf.on.create(OURS, VERSION, PLURAL)
def readied(patch: kopf.Patch, **_: Any) -> None:
    patch.status["ready"] = True
