"""An API with what Kubernetes' own have and custom resources lack: the core group, kinds and paths that answer themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi import Api, Group, Kind, Object, Struct, Version
from extapi.api.definition import CLUSTER
from extapi.api.protocols import RESTRequest
from extapi.api.subresource import Subresource
from extapi.controlplane.builtin.behaviour import built_in
from extapi.testing import InMemoryServer, serve

CORE = "/api/v1"
AUTHENTICATION = "authentication.k8s.io"
REVIEWS = f"/apis/{AUTHENTICATION}/v1/tokenreviews"
ACCOUNTS = f"{CORE}/namespaces/default/serviceaccounts"


class NamespaceSpec(Struct):
    finalizers: list[str] = []  # noqa: RUF012 -- a field: msgspec copies the default


class NamespaceStatus(Struct):
    phase: str = ""


class Namespace(Object):
    """A room for names."""

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ServiceAccount(Object):
    """An identity for programs."""


class TokenRequestSpec(Struct):
    audiences: list[str] = []  # noqa: RUF012 -- a field: msgspec copies the default


class TokenRequestStatus(Struct):
    token: str = ""


class TokenRequest(Object):
    """Asks for a token."""

    spec: TokenRequestSpec = TokenRequestSpec()
    status: TokenRequestStatus = TokenRequestStatus()


class TokenReviewSpec(Struct):
    token: str = ""


class TokenReviewStatus(Struct):
    authenticated: bool = False


class TokenReview(Object):
    """Asks whose token it is."""

    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus = TokenReviewStatus()


class Tokens:
    """Makes tokens."""

    async def create(self, asked: RESTRequest, obj: TokenRequest) -> TokenRequest:
        """A token that says whose it is."""
        obj.status.token = f"{asked.namespace}/{asked.name}"
        return obj


class Reviews:
    """Judges tokens."""

    async def create(self, asked: RESTRequest, obj: TokenReview) -> TokenReview:
        """Any token is fine."""
        del asked
        obj.status.authenticated = bool(obj.spec.token)
        return obj


def cluster(**more: Any) -> Api:
    """The whole API. ``more``: as of ``Api``."""
    return Api(
        Group(
            "",
            Kind(
                "Namespace",
                versions={"v1": Version(Namespace)},
                storage="v1",
                scope=CLUSTER,
                short_names=["ns"],
                subresources={"finalize": Subresource(field="spec", without=frozenset({"get", "patch"}))},
                behaviour=built_in(without=frozenset({"deletecollection"})),
            ),
            Kind(
                "ServiceAccount",
                versions={"v1": Version(ServiceAccount)},
                storage="v1",
                status=False,
                behaviour=built_in(),
                subresources={
                    "token": Subresource(
                        rest=Tokens(), group=AUTHENTICATION, version="v1", kind="TokenRequest", type=TokenRequest
                    )
                },
            ),
        ),
        Group(
            AUTHENTICATION,
            Kind(
                "TokenReview",
                versions={"v1": Version(TokenReview)},
                storage="v1",
                scope=CLUSTER,
                behaviour=built_in(),
                rest=Reviews(),
            ),
        ),
        **more,
    )


def namespace(name: str, **more: Any) -> dict[str, Any]:
    """A namespace as a client sends it."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, **more}


def account(name: str) -> dict[str, Any]:
    """A service account as a client sends it."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}


@pytest.fixture
def cluster_served() -> Iterator[InMemoryServer]:
    """The API, served, with the namespaces that it stores."""
    with serve(cluster(), lifecycle=False) as server:
        yield server
