package main

import (
	"context"
	"encoding/json"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// policy is what an expression of a match condition or an admission policy sees.
type policy struct {
	// Definitions of variables.x, in order.
	Variables  []named
	Params     json.RawMessage
	Request    *admissionv1.AdmissionRequest
	Namespace  *corev1.Namespace
	HasParams  bool
	Authorizer bool
	Patch      bool
	Object     json.RawMessage
	Old        json.RawMessage
}

type named struct{ Name, Expression string }

type accessor struct{ named }

func (a accessor) GetName() string          { return a.Name }
func (a accessor) GetExpression() string    { return a.Expression }
func (a accessor) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

// permits allows the verb get.
type permits struct{}

func (permits) Authorize(_ context.Context, of authorizer.Attributes) (authorizer.Decision, string, error) {
	if of.GetVerb() == "get" {
		return authorizer.DecisionAllow, "verb " + of.GetVerb(), nil
	}
	return authorizer.DecisionNoOpinion, "not the verb get", nil
}

func objectOf(raw json.RawMessage) (runtime.Object, error) {
	found, err := value(raw)
	if object, ok := found.(map[string]any); ok && err == nil {
		return &unstructured.Unstructured{Object: object}, nil
	}
	return nil, err
}

// policies compiles an expression as kube-apiserver does in admission, and evaluates it.
func policies(asked *request) (out expressionAnswer, err error) {
	of := asked.Policy
	compiler, err := plugincel.NewCompositedCompiler(environments())
	if err != nil {
		return
	}
	declared := plugincel.OptionalVariableDeclarations{HasParams: of.HasParams, HasAuthorizer: of.Authorizer, HasPatchTypes: of.Patch}
	for _, each := range of.Variables {
		if result := compiler.CompileAndStoreVariable(accessor{each}, declared, mode(asked.Stored)); result.Error != nil {
			out.Error = "variables." + each.Name + ": " + result.Error.Detail
			return
		}
	}
	expression := accessor{named{"", asked.Text}}
	compiled := compiler.CompileCELExpression(expression, declared, mode(asked.Stored))
	if compiled.Error != nil {
		out.Error = compiled.Error.Detail
		return
	}
	out.Type = cel.FormatCELType(compiled.OutputType)
	if asked.CompileOnly {
		return
	}
	attributes := &admission.VersionedAttributes{}
	if attributes.VersionedObject, err = objectOf(of.Object); err != nil {
		return
	}
	if attributes.VersionedOldObject, err = objectOf(of.Old); err != nil {
		return
	}
	bound := plugincel.OptionalVariableBindings{}
	if of.HasParams {
		if bound.VersionedParams, err = objectOf(of.Params); err != nil {
			return
		}
	}
	if of.Authorizer {
		bound.Authorizer = permits{}
	}
	asking := of.Request
	if asking == nil {
		asking = &admissionv1.AdmissionRequest{}
	}
	kind, resource := schema.GroupVersionKind(asking.Kind), schema.GroupVersionResource(asking.Resource)
	attributes.Attributes = admission.NewAttributesRecord(nil, nil, kind, asking.Namespace, asking.Name, resource,
		asking.SubResource, admission.Operation(asking.Operation), nil, false, &user.DefaultInfo{Name: asking.UserInfo.Username})
	evaluator := compiler.CompileCondition([]plugincel.ExpressionAccessor{expression}, declared, mode(asked.Stored))
	budget := int64(celconfig.RuntimeCELCostBudget)
	ctx := compiler.CreateContext(context.Background())
	results, remaining, err := evaluator.ForInput(ctx, attributes, asking, bound, of.Namespace, budget)
	if err != nil {
		return
	}
	out.Cost = uint64(budget - remaining)
	if results[0].Error != nil {
		out.EvaluationError = results[0].Error.Error()
	} else {
		out.Value = shown(results[0].EvalResult)
	}
	return
}
