"""The types of ``apiextensions.k8s.io/v1`` as kube-apiserver reads and writes them; JSONSchemaProps refers to itself.

And those of ``v1beta1``: nothing serves it any more, but a body that says so is read by its types before it is refused.
Must not know rules.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1`` and ``v1beta1``: types.go, types_jsonschema.go and marshal.go.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.crd.gojson import GoReading, GoTypeError, GoTypes, Reader

SCHEMA: Final = "JSONSchemaProps"
OLD_API_VERSION: Final = "apiextensions.k8s.io/v1beta1"
"""A version that is read, and then refused: nothing serves it since Kubernetes 1.22."""


def _or_bool(types: GoTypes) -> Reader:
    """A schema, or whether there may be anything."""

    def read(value: Any, path: str, reading: GoReading) -> Any:
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict):
            raise GoTypeError("boolean or JSON schema expected")
        return _loosely(types, SCHEMA, value, path, reading)

    return read


def _or_array(of: str) -> Any:
    """A schema, or a list; whatever else is there is read as null."""

    def make(types: GoTypes) -> Reader:
        def read(value: Any, path: str, reading: GoReading) -> Any:
            if isinstance(value, dict):
                return _loosely(types, SCHEMA, value, path, reading)
            if isinstance(value, list):
                return _loosely(types, f"[]{of}", value, path, reading) or None
            return None

        return read

    return make


def _loosely(types: GoTypes, kind: str, value: Any, path: str, reading: GoReading) -> Any:
    """A part that Go's types read by an unmarshaller of their own, which drops unknown fields without a word."""
    reading.loose += 1
    try:
        return types.reader(kind)(value, path, reading)
    finally:
        reading.loose -= 1


_SHARED: Final = """
ResourceScope = string
ConversionStrategyType = string
CustomResourceDefinitionConditionType = string
ConditionStatus = string
FieldValueErrorReason = string
JSONSchemaURL = string
ValidationRules = []ValidationRule
JSONSchemaDependencies = map[JSONSchemaPropsOrStringArray]
JSONSchemaDefinitions = map[JSONSchemaProps]

CustomResourceDefinition: apiVersion string; kind string; metadata JSON; spec! CustomResourceDefinitionSpec;
    status! CustomResourceDefinitionStatus
CustomResourceDefinitionNames: plural! string; singular string; shortNames []string; kind! string; listKind string;
    categories []string
WebhookClientConfig: url? string; service? ServiceReference; caBundle bytes
ServiceReference: namespace! string; name! string; path? string; port? int32
CustomResourceDefinitionVersion: name! string; served! bool; storage! bool; deprecated bool; deprecationWarning? string;
    schema? CustomResourceValidation; subresources? CustomResourceSubresources;
    additionalPrinterColumns []CustomResourceColumnDefinition; selectableFields []SelectableField
SelectableField: jsonPath! string
CustomResourceValidation: openAPIV3Schema? JSONSchemaProps
CustomResourceSubresources: status? CustomResourceSubresourceStatus; scale? CustomResourceSubresourceScale
CustomResourceSubresourceStatus:
CustomResourceSubresourceScale: specReplicasPath! string; statusReplicasPath! string; labelSelectorPath? string
CustomResourceDefinitionStatus: conditions! []CustomResourceDefinitionCondition;
    acceptedNames! CustomResourceDefinitionNames; storedVersions! []string; observedGeneration int64
CustomResourceDefinitionCondition: type! CustomResourceDefinitionConditionType; status! ConditionStatus;
    lastTransitionTime Time; reason string; message string; observedGeneration int64
JSONSchemaProps: id string; $schema JSONSchemaURL; $ref? string; description string; type string; format string;
    title string; default? JSON; maximum? float64; exclusiveMaximum bool; minimum? float64; exclusiveMinimum bool;
    maxLength? int64; minLength? int64; pattern string; maxItems? int64; minItems? int64; uniqueItems bool;
    multipleOf? float64; enum []JSON; maxProperties? int64; minProperties? int64; required []string;
    items? JSONSchemaPropsOrArray; allOf []JSONSchemaProps; oneOf []JSONSchemaProps; anyOf []JSONSchemaProps;
    not? JSONSchemaProps; properties map[JSONSchemaProps]; additionalProperties? JSONSchemaPropsOrBool;
    patternProperties map[JSONSchemaProps]; dependencies? JSONSchemaDependencies;
    additionalItems? JSONSchemaPropsOrBool; definitions JSONSchemaDefinitions; externalDocs? ExternalDocumentation;
    example? JSON; nullable bool; x-kubernetes-preserve-unknown-fields? bool; x-kubernetes-embedded-resource bool;
    x-kubernetes-int-or-string bool; x-kubernetes-list-map-keys []string; x-kubernetes-list-type? string;
    x-kubernetes-map-type? string; x-kubernetes-validations ValidationRules
ValidationRule: rule! string; message string; messageExpression string; reason? FieldValueErrorReason; fieldPath string;
    optionalOldSelf? bool
ExternalDocumentation: description string; url string
"""
_V1: Final = """
CustomResourceDefinitionSpec: group! string; names! CustomResourceDefinitionNames; scope! ResourceScope;
    versions! []CustomResourceDefinitionVersion; conversion? CustomResourceConversion; preserveUnknownFields bool
CustomResourceConversion: strategy! ConversionStrategyType; webhook? WebhookConversion
WebhookConversion: clientConfig? WebhookClientConfig; conversionReviewVersions! []string
CustomResourceColumnDefinition: name! string; type! string; format string; description string; priority int32;
    jsonPath! string
"""
_V1BETA1: Final = """
CustomResourceDefinitionSpec: group! string; version string; names! CustomResourceDefinitionNames; scope! ResourceScope;
    validation? CustomResourceValidation; subresources? CustomResourceSubresources;
    versions []CustomResourceDefinitionVersion; additionalPrinterColumns []CustomResourceColumnDefinition;
    selectableFields []SelectableField; conversion? CustomResourceConversion; preserveUnknownFields? bool
CustomResourceConversion: strategy! ConversionStrategyType; webhookClientConfig? WebhookClientConfig;
    conversionReviewVersions []string
CustomResourceColumnDefinition: name! string; type! string; format string; description string; priority int32;
    JSONPath! string
"""
_SPECIAL: Final = {
    "JSONSchemaPropsOrBool": _or_bool,
    "JSONSchemaPropsOrArray": _or_array(SCHEMA),
    "JSONSchemaPropsOrStringArray": _or_array("string"),
}
TYPES: Final = GoTypes(_SHARED + _V1, special=_SPECIAL)
OLD_TYPES: Final = GoTypes(_SHARED + _V1BETA1, package="v1beta1", special=_SPECIAL)


def read_definition(value: Any) -> tuple[dict[str, Any], list[str]]:
    """A definition as the server reads it, and the paths of its unknown fields.

    Args:
        value: The object; the types of ``v1beta1`` read it if it says so, and those of ``v1`` any other.

    Raises:
        GoTypeError: A value has a wrong type.
    """
    old = isinstance(value, dict) and value.get("apiVersion") == OLD_API_VERSION
    return (OLD_TYPES if old else TYPES).read("CustomResourceDefinition", value)
