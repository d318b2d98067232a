"""The same pages: subresources and categories, and the page "Versions in CustomResourceDefinitions"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.crdpages import Reader
from tests.kubernetes.test_crd_pages import CRONTAB, NAMES, NORMAL, PLAIN
from tests.waiting import until


@pytest.fixture
def reader(control_plane: ControlPlane, tmp_path: Path) -> Reader:
    """One whose kubectl remembers no resources of other tests."""
    (tmp_path / "home").mkdir()
    return Reader(Kubectl(control_plane.kubeconfig, tmp_path / "home"), tmp_path)


def test_status_and_scale(reader: Reader) -> None:
    status = """\
            status:
              type: object
              properties:
                replicas:
                  type: integer
                labelSelector:
                  type: string
      subresources:
        status: {}
        scale:
          specReplicasPath: .spec.replicas
          statusReplicasPath: .status.replicas
          labelSelectorPath: .status.labelSelector
"""
    with reader.defining(PLAIN.replace(NAMES, status + NAMES)):
        reader.save("my-crontab.yaml", NORMAL + "  replicas: 3\n")
        reader.applies("my-crontab.yaml")
        path = "/apis/stable.example.com/v1/namespaces/default/crontabs/my-new-cron-object"
        assert json.loads(reader.types(f"kubectl get --raw {path}/status"))["spec"]["replicas"] == 3
        scale = json.loads(reader.types(f"kubectl get --raw {path}/scale"))
        assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
        assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 0})
        said = reader.types("kubectl scale --replicas=5 crontabs/my-new-cron-object")
        assert said == "crontab.stable.example.com/my-new-cron-object scaled\n"
        assert reader.types("kubectl get crontabs my-new-cron-object -o jsonpath='{.spec.replicas}'") == "5"
        patch = '{"status":{"replicas":2,"labelSelector":"a=b"},"spec":{"replicas":9}}'
        reader.types(f"kubectl patch ct my-new-cron-object --subresource=status --type=merge -p '{patch}'")
        scale = json.loads(reader.types(f"kubectl get --raw {path}/scale"))
        assert (scale["spec"], scale["status"]) == ({"replicas": 5}, {"replicas": 2, "selector": "a=b"})


def test_a_finalizer_holds_an_object(reader: Reader) -> None:
    with reader.defining(PLAIN):
        reader.save(
            "my-crontab.yaml", NORMAL.replace("spec:", "  finalizers:\n  - stable.example.com/finalizer\nspec:")
        )
        reader.applies("my-crontab.yaml")
        reader.types("kubectl delete ct my-new-cron-object --wait=false")
        assert reader.types("kubectl get ct my-new-cron-object -o jsonpath='{.metadata.deletionTimestamp}'")
        reader.types("""kubectl patch ct my-new-cron-object --type=merge -p '{"metadata":{"finalizers":[]}}'""")
        assert reader.types("kubectl get ct -o name") == ""


def test_a_category_lists_the_objects(reader: Reader) -> None:
    with reader.defining(PLAIN + "    categories:\n    - all\n"):
        reader.save("my-crontab.yaml", NORMAL)
        reader.applies("my-crontab.yaml")
        assert "crontab.stable.example.com/my-new-cron-object" in reader.types("kubectl get all")


SCHEMA = """
    schema:
      openAPIV3Schema:
        type: object
        properties:
          host:
            type: string
          port:
            type: string
