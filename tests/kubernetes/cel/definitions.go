package main

import (
	"context"
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

type definitionAnswer struct {
	Errors []errorAnswer `json:"errors"`
}

func crd(raw json.RawMessage) (*apiextensions.CustomResourceDefinition, error) {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(raw, v1); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, internal, nil)
	// As the strategy does before it validates.
	for _, each := range internal.Spec.Versions {
		if each.Storage {
			internal.Status.StoredVersions = []string{each.Name}
		}
	}
	return internal, err
}

// definition validates a CustomResourceDefinition, or an update of one.
func definition(asked *request) (out definitionAnswer, err error) {
	made, err := crd(asked.Definition)
	if err != nil {
		return
	}
	if len(asked.Old) == 0 {
		out.Errors = errorsShown(validation.ValidateCustomResourceDefinition(context.Background(), made))
		return
	}
	old, err := crd(asked.Old)
	if err != nil {
		return
	}
	made.ResourceVersion, old.ResourceVersion = "1", "1"
	out.Errors = errorsShown(validation.ValidateCustomResourceDefinitionUpdate(context.Background(), made, old))
	return
}
