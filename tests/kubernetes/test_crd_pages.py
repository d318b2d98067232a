"""Kubernetes' pages on CustomResourceDefinitions, typed: "Extend the Kubernetes API with CustomResourceDefinitions".

Manifests and commands are those of the page; addresses of examples are files here, since nothing is downloaded. Comments in
manifests are left out. Outputs are those of today's kubectl where the page shows older ones.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.crdpages import Reader

NAMES = """
  scope: Namespaced
  names:
    plural: crontabs
    singular: crontab
    kind: CronTab
    shortNames:
    - ct
"""
HEAD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
"""
PLAIN = (
    HEAD
    + """\
            spec:
              type: object
              properties:
                cronSpec:
                  type: string
                image:
                  type: string
                replicas:
                  type: integer
"""
    + NAMES
)
CRONTAB = """
apiVersion: "stable.example.com/v1"
kind: CronTab
metadata:
  name: my-new-cron-object
spec:
"""
NORMAL = (
    CRONTAB
    + """\
  cronSpec: "* * * * */5"
  image: my-awesome-cron-image
"""
)


@pytest.fixture
def reader(control_plane: ControlPlane, tmp_path: Path) -> Reader:
    """One whose kubectl remembers no resources of other tests."""
    (tmp_path / "home").mkdir()
    return Reader(Kubectl(control_plane.kubeconfig, tmp_path / "home"), tmp_path)


def test_create_a_definition_and_objects_and_delete_it(reader: Reader) -> None:
    with reader.defining(PLAIN):
        reader.save("my-crontab.yaml", NORMAL)
        reader.applies("my-crontab.yaml", "crontab.stable.example.com/my-new-cron-object created")
        head, row = reader.types("kubectl get crontab").splitlines()
        assert (head.split(), row.split()[0]) == (["NAME", "AGE"], "my-new-cron-object")
        found = yaml.safe_load(reader.types("kubectl get ct -o yaml"))["items"][0]
        assert found["spec"] == {"cronSpec": "* * * * */5", "image": "my-awesome-cron-image"}
        assert found["metadata"]["generation"] == 1
        assert found["metadata"]["namespace"] == "default"
        assert found["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] == (
            '{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"annotations":{},"name":'
            '"my-new-cron-object","namespace":"default"},"spec":{"cronSpec":"* * * * */5","image":'
            '"my-awesome-cron-image"}}\n'
        )
        assert "deleted" in reader.types("kubectl delete -f resourcedefinition.yaml")
        said = reader.is_refused("kubectl get crontabs")
        assert "could not find the requested resource" in said or "doesn't have a resource type" in said
        reader.types("kubectl apply -f resourcedefinition.yaml")
        reader.established("crontabs.stable.example.com")
        assert reader.types("kubectl get crontabs -o name") == "", "what is defined again is empty"


def test_unknown_fields_are_pruned(reader: Reader) -> None:
    with reader.defining(PLAIN):
        reader.save("my-crontab.yaml", NORMAL + "  someRandomField: 42\n")
        made = yaml.safe_load(reader.types("kubectl create --validate=false -f my-crontab.yaml -o yaml"))
        assert made["spec"] == {"cronSpec": "* * * * */5", "image": "my-awesome-cron-image"}
        assert "unknown field" in reader.is_refused("kubectl apply -f my-crontab.yaml")


def test_a_part_keeps_unknown_fields(reader: Reader) -> None:
    schema = """\
            json:
              x-kubernetes-preserve-unknown-fields: true
              type: object
              properties:
                spec:
                  type: object
                  properties:
                    foo:
                      type: string
                    bar:
                      type: string
            foo:
              x-kubernetes-int-or-string: true
            object:
              type: object
              x-kubernetes-embedded-resource: true
              x-kubernetes-preserve-unknown-fields: true
"""
    with reader.defining(HEAD + schema + NAMES):
        head = CRONTAB.replace("spec:\n", "")
        value = """\
json:
  spec:
    foo: abc
    bar: def
    something: x
  status:
    something: x
foo: 5
object:
  apiVersion: v1
  kind: Pod
  spec:
    any: thing
"""
        reader.save("my-crontab.yaml", head + value)
        made = yaml.safe_load(reader.types("kubectl create --validate=false -f my-crontab.yaml -o yaml"))
        assert made["json"] == {"spec": {"foo": "abc", "bar": "def"}, "status": {"something": "x"}}
        assert made["foo"] == 5
        assert made["object"] == {"apiVersion": "v1", "kind": "Pod", "spec": {"any": "thing"}}
        reader.save("other.yaml", (head + value).replace("foo: 5", "foo: five").replace("my-new", "my-other"))
        assert yaml.safe_load(reader.types("kubectl create --validate=false -f other.yaml -o yaml"))["foo"] == "five"
        reader.save("wrong.yaml", (head + value).replace("kind: Pod", "name: x").replace("my-new", "my-third"))
        assert "object.kind: Required value" in reader.is_refused("kubectl create --validate=false -f wrong.yaml")