"""


def versioned(versions: str) -> str:
    return (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: crontabs.example.com\n"
        f"spec:\n  group: example.com\n  versions:\n{versions}  conversion:\n    strategy: None{NAMES}"
    )


def version(name: str, *, served: bool = True, storage: bool = False, more: str = "") -> str:
    return (
        f"  - name: {name}\n    served: {str(served).lower()}\n    storage: {str(storage).lower()}\n{more}".rstrip()
        + SCHEMA
    )


NAME = "crontabs.example.com"


def stored(reader: Reader) -> list[str]:
    found: list[str] = json.loads(reader.types(f"kubectl get crd {NAME} -o jsonpath='{{.status.storedVersions}}'"))
    return found


def test_both_versions_are_served_and_the_best_is_the_default(reader: Reader) -> None:
    with reader.defining(versioned(version("v1beta1", storage=True) + version("v1")), NAME):
        assert json.loads(reader.types("kubectl get --raw /apis/example.com/v1beta1"))["resources"]
        group = json.loads(reader.types("kubectl get --raw /apis/example.com"))
        assert [each["version"] for each in group["versions"]] == ["v1", "v1beta1"]
        assert group["preferredVersion"]["version"] == "v1"
        body = CRONTAB.replace("stable.example.com/v1", "example.com/v1beta1").replace(
            "spec:", "host: localhost\nport: '1'"
        )
        reader.save("my-crontab.yaml", body)
        reader.applies("my-crontab.yaml")
        assert yaml.safe_load(reader.types("kubectl get ct -o yaml"))["items"][0]["apiVersion"] == "example.com/v1"
        old = yaml.safe_load(reader.types("kubectl get crontabs.v1beta1.example.com -o yaml"))["items"][0]
        assert (old["apiVersion"], old["host"], old["port"]) == ("example.com/v1beta1", "localhost", "1")


def test_versions_in_their_order(reader: Reader) -> None:
    order = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    with reader.defining(versioned("".join(version(each, storage=each == "v1") for each in sorted(order))), NAME):
        group = json.loads(reader.types("kubectl get --raw /apis/example.com"))
        assert [each["version"] for each in group["versions"]] == order


def test_a_deprecated_version_warns(reader: Reader) -> None:
    text = (
        "example.com/v1alpha1 CronTab is deprecated; see http://example.com/v1alpha1-v1 for instructions to migrate to "
        "example.com/v1 CronTab"
    )
    alpha = version("v1alpha1", more=f'    deprecated: true\n    deprecationWarning: "{text}"\n')
    beta = version("v1beta1", more="    deprecated: true\n")
    with reader.defining(versioned(alpha + beta + version("v1", storage=True)), NAME):
        assert f"Warning: {text}\n" in reader.run("kubectl get crontabs.v1alpha1.example.com").stderr
        default = "Warning: example.com/v1beta1 CronTab is deprecated; use example.com/v1 CronTab\n"
        assert default in reader.run("kubectl get crontabs.v1beta1.example.com").stderr
        assert "Warning" not in reader.run("kubectl get crontabs.v1.example.com").stderr


def test_a_version_is_removed_after_the_objects_were_rewritten(reader: Reader) -> None:
    with reader.defining(versioned(version("v1beta1", storage=True)), NAME):
        body = CRONTAB.replace("stable.example.com/v1", "example.com/v1beta1").replace("spec:", "host: localhost")
        reader.save("my-crontab.yaml", body)
        reader.applies("my-crontab.yaml")
        reader.save("my-versioned-crontab.yaml", versioned(version("v1beta1") + version("v1", storage=True)))
        reader.types("kubectl apply -f my-versioned-crontab.yaml")
        assert stored(reader) == ["v1beta1", "v1"]
        path = "/apis/example.com/v1/namespaces/default/crontabs"
        until(lambda: json.loads(reader.types(f"kubectl get --raw {path}"))["items"][0]["host"] == "localhost")

        reader.save(
            "my-versioned-crontab.yaml", versioned(version("v1beta1", served=False) + version("v1", storage=True))
        )
        reader.types("kubectl apply -f my-versioned-crontab.yaml")
        until(lambda: reader.run("kubectl get --raw /apis/example.com/v1beta1").returncode != 0)
        reader.save("last.yaml", versioned(version("v1", storage=True)))
        said = reader.is_refused("kubectl apply -f last.yaml")
        assert "status.storedVersions[0]: Invalid value: " in said

        found = reader.types(f"kubectl get --raw {path}/my-new-cron-object")
        reader.save("rewritten.json", found)
        reader.types(f"kubectl replace --raw {path}/my-new-cron-object -f rewritten.json")
        reader.types(
            f"""kubectl patch crd {NAME} --subresource=status --type=merge -p '{{"status":{{"storedVersions":["v1"]}}}}'"""
        )
        reader.types("kubectl apply -f last.yaml")
        assert stored(reader) == ["v1"]
        until(
            lambda: json.loads(reader.types(f"kubectl get --raw {path}"))["items"][0]["apiVersion"] == "example.com/v1"
        )


def test_a_definition_of_v1beta1_is_not_served_any_more(reader: Reader) -> None:
    reader.save(
        "my-versioned-crontab.yaml", versioned(version("v1", storage=True)).replace("k8s.io/v1", "k8s.io/v1beta1")
    )
    said = reader.is_refused("kubectl apply -f my-versioned-crontab.yaml")
    assert 'no matches for kind "CustomResourceDefinition" in version "apiextensions.k8s.io/v1beta1"' in said


def test_authorities_that_are_no_base64_are_refused(reader: Reader) -> None:
    webhook = """\
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: ["v1","v1beta1"]
      clientConfig:
        service:
          namespace: default
          name: example-conversion-webhook-server
          path: /crdconvert
        caBundle: "Ci0tLS0tQk...<base64-encoded PEM bundle>...tLS0K"
