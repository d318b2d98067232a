"""An operator written with kopf, for ``kopf run -m tests.kubernetes.porter``: it carries crates that ask for it, and sees all.

It prints a JSON line for each event of a crate, each of its requests for crates, and each crate that it lets go.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import aiohttp
import kopf

from tests.kubernetes.moving import GROUP, PLURAL, VERSIONS

STATE = "porter.example.com/state"
CHANGES = "porter.example.com/changes"
FINALIZER = "porter.example.com/let-go"
ASKS = {"porter": "yes"}
"""The labels of crates that are carried. The others are seen, and left as they are."""
CRATES = (GROUP, VERSIONS[0], PLURAL)


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 - its output is what the test reads


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    # All that is not about storing its own notes is as kopf has it: reconnecting, listing, retrying.
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="porter.example.com")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="porter.example.com")
    settings.persistence.finalizer = FINALIZER
    settings.posting.enabled = False


async def _answered(_: aiohttp.ClientSession, __: SimpleNamespace, about: aiohttp.TraceRequestEndParams) -> None:
    if about.method == "GET" and about.url.path.endswith(f"/{PLURAL}"):
        _say(what="request", query=about.url.query_string, status=about.response.status)


@kopf.on.login()
async def login(**kwargs: Any) -> Any:
    """The login of kopf itself, with a trace of the requests."""
    found = kopf.login_with_kubeconfig(**kwargs)
    assert found is not None
    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(_answered)
    connector = aiohttp.TCPConnector(limit=0, ssl=found.as_ssl_context())
    return kopf.AiohttpSession(
        server=found.server, aiohttp_session=aiohttp.ClientSession(connector=connector, trace_configs=[trace])
    )


@kopf.on.event(*CRATES)
async def seen(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf's name
    metadata = body["metadata"]
    _say(
        what="event",
        type=type,
        name=metadata["name"],
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        step=body["spec"]["step"],
    )


@kopf.on.create(*CRATES, labels=ASKS)
async def carried(patch: kopf.Patch, **_: Any) -> None:
    patch.metadata.annotations[STATE] = "carried"


@kopf.on.update(*CRATES, labels=ASKS, field="spec")
async def changed(patch: kopf.Patch, annotations: Any, **_: Any) -> None:
    patch.metadata.annotations[CHANGES] = str(int(annotations.get(CHANGES, "0")) + 1)


@kopf.on.delete(*CRATES, labels=ASKS)
async def let_go(name: str, **_: Any) -> None:
    _say(what="let go", name=name)
