"""The file of ``--admission-control-config-file``: who the server is to the webhooks of each plugin.

An AdmissionConfiguration names plugins; the configuration of a webhook plugin, in the file or in one that it names, is a
WebhookAdmissionConfiguration, which names a kubeconfig. Configurations of other plugins are not read. Every mistake ends the
start, with kube-apiserver's text.

Source: ``k8s.io/apiserver/pkg/admission/config.go`` ReadAdmissionConfiguration, ``.../plugin/webhook/config/kubeconfig.go``
LoadConfig.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from extapi.admission.webhooks import mutating, validating
from extapi.client.credentials import CredentialsError
from extapi.client.webhookreview import ENVELOPE, json_type
from extapi.client.webhookusers import WebhookUsers, read_users
from extapi.clock import Clock
from extapi.codec import strictjson, strictyaml
from extapi.errors import go_quote

WEBHOOK_PLUGINS: Final = (mutating.NAME, validating.NAME)
"""Those that have a configuration, in the order in which kube-apiserver makes them."""
LARGEST: Final = 1024 * 1024
"""Bytes of a file."""
_GROUP: Final = "apiserver.config.k8s.io"


class _Kind(NamedTuple):
    """A kind of configuration, with the types of its members as Python and Go name them."""

    name: str
    versions: Sequence[str]
    go_name: str
    members: Mapping[str, tuple[type, str]]


_ADMISSION: Final = _Kind(
    "AdmissionConfiguration",
    ("v1", "v1alpha1"),
    "AdmissionConfiguration",
    {"plugins": (list, "[]{version}.AdmissionPluginConfiguration")},
)
_WEBHOOKS: Final = _Kind(
    "WebhookAdmissionConfiguration",
    ("v1",),
    "WebhookAdmission",
    {"kubeConfigFile": (str, "string"), "staticManifestsDir": (str, "string")},
)
_PLUGIN: Final = {"name": str, "path": str, "configuration": object}


def read_admission_config(path: Path, plugins: Sequence[str], clock: Clock) -> Mapping[str, WebhookUsers]:
    """Who to be to the webhooks of each plugin, by the plugin's name; a plugin without a configuration is missing.

    Args:
        path: The file.
        plugins: The plugins that are asked.
        clock: Times tokens in files.

    Raises:
        CredentialsError: A file cannot be read, or is wrong.
    """
    try:
        configured = _configurations(path)
    except ValueError as error:
        raise CredentialsError(f"failed to read plugin config: {error}") from None
    users: dict[str, WebhookUsers] = {}
    for plugin in plugins:
        if plugin not in configured:
            continue
        try:
            found = _users(configured[plugin], path.parent, clock)
        except (ValueError, CredentialsError) as error:
            raise CredentialsError(f"couldn't init admission plugin {go_quote(plugin)}: {error}") from None
        if found is not None:
            users[plugin] = found
    return users


def _configurations(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """The configurations in the file, by plugin; of several for one, the first one.

    Raises:
        ValueError: There is no such file, or it is wrong.
    """
    try:
        data = _content(path)
    except OSError as error:
        why = f"open {path}: {str(error.strerror).lower()}"
        raise ValueError(f"unable to read admission control configuration from {go_quote(str(path))} [{why}]") from None
    config, version = _decoded(data, _ADMISSION)
    made: dict[str, Mapping[str, Any]] = {}
    problems: list[str] = []
    for index, each in enumerate(config.get("plugins") or []):
        plugin = each or {}
        if not isinstance(plugin, Mapping):
            go_type = f"{version}.AdmissionPluginConfiguration"
            raise _mistyped(plugin, "AdmissionConfiguration.plugins", go_type)
        for name, value in plugin.items():
            kind = _PLUGIN.get(name)
            if kind is None:
                problems.append(f'unknown field "plugins[{index}].{name}"')
            elif value is not None and not isinstance(value, kind):
                raise _mistyped(value, f"AdmissionPluginConfiguration.plugins.{name}", "string")
        made.setdefault(str(plugin.get("name") or ""), plugin)
    if problems:
        raise _strict(problems)
    return made


def _users(plugin: Mapping[str, Any], directory: Path, clock: Clock) -> WebhookUsers | None:
    """Whom the configuration of a plugin names; None if it names nobody.

    Raises:
        ValueError: The configuration is wrong, or cannot be read.
        CredentialsError: The kubeconfig is wrong, or cannot be read.
    """
    if plugin.get("configuration") is not None:
        data = strictjson.encode(plugin["configuration"])
    elif plugin.get("path"):
        file = directory / plugin["path"]
        try:
            data = _content(file)
        except OSError as error:
            why = str(error.strerror).lower()
            raise ValueError(f"Couldn't open admission plugin configuration {file}: open {file}: {why}") from None
    else:
        return None
    config, _ = _decoded(data, _WEBHOOKS)
    kubeconfig = config.get("kubeConfigFile") or ""
    if kubeconfig and not kubeconfig.startswith("/"):
        raise ValueError(f"kubeConfigFile: Invalid value: {go_quote(kubeconfig)}: must be an absolute file path")
    if config.get("staticManifestsDir"):
        raise ValueError(
            "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to "
            "be enabled"
        )
    return read_users(Path(kubeconfig), clock) if kubeconfig else None


def _content(path: Path) -> bytes:
    """The content of a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too large.
    """
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"{path} has more than {LARGEST} bytes")
    return data


def _decoded(data: bytes, kind: _Kind) -> tuple[Mapping[str, Any], str]:
    """The object of ``kind`` in JSON or YAML, decoded strictly, and its version.

    Source: ``k8s.io/apimachinery/pkg/runtime/serializer/json``, with EnableStrict.

    Raises:
        ValueError: It is none.
    """
    decoded = strictyaml.decode(data)
    value = {} if decoded.value is None else decoded.value
    if not isinstance(value, Mapping):
        why = f"json: cannot unmarshal {json_type(value)} into Go value of type {ENVELOPE}"
        raise ValueError(f"couldn't get version/kind; json parse error: {why}")  # noqa: TRY004 - told as all mistakes
    for member in ("kind", "apiVersion"):
        found = value.get(member)
        if found is not None and not isinstance(found, str):
            why = f"json: cannot unmarshal {json_type(found)} into Go struct field .{member} of type string"
            raise ValueError(f"couldn't get version/kind; json parse error: {why}")
    api_version, name = value.get("apiVersion") or "", value.get("kind") or ""
    if not name or not api_version:
        missing, text = ("apiVersion" if name else "Kind"), data.decode("utf-8", "replace")
        raise ValueError(f"Object '{missing}' is missing in '{text}'")
    group, _, version = api_version.rpartition("/")
    if (group, name) != (_GROUP, kind.name) or version not in kind.versions:
        raise ValueError(
            f"no kind {go_quote(name)} is registered for version {go_quote(api_version)} in scheme "
            '"pkg/runtime/scheme.go:111"'
        )
    problems = list(decoded.duplicates)
    for member, given in value.items():
        if member in ("apiVersion", "kind"):
            continue
        if member not in kind.members:
            problems.append(f"unknown field {go_quote(member)}")
        elif given is not None and not isinstance(given, kind.members[member][0]):
            go_type = kind.members[member][1].format(version=version)
            raise _mistyped(given, f"{kind.go_name}.{member}", go_type)
    if problems:
        raise _strict(problems)
    return value, version


def _mistyped(value: Any, field: str, go_type: str) -> ValueError:
    return ValueError(f"json: cannot unmarshal {json_type(value)} into Go struct field {field} of type {go_type}")


def _strict(problems: Sequence[str]) -> ValueError:
    return ValueError("strict decoding error: " + ", ".join(problems))