VALIDATED = (
    HEAD
    + r"""            spec:
              type: object
              properties:
                cronSpec:
                  type: string
                  pattern: '^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$'
                image:
                  type: string
                replicas:
                  type: integer
                  minimum: 1
                  maximum: 10
"""
    + NAMES
)


def test_objects_are_validated(reader: Reader) -> None:
    with reader.defining(VALIDATED):
        wrong = CRONTAB + '  cronSpec: "* * * *"\n  image: my-awesome-cron-image\n  replicas: 15\n'
        reader.save("my-crontab.yaml", wrong)
        heading, *causes = reader.is_refused("kubectl apply -f my-crontab.yaml").splitlines()
        assert heading == 'The CronTab "my-new-cron-object" is invalid: '
        assert sorted(causes) == [  # kube-apiserver goes through a map of the properties
            (
                r'* spec.cronSpec: Invalid value: "* * * *": spec.cronSpec in body should match '
                r"'^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$'"
            ),
            "* spec.replicas: Invalid value: 15: spec.replicas in body should be less than or equal to 10",
        ]
        reader.save("my-crontab.yaml", NORMAL + "  replicas: 5\n")
        reader.applies("my-crontab.yaml")


NUMBERS = """\
            spec:
              type: object
              x-kubernetes-validations:
                - rule: "self.minReplicas <= self.replicas"
                  message: "replicas should be greater than or equal to minReplicas."
                - rule: "self.replicas <= self.maxReplicas"
                  message: "replicas should be smaller than or equal to maxReplicas."
              properties:
                minReplicas:
                  type: integer
                replicas:
                  type: integer
                maxReplicas:
                  type: integer
              required:
                - minReplicas
                - replicas
                - maxReplicas
"""


def test_rules_are_checked(reader: Reader) -> None:
    with reader.defining(HEAD + NUMBERS + NAMES):
        reader.save("my-crontab.yaml", CRONTAB + "  minReplicas: 0\n  replicas: 20\n  maxReplicas: 10\n")
        said = reader.is_refused("kubectl apply -f my-crontab.yaml")
        assert said.startswith('The CronTab "my-new-cron-object" is invalid: spec: Invalid value: ')
        assert said.endswith(": replicas should be smaller than or equal to maxReplicas.\n")


@pytest.mark.parametrize(
    ("rule", "texts"),
    [
        ("self.foo == true", ["found no matching overload for '_==_' applied to '(int, bool)'"]),
        ("self.nonExistingField > 0", ["undefined field 'nonExistingField'"]),
        ("has(self)", ["invalid argument to has() macro"]),
    ],
)
def test_rules_that_do_not_compile_are_refused(reader: Reader, rule: str, texts: list[str]) -> None:
    schema = f"""\
            spec:
              type: object
              x-kubernetes-validations:
                - rule: "{rule}"
              properties:
                foo:
                  type: integer
"""
    reader.save("resourcedefinition.yaml", HEAD + schema + NAMES)
    said = reader.is_refused("kubectl apply -f resourcedefinition.yaml")
    for text in ["spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule", *texts]:
        assert text in said


COSTLY = """\
            spec:
              type: object
              properties:
                foo:
                  type: array
{bounds}                  items:
                    type: string
{length}                  x-kubernetes-validations:
                    - rule: "self.all(x, x.contains('a string'))"
"""


