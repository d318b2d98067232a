"""Manifests rendered for a test, read back from YAML."""

from __future__ import annotations

from typing import Any

import yaml

from extapi.api.definition import Api
from extapi.manifests.files import render
from extapi.manifests.settings import make_settings
from extapi.pizza import api as pizza


def rendered(api: Api = pizza, **flags: Any) -> dict[str, Any]:
    """By file name; read back from YAML."""
    files = render(make_settings(api, "some.module:api", **flags), api)
    return {file.name.removesuffix(".yaml"): yaml.safe_load(file.text) for file in files}


def pod_of(objects: dict[str, Any]) -> Any:
    return objects["deployment"]["spec"]["template"]["spec"]
