"""``--admission-control-config-file``: what is read, and kube-apiserver's texts for what is wrong, as observed on 1.36.3."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.task import Clock

from extapi.client.credentials import CredentialsError
from extapi.client.webhookreview import ENVELOPE
from extapi.server.admissionconfig import WEBHOOK_PLUGINS, read_admission_config
from tests.unit.client.test_webhookusers import headers_of, kubeconfig

V1 = "apiserver.config.k8s.io/v1"
HEAD = f"apiVersion: {V1}\nkind: AdmissionConfiguration\n"
KIND = f"apiVersion: {V1}, kind: WebhookAdmissionConfiguration"
SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'


def plugin(configuration: str, name: str = "MutatingAdmissionWebhook") -> str:
    return f"{HEAD}plugins:\n- name: {name}\n  configuration: {configuration}\n"


def refusal(directory: Path, content: str) -> str:
    file = directory / "admission.yaml"
    file.write_text(content)
    with pytest.raises(CredentialsError) as raised:
        read_admission_config(file, WEBHOOK_PLUGINS, Clock())
    return str(raised.value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "Object 'Kind' is missing in ''"),
        ("kind: AdmissionConfiguration\n", "Object 'apiVersion' is missing in 'kind: AdmissionConfiguration\n'"),
        (f"apiVersion: {V1}\n", f"Object 'Kind' is missing in 'apiVersion: {V1}\n'"),
        ("a: [b\n", "yaml: line 1: did not find expected ',' or ']'"),
        (f"apiVersion: {V1}\nkind: Other\n", f'no kind "Other" is registered for version "{V1}" {SCHEME}'),
        (
            "apiVersion: apiserver.config.k8s.io/v2\nkind: AdmissionConfiguration\n",
            f'no kind "AdmissionConfiguration" is registered for version "apiserver.config.k8s.io/v2" {SCHEME}',
        ),
        (f"{HEAD}plugin: []\n", 'strict decoding error: unknown field "plugin"'),
        (f"{HEAD}plugins:\n- name: a\n  foo: b\n", 'strict decoding error: unknown field "plugins[0].foo"'),
        (
            f"{HEAD}plugins: 5\n",
            (
                "json: cannot unmarshal number into Go struct field AdmissionConfiguration.plugins of type "
                "[]v1.AdmissionPluginConfiguration"
            ),
        ),
        (
            f"{HEAD}plugins:\n- name: 5\n",
            "json: cannot unmarshal number into Go struct field AdmissionPluginConfiguration.plugins.name of type string",
        ),
        (
            "- a\n",
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
            + ENVELOPE,
        ),
    ],
)
def test_what_is_no_configuration(tmp_path: Path, content: str, text: str) -> None:
    assert refusal(tmp_path, content) == f"failed to read plugin config: {text}"


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    text = refusal(tmp_path, f"{HEAD}plugins: []\nplugins: []\n")
    assert text.startswith("failed to read plugin config: ")
    assert 'line 4: key "plugins" already set in map' in text


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        (
            "{kind: WebhookAdmissionConfiguration}",
            """Object 'apiVersion' is missing in '{"kind":"WebhookAdmissionConfiguration"}'""",
        ),
        (f"{{apiVersion: {V1}}}", f"""Object 'Kind' is missing in '{{"apiVersion":"{V1}"}}'"""),
        ("{}", "Object 'Kind' is missing in '{}'"),
        (
            "5",
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go value of type "
            + ENVELOPE,
        ),
        (
            f"{{apiVersion: {V1}, kind: AdmissionConfiguration}}",
            f'no kind "AdmissionConfiguration" is registered for version "{V1}" {SCHEME}',
        ),
        (f"{{{KIND}, kubeconfigFile: /a}}", 'strict decoding error: unknown field "kubeconfigFile"'),
        (
            f"{{{KIND}, kubeConfigFile: 5}}",
            "json: cannot unmarshal number into Go struct field WebhookAdmission.kubeConfigFile of type string",
        ),
        (f"{{{KIND}, kubeConfigFile: a/b}}", 'kubeConfigFile: Invalid value: "a/b": must be an absolute file path'),
        (f"{{{KIND}, kubeConfigFile: /nope/kc}}", "stat /nope/kc: no such file or directory"),
        (
            f"{{{KIND}, staticManifestsDir: /tmp}}",
            (
                "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate "
                "to be enabled"
            ),
        ),
    ],
)
@pytest.mark.parametrize("name", WEBHOOK_PLUGINS)
def test_what_is_no_configuration_of_a_plugin(tmp_path: Path, name: str, configuration: str, text: str) -> None:
    assert refusal(tmp_path, plugin(configuration, name)) == f'couldn\'t init admission plugin "{name}": {text}'


def test_files_that_are_missing_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError) as raised:
        read_admission_config(Path("/nope/a.yaml"), WEBHOOK_PLUGINS, Clock())
    assert str(raised.value) == (
        'failed to read plugin config: unable to read admission control configuration from "/nope/a.yaml" '
        "[open /nope/a.yaml: no such file or directory]"
    )
    text = refusal(tmp_path, f"{HEAD}plugins:\n- name: MutatingAdmissionWebhook\n  path: nope.yaml\n")
    assert text.endswith(f"Couldn't open admission plugin configuration {tmp_path}/nope.yaml: open {tmp_path}/nope.yaml: no such file or directory")  # fmt: skip
    assert "has more than 1048576 bytes" in refusal(tmp_path, "#" * (1024 * 1024 + 1))


def test_each_plugin_has_its_own_users(tmp_path: Path) -> None:
    mine = kubeconfig(tmp_path, ("*", {"token": "mine"}))
    (tmp_path / "validating.yaml").write_text(
        f"apiVersion: {V1}\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: {mine}\n"
    )
    file = tmp_path / "admission.yaml"
    file.write_text(
        HEAD + "plugins:\n"
        "- {name: ResourceQuota, configuration: {anything: goes}}\n"
        "- {name: ValidatingAdmissionWebhook, path: validating.yaml}\n"
        "- {name: ValidatingAdmissionWebhook, path: the-first-one-counts.yaml}\n"
        "- {name: MutatingAdmissionWebhook, configuration: null}\n"
    )
    found = read_admission_config(file, WEBHOOK_PLUGINS, Clock())
    assert list(found) == ["ValidatingAdmissionWebhook"]
    assert headers_of(found["ValidatingAdmissionWebhook"].of("a.b.svc:443")) == [("Authorization", "Bearer mine")]
    assert read_admission_config(file, ["MutatingAdmissionWebhook"], Clock()) == {}
    file.write_text("apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: AdmissionConfiguration\n")
    assert read_admission_config(file, WEBHOOK_PLUGINS, Clock()) == {}