def test_rules_that_cost_too_much_are_refused(reader: Reader) -> None:
    reader.save("resourcedefinition.yaml", HEAD + COSTLY.format(bounds="", length="") + NAMES)
    said = reader.is_refused("kubectl apply -f resourcedefinition.yaml")
    path = "spec.validation.openAPIV3Schema.properties[spec].properties[foo].x-kubernetes-validations[0].rule"
    assert re.search(re.escape(path) + r": Forbidden: .*exceeds? budget by ", said.replace("exceeded", "exceeds"))
    bounded = COSTLY.format(bounds="                  maxItems: 25\n", length="                    maxLength: 10\n")
    with reader.defining(HEAD + bounded + NAMES):
        pass


def test_defaults_are_filled_in(reader: Reader) -> None:
    manifest = VALIDATED.replace("{4}$'", '{4}$\'\n                  default: "5 0 * * *"').replace(
        "maximum: 10", "maximum: 10\n                  default: 1"
    )
    with reader.defining(manifest):
        reader.save("my-crontab.yaml", CRONTAB + "  image: my-awesome-cron-image\n")
        reader.applies("my-crontab.yaml")
        found = yaml.safe_load(reader.types("kubectl get ct my-new-cron-object -o yaml"))
        assert found["spec"] == {"cronSpec": "5 0 * * *", "image": "my-awesome-cron-image", "replicas": 1}


def test_nulls_are_pruned_before_defaults_unless_they_may_be_there(reader: Reader) -> None:
    schema = """\
            spec:
              type: object
              properties:
                foo:
                  type: string
                  nullable: false
                  default: "default"
                bar:
                  type: string
                  nullable: true
                baz:
                  type: string
"""
    with reader.defining(HEAD + schema + NAMES):
        reader.save("my-crontab.yaml", CRONTAB + "  foo: null\n  bar: null\n  baz: null\n")
        made = yaml.safe_load(reader.types("kubectl create -f my-crontab.yaml -o yaml"))
        assert made["spec"] == {"foo": "default", "bar": None}


def test_columns_are_printed(reader: Reader) -> None:
    columns = """\
      additionalPrinterColumns:
      - name: Spec
        type: string
        description: The cron spec defining the interval a CronJob is run
        jsonPath: .spec.cronSpec
      - name: Replicas
        type: integer
        description: The number of jobs launched by the CronJob
        jsonPath: .spec.replicas
      - name: Age
        type: date
        jsonPath: .metadata.creationTimestamp
"""
    with reader.defining(PLAIN.replace(NAMES, columns + NAMES)):
        reader.save("my-crontab.yaml", CRONTAB + '  cronSpec: "* * * * *"\n  replicas: 1\n')
        reader.applies("my-crontab.yaml")
        head, row = reader.types("kubectl get crontab my-new-cron-object").splitlines()
        assert head.split() == ["NAME", "SPEC", "REPLICAS", "AGE"]
        assert re.fullmatch(r"my-new-cron-object\s+\* \* \* \* \*\s+1\s+\d+s", row)


def test_fields_select(reader: Reader) -> None:
    manifest = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shirts.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names:
    plural: shirts
    singular: shirt
    kind: Shirt
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color:
                type: string
              size:
                type: string
    selectableFields:
    - jsonPath: .spec.color
    - jsonPath: .spec.size
    additionalPrinterColumns:
    - jsonPath: .spec.color
      name: Color
      type: string
    - jsonPath: .spec.size
      name: Size
      type: string
"""
    with reader.defining(manifest, "shirts.stable.example.com"):
        shirts = [("example1", "blue", "S"), ("example2", "blue", "M"), ("example3", "green", "M")]
        one = "---\napiVersion: stable.example.com/v1\nkind: Shirt\nmetadata:\n  name: {}\nspec:\n  color: {}\n  size: {}\n"
        reader.save("shirt-resources.yaml", "".join(one.format(*each) for each in shirts))
        reader.applies("shirt-resources.yaml")

        def listed(selector: str = "") -> list[tuple[str, ...]]:
            head, *rows = reader.types(f"kubectl get shirts.stable.example.com {selector}").splitlines()
            assert head.split() == ["NAME", "COLOR", "SIZE"]
            return [tuple(row.split()) for row in rows]

        assert listed() == shirts
        assert listed("--field-selector spec.color=blue") == shirts[:2]
        assert listed("--field-selector spec.color=green,spec.size=M") == shirts[2:]
