"""Python clients that we did not write, each as one function that applies an object by server-side apply."""

# The annotations of the package kubernetes are incomplete, and many of its answers are objects to it.
# mypy: disable-error-code="no-untyped-call, index, arg-type"

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import lightkube
from kubernetes import client
from kubernetes.dynamic import DynamicClient
from lightkube import codecs
from lightkube.config.kubeconfig import KubeConfig
from lightkube.generic_resource import create_namespaced_resource

from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.pizzas import GROUP

APPLY_PATCH = "application/apply-patch+yaml"


class Refused(Exception):
    """What a client raises for a Status; ``status``: that one."""

    def __init__(self, status: dict[str, Any]) -> None:
        super().__init__(status)
        self.status = status


class Applier(Protocol):
    """Applies a pizza or a ConfigMap, and returns it as it came back; raises Refused."""

    def __call__(self, obj: dict[str, Any], manager: str, *, force: bool = False) -> dict[str, Any]: ...


def lightkube_client(control_plane: ControlPlane, namespace: str) -> Any:
    """An administrator's ``lightkube.Client``; its generic class of pizzas is registered.

    Without a type: the annotations do not say which kinds are namespaced once they come out of a file.
    """
    create_namespaced_resource(GROUP, "v1beta1", "Pizza", "pizzas")
    return lightkube.Client(config=KubeConfig.from_file(control_plane.kubeconfig).get(), namespace=namespace)


def of_lightkube(control_plane: ControlPlane, api_client: Any, namespace: str, directory: Path) -> Applier:
    """``lightkube.Client.apply``."""

    def apply(obj: dict[str, Any], manager: str, *, force: bool = False) -> dict[str, Any]:
        with lightkube_client(control_plane, namespace) as kube:
            try:
                applied: Any = kube.apply(codecs.from_dict(obj), field_manager=manager, force=force)
            except lightkube.ApiError as error:
                raise Refused(error.status.to_dict()) from error
        found: dict[str, Any] = applied.to_dict()
        return found

    return apply


def of_lightkube_async(control_plane: ControlPlane, api_client: Any, namespace: str, directory: Path) -> Applier:
    """``lightkube.AsyncClient.apply``."""
    config = lightkube_client(control_plane, namespace).config

    async def patch(obj: dict[str, Any], manager: str, force: bool) -> Any:
        async with lightkube.AsyncClient(config=config, namespace=namespace) as kube:
            return await kube.apply(codecs.from_dict(obj), field_manager=manager, force=force)

    def apply(obj: dict[str, Any], manager: str, *, force: bool = False) -> dict[str, Any]:
        try:
            found: dict[str, Any] = asyncio.run(patch(obj, manager, force)).to_dict()
        except lightkube.ApiError as error:
            raise Refused(error.status.to_dict()) from error
        return found

    return apply


def of_the_dynamic_client(control_plane: ControlPlane, api_client: Any, namespace: str, directory: Path) -> Applier:
    """``DynamicClient.server_side_apply`` of the package kubernetes."""
    dynamic = DynamicClient(api_client, cache_file=str(directory / "discovery"))

    def apply(obj: dict[str, Any], manager: str, *, force: bool = False) -> dict[str, Any]:
        # With a prefix, it asks for the one group, and not for each that an earlier test's definition may just have left.
        prefix = "apis" if "/" in obj["apiVersion"] else "api"
        resource = dynamic.resources.get(prefix=prefix, api_version=obj["apiVersion"], kind=obj["kind"])
        try:
            applied = resource.server_side_apply(
                body=obj, namespace=namespace, field_manager=manager, force_conflicts=force
            )
        except client.ApiException as error:
            raise Refused(json.loads(error.body)) from error
        found: dict[str, Any] = applied.to_dict()
        return found

    return apply


def of_the_typed_client(control_plane: ControlPlane, api_client: Any, namespace: str, directory: Path) -> Applier:
    """``CoreV1Api`` and ``CustomObjectsApi`` of the package kubernetes: patches of that content type."""

    def apply(obj: dict[str, Any], manager: str, *, force: bool = False) -> dict[str, Any]:
        name = obj["metadata"]["name"]
        how = {"field_manager": manager, "force": force, "_content_type": APPLY_PATCH}
        core: Any = client.CoreV1Api(api_client)
        custom: Any = client.CustomObjectsApi(api_client)
        try:
            if obj["kind"] == "ConfigMap":
                applied = core.patch_namespaced_config_map(name, namespace, obj, **how)
            else:
                group, version = obj["apiVersion"].split("/")
                where = (group, version, namespace, "pizzas")
                applied = custom.patch_namespaced_custom_object(*where, name, obj, **how)
                if applied is None:  # this class knows no 201 to a PATCH
                    applied = custom.get_namespaced_custom_object(*where, name)
        except client.ApiException as error:
            raise Refused(json.loads(error.body)) from error
        found: dict[str, Any] = api_client.sanitize_for_serialization(applied)
        return found

    return apply


APPLIERS: dict[str, Callable[[ControlPlane, Any, str, Path], Applier]] = {
    "lightkube": of_lightkube,
    "lightkube-async": of_lightkube_async,
    "dynamic": of_the_dynamic_client,
    "typed": of_the_typed_client,
}
"""By name: made of a control plane, an ``ApiClient`` of the package kubernetes, a namespace and a directory for caches."""