"""
    text = versioned(version("v1", storage=True)).replace("  conversion:\n    strategy: None\n", webhook)
    reader.save("my-versioned-crontab-with-conversion.yaml", text)
    said = reader.is_refused("kubectl apply -f my-versioned-crontab-with-conversion.yaml")
    assert "illegal base64 data at input byte 10" in said


NIGHTLY = """\
            spec:
              type: object
              properties:
                command:
                  type: string
                  minLength: 1
                shell:
                  type: string
                  minLength: 1
                machines:
                  type: array
                  items:
                    type: string
                    pattern: "^[a-z0-9]+(-[a-z0-9]+)*$"
"""


def nightly(schema: str) -> str:
    """The job of the post "Future of CRDs: Structural Schemas". Its group has no dot there."""
    text = PLAIN[: PLAIN.index("            spec:")] + schema + NAMES
    for old, new in (
        ("crontabs.stable.example.com", "nightlyjobs.operations.example.com"),
        ("stable.example.com", "operations.example.com"),
        ("crontabs", "nightlyjobs"),
        ("crontab", "nightlyjob"),
        ("CronTab", "MaintenanceNightlyJob"),
        ("- ct", "- nj"),
    ):
        text = text.replace(old, new)
    return text


def test_a_structural_schema_prunes_the_malicious_field(reader: Reader) -> None:
    choice = '              oneOf:\n              - required: ["command"]\n              - required: ["shell"]\n'
    required = '          required: ["spec"]\n'
    with reader.defining(nightly(NIGHTLY + choice + required), "nightlyjobs.operations.example.com"):
        job = """\
            apiVersion: operations.example.com/v1
            kind: MaintenanceNightlyJob
            metadata:
              name: backdoor
            spec:
              shell: "grep backdoor /etc/passwd || true"
              machines: ["az1-master1", "az1-master2", "az2-master3"]
              privileged: true
            """
        reader.save("job.yaml", job)
        made = yaml.safe_load(reader.types("kubectl create --validate=false -f job.yaml -o yaml"))
        assert made["spec"].keys() == {"shell", "machines"}
        reader.save(
            "job.yaml", job.replace("backdoor\n", "both\n").replace("spec:", "spec:\n              command: ls")
        )
        said = reader.is_refused("kubectl create --validate=false -f job.yaml")
        assert '"spec" must validate one and only one schema (oneOf)' in said


def test_a_schema_that_is_not_structural_is_refused_with_each_reason(reader: Reader) -> None:
    choice = """\
              oneOf:
              - properties:
                  command:
                    type: string
                required: ["command"]
              - properties:
                  shell:
                    type: string
                required: ["shell"]
              not:
                properties:
                  privileged: {}
"""
    text = nightly(NIGHTLY + choice).replace(
        "          type: object\n          properties:\n            spec:", "          properties:\n            spec:"
    )
    reader.save("resourcedefinition.yaml", text)
    said = reader.is_refused("kubectl apply -f resourcedefinition.yaml")
    spec = "spec.validation.openAPIV3Schema.properties[spec]"
    for reason in (  # the post gives a third one, for "privileged", which kube-apiserver does not
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
        f"{spec}.oneOf[0].properties[command].type: Forbidden: must be empty to be structural",
        f"{spec}.oneOf[1].properties[shell].type: Forbidden: must be empty to be structural",
    ):
        assert reason in said
