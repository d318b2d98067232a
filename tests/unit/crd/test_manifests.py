from __future__ import annotations

import json

import pytest

from extapi.crd.manifests import ManifestError, read_contents, read_manifests
from tests.differential.definitions.building import definition

FILE = """\
# two definitions, and something else
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.wrong.test
  labels: {a.b/c: d}
  nothing: 1
spec:
  group: wrong.test
  scope: Global
  bogus: 1
  names:
    plural: things
    kind: Thing
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
    additionalPrinterColumns:
    - name: a
      type: text
      jsonPath: spec
    selectableFields:
    - jsonPath: .a
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              a.b:
                type: string
                default: 1
              a[0]:
                type: text
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v9]
      clientConfig:
        url: http://a
---
# nothing
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata:
    name: others.wrong.test
  spec: {group: wrong.test}
"""


def test_definitions_are_found_in_documents_and_lists() -> None:
    contents = read_contents(FILE.encode(), "a.yaml")
    assert [(each.obj["metadata"]["name"], each.line) for each in contents.manifests] == [
        ("things.wrong.test", 6),
        ("others.wrong.test", 56),
    ]
    assert contents.others == [(2, "ConfigMap"), (55, "Secret")]
    assert contents.errors == []


def test_a_definition_is_read_as_the_server_reads_it() -> None:
    things, others = read_manifests(FILE.encode(), "a.yaml")
    assert sorted(things.unknown) == ["metadata.nothing", "spec.bogus"]
    assert "bogus" not in things.obj["spec"]
    assert things.obj["spec"]["names"]["listKind"] == "ThingList"
    assert things.obj["status"] == {"storedVersions": ["v1"]}
    assert others.obj["spec"]["conversion"] == {"strategy": "None"}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 6),
        ("metadata.name", 9),
        ("metadata.labels[a.b/c]", 10),
        ("metadata.nothing", 11),
        ("spec.scope", 14),
        ("spec.names.listKind", 16),
        ("spec.version", 20),
        ("spec.versions", 19),
        ("spec.versions[7].name", 19),
        ("spec.subresources.status", 24),
        ("spec.additionalPrinterColumns[0].type", 27),
        ("spec.additionalPrinterColumns[0].JSONPath", 28),
        ("spec.versions[0].additionalPrinterColumns[0].JSONPath", 28),
        ("spec.selectableFields[0].jsonPath", 30),
        ("spec.validation.openAPIV3Schema.type", 33),
        ("spec.validation.openAPIV3Schema.properties[spec].properties[a.b].default.x", 40),
        ("spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a[0]].type", 42),
        ("spec.validation.openAPIV3Schema.properties[spec].properties[c].type", 37),
        ("spec.conversion.webhookClientConfig.url", 48),
        ("spec.conversion.conversionReviewVersions[0]", 46),
        ("spec.conversion.webhookClientConfig.service", 47),
        ("status.storedVersions", 6),
        ("nothing.at.all", 6),
    ],
)
def test_a_path_of_an_error_leads_to_a_line(path: str, line: int) -> None:
    manifest = read_manifests(FILE.encode(), "a.yaml")[0]
    assert manifest.line_of(path) == line


def test_lines_in_lists_are_those_of_the_file() -> None:
    assert read_manifests(FILE.encode(), "a.yaml")[1].line_of("spec.group") == 60


def test_of_two_keys_that_a_path_may_mean_the_longer_is_meant() -> None:
    text = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata:\n  annotations:\n    a: one\n    a.b: two\n    a.b.c: three\n"
    )
    (manifest,) = read_manifests(text.encode(), "a.yaml")
    lines = [manifest.line_of(f"metadata.annotations.{key}") for key in ("a", "a.b", "a.b.c", "a.d")]
    assert lines == [5, 6, 7, 5]


MERGED = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  labels: &a {x: v}
  annotations: &a
    one: v
    two: v
  !!merge <<: [{name: x}, {managed: 1, two: 2}]
spec:
  names:
    <<: *a
    two: w
...
ignored: 1
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [("spec.names.one", 6), ("spec.names.two", 12), ("spec.names.three", 10), ("metadata.name", 8)],
)
def test_merged_fields_have_lines(path: str, line: int) -> None:
    """With an anchor whose name is used twice, and more behind the end of the document."""
    (manifest,) = read_manifests(MERGED.encode(), "a.yaml")
    assert manifest.line_of(path) == line


def test_what_overrides_a_merge_is_no_duplicate() -> None:
    """Kubectl merges before it sends; nobody sees both."""
    contents = read_contents(MERGED.replace("two: w\n", "two: w\n    two: w\n").encode(), "a.yaml")
    assert contents.errors == ['a.yaml:13: key "two" already set in map']


def test_json_has_lines_too() -> None:
    text = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [definition(), definition(scope="Global")]}, indent=1
    )
    found = read_manifests(text.encode(), "a.json")
    assert len(found) == 2
    line = text[: text.index('"Global"')].count("\n") + 1
    assert found[1].line_of("spec.scope") == line
    assert read_manifests(b"\xef\xbb\xbf" + text.encode(), "a.json")[0].line == found[0].line


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a: b\n---\nkind: [\n", "f:3: yaml: did not find expected node content"),
        ("kind: A\nkind: B\n", 'f:2: key "kind" already set in map'),
        ("- a\n", "f:1: must be an object, not array"),
        ("---\n\n# a\nspec: {}\n", "f:4: Object 'Kind' is missing"),
        (
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: 1}\n",
            "f:1: json: cannot unmarshal number into Go struct field CustomResourceDefinitionSpec.spec.group of type string",
        ),
        (
            "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n",
            "f:1: CustomResourceDefinition in version 'v1beta1' is not supported; write apiextensions.k8s.io/v1",
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, wanted: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read_manifests(text.encode(), "f")
    assert wanted in str(raised.value).splitlines()


def test_files_without_definitions_have_none() -> None:
    for text in ("", "---\n---\n", "# only this\n", "null\n"):
        assert read_manifests(text.encode(), "f") == []
    other = "apiVersion: other.example.com/v1\nkind: CustomResourceDefinition\n"
    assert read_contents(other.encode(), "f").others == [(1, "CustomResourceDefinition of other.example.com/v1")]


def test_the_objects_of_a_file_are_counted() -> None:
    many = b"---\n{kind: A}\n" * 10_001
    (error,) = read_contents(many, "f").errors
    assert error == "f: has more than 10000 objects"


def test_json_that_is_not_yaml_is_read_as_kubectl_reads_it_and_told_by_its_first_line() -> None:
    written = definition() | {"metadata": {"name": "\N{SLICE OF PIZZA}"}}
    [found] = read_manifests(b"\n" + json.dumps(written, indent=1).encode(), "a.json")
    assert found.obj["metadata"]["name"] == "\N{SLICE OF PIZZA}"
    assert found.line_of("spec.scope") == 1
