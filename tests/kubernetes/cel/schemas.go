package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"
)

type ruleAnswer struct {
	// Where the node is: .name for a property, [] for items, {} for values, and &0 for a part of allOf.
	Path         string `json:"path"`
	Index        int    `json:"index"`
	Rule         string `json:"rule"`
	Error        string `json:"error,omitempty"`
	Max          uint64 `json:"max"`
	Cardinality  uint64 `json:"cardinality"`
	UsesOldSelf  bool   `json:"usesOldSelf"`
	MessageError string `json:"messageError,omitempty"`
	MessageMax   uint64 `json:"messageMax"`
	FieldPath    string `json:"fieldPath,omitempty"`
}

type errorAnswer struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
	Text   string `json:"text"`
}

// change is an object, and what it replaces, if anything.
type change struct{ Object, Old json.RawMessage }

type objectAnswer struct {
	Errors     []errorAnswer `json:"errors"`
	Warnings   []string      `json:"warnings"`
	Remaining  int64         `json:"remaining"`
	Cost       int64         `json:"cost"`
	EvaluateNs int64         `json:"evaluateNs,omitempty"`
}

type schemaAnswer struct {
	Rules     []ruleAnswer   `json:"rules"`
	Objects   []objectAnswer `json:"objects"`
	CompileNs int64          `json:"compileNs,omitempty"`
}

func structural(raw json.RawMessage) (*schema.Structural, error) {
	v1 := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(raw, v1); err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		return nil, err
	}
	return schema.NewStructural(internal)
}

type walker struct {
	loader schemacel.EnvLoader
	limit  uint64
	rules  []ruleAnswer
	err    error
}

// walk compiles the rules of each node, with the types that the validator has there. Source: schema/cel validator.
func (w *walker) walk(rules, node *schema.Structural, declared *apiservercel.DeclType, path string) {
	compiled := *node
	compiled.XValidations = rules.XValidations
	results, err := schemacel.Compile(&compiled, declared, w.limit, environments(), w.loader)
	if err != nil {
		w.err = fmt.Errorf("%s: %w", path, err)
	}
	for i, each := range results {
		found := ruleAnswer{
			Path: path, Index: i, Rule: rules.XValidations[i].Rule, Max: each.MaxCost, Cardinality: each.MaxCardinality,
			UsesOldSelf: each.UsesOldSelf, MessageMax: each.MessageExpressionMaxCost, FieldPath: each.NormalizedRuleFieldPath,
		}
		if each.Error != nil {
			found.Error = each.Error.Detail
		}
		if each.MessageExpressionError != nil {
			found.MessageError = each.MessageExpressionError.Detail
		}
		w.rules = append(w.rules, found)
	}
	var element *apiservercel.DeclType
	if declared != nil {
		element = declared.ElemType
	}
	if rules.Items != nil && node.Items != nil {
		w.walk(rules.Items, node.Items, element, path+"[]")
	}
	names := make([]string, 0, len(rules.Properties))
	for name := range rules.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		inner, ok := node.Properties[name]
		if !ok {
			continue
		}
		var of *apiservercel.DeclType
		if escaped, ok := apiservercel.Escape(name); ok {
			if declared == nil || declared.Fields[escaped] == nil {
				continue
			}
			of = declared.Fields[escaped].Type
		} else if of = model.SchemaDeclType(&inner, inner.XEmbeddedResource); of == nil {
			continue
		}
		property := rules.Properties[name]
		w.walk(&property, &inner, of, path+"."+name)
	}
	if rules.AdditionalProperties != nil && rules.AdditionalProperties.Structural != nil &&
		node.AdditionalProperties != nil && node.AdditionalProperties.Structural != nil {
		w.walk(rules.AdditionalProperties.Structural, node.AdditionalProperties.Structural, element, path+"{}")
	}
	if rules.ValueValidation != nil {
		for i := range rules.ValueValidation.AllOf {
			w.walk(nested(&rules.ValueValidation.AllOf[i]), node, declared, fmt.Sprintf("%s&%d", path, i))
		}
	}
}

// Source: schema/cel nestedToStructural.
func nested(from *schema.NestedValueValidation) *schema.Structural {
	if from == nil {
		return nil
	}
	made := &schema.Structural{
		ValueValidation: &from.ValueValidation, ValidationExtensions: from.ValidationExtensions,
		Generic: from.ForbiddenGenerics, Extensions: from.ForbiddenExtensions, Items: nested(from.Items),
	}
	if len(from.Properties) > 0 {
		made.Properties = map[string]schema.Structural{}
		for name, each := range from.Properties {
			made.Properties[name] = *nested(&each)
		}
	}
	if from.AdditionalProperties != nil {
		made.AdditionalProperties = &schema.StructuralOrBool{Structural: nested(from.AdditionalProperties)}
	}
	return made
}

type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

func errorsShown(errors field.ErrorList) []errorAnswer {
	out := []errorAnswer{}
	for _, each := range errors {
		out = append(out, errorAnswer{Type: string(each.Type), Field: each.Field, Detail: each.Detail, Text: each.Error()})
	}
	return out
}

// schemas compiles the rules of a schema, and validates objects by them.
func schemas(asked *request) (out schemaAnswer, err error) {
	of, err := structural(asked.Schema)
	if err != nil {
		return
	}
	limit := asked.Limit
	if limit == 0 {
		limit = celconfig.PerCallLimit
	}
	w := walker{loader: schemacel.NewExpressionsEnvLoader(), limit: limit}
	if asked.Stored {
		w.loader = schemacel.StoredExpressionsEnvLoader()
	}
	started := cpu()
	for range max(asked.CompileRepeat, 1) {
		w.rules = nil
		w.walk(of, of, model.SchemaDeclType(of, asked.Root), "")
	}
	out.CompileNs = (cpu() - started) / int64(max(asked.CompileRepeat, 1))
	if out.Rules = w.rules; w.err != nil {
		return out, w.err
	}
	if asked.CompileOnly {
		return
	}
	validator := schemacel.NewValidator(of, asked.Root, limit)
	for _, each := range asked.Objects {
		found, err := validated(asked, of, validator, each)
		if err != nil {
			return out, err
		}
		out.Objects = append(out.Objects, found)
	}
	return
}

func validated(asked *request, of *schema.Structural, validator *schemacel.Validator, given change) (out objectAnswer, err error) {
	object, err := value(given.Object)
	if err != nil {
		return
	}
	old, err := value(given.Old)
	if err != nil {
		return
	}
	budget := int64(celconfig.RuntimeCELCostBudget)
	if asked.Budget != nil {
		budget = *asked.Budget
	}
	started := cpu()
	for i := range max(asked.Repeat, 1) {
		recorded := &recorder{texts: []string{}}
		ctx := warning.WithWarningRecorder(context.Background(), recorded)
		var options []schemacel.Option
		if asked.Ratchet {
			options = append(options, schemacel.WithRatcheting(common.NewCorrelatedObject(object, old, &model.Structural{Structural: of})))
		}
		found, remaining := validator.Validate(ctx, path(asked.Path), of, object, old, budget, options...)
		if i == 0 {
			out.Errors, out.Warnings, out.Remaining, out.Cost = errorsShown(found), recorded.texts, remaining, budget-remaining
		}
	}
	out.EvaluateNs = (cpu() - started) / int64(max(asked.Repeat, 1))
	return
}

func path(text string) *field.Path {
	if text == "" {
		return nil
	}
	names := strings.Split(text, ".")
	return field.NewPath(names[0], names[1:]...)
}
