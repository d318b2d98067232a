package main

import (
	"encoding/json"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// variable is one that an expression may use: dyn without a schema, otherwise of the schema's type.
type variable struct {
	Name     string
	Schema   json.RawMessage
	Root     bool
	Optional bool
	Value    json.RawMessage
}

type expressionAnswer struct {
	Error           string `json:"error,omitempty"`
	Type            string `json:"type,omitempty"`
	Value           any    `json:"value,omitempty"`
	EvaluationError string `json:"evaluationError,omitempty"`
	Cost            uint64 `json:"cost"`
	Min             uint64 `json:"min"`
	Max             uint64 `json:"max"`
	CompileNs       int64  `json:"compileNs,omitempty"`
	EvaluateNs      int64  `json:"evaluateNs,omitempty"`
}

func environments() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
}

func mode(stored bool) environment.Type {
	if stored {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// sizes does what the estimator of rules does, with several variables. Source: schema/cel sizeEstimator.
type sizes map[string]*apiservercel.DeclType

func (s sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 {
		return nil
	}
	node := s[path[0]]
	if node == nil {
		return nil
	}
	for _, name := range path[1:] {
		switch name {
		case "@items", "@values":
			node = node.ElemType
		case "@keys":
			node = node.KeyType
		default:
			field, ok := node.Fields[name]
			if !ok {
				return nil
			}
			node = field.Type
		}
		if node == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(node.MaxElements)}
}

func (s sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// expression compiles a text, estimates it, and evaluates it.
func expression(asked *request) (out expressionAnswer, err error) {
	set, found, values := environments(), sizes{}, map[string]any{}
	if len(asked.Variables) > 0 {
		options := environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0)}
		for i, each := range asked.Variables {
			of := cel.DynType
			var typed *schema.Structural
			if len(each.Schema) > 0 {
				if typed, err = structural(each.Schema); err != nil {
					return
				}
				declared := model.SchemaDeclType(typed, each.Root).MaybeAssignTypeName(fmt.Sprintf("selfType%d", i))
				found[each.Name] = declared
				options.DeclTypes = append(options.DeclTypes, declared)
				of = declared.CelType()
			}
			if each.Optional {
				of = cel.OptionalType(of)
			}
			options.EnvOptions = append(options.EnvOptions, cel.Variable(each.Name, of))
			if len(each.Value) > 0 && !each.Optional {
				value, err := value(each.Value)
				if err != nil {
					return out, err
				}
				if typed != nil {
					if each.Root {
						typed = model.WithTypeAndObjectMeta(typed)
					}
					values[each.Name] = schemacel.UnstructuredToVal(value, typed)
				} else {
					values[each.Name] = value
				}
			}
		}
		if set, err = set.Extend(options); err != nil {
			return
		}
	}
	within, err := set.Env(mode(asked.Stored))
	if err != nil {
		return
	}
	estimator := &library.CostEstimator{SizeEstimator: found}
	limit := asked.Limit
	if limit == 0 {
		limit = celconfig.PerCallLimit
	}
	var program cel.Program
	started := cpu()
	for range max(asked.CompileRepeat, 1) {
		out = expressionAnswer{}
		ast, issues := within.Compile(asked.Text)
		if issues != nil {
			out.Error = issues.String()
			return
		}
		out.Type = cel.FormatCELType(ast.OutputType())
		program, err = within.Program(ast, cel.CostLimit(limit), cel.CostTracking(estimator), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
		if err != nil {
			out.Error = "program instantiation failed: " + err.Error()
			return out, nil
		}
		estimate, err := within.EstimateCost(ast, estimator)
		if err != nil {
			return out, err
		}
		out.Min, out.Max = estimate.Min, estimate.Max
	}
	out.CompileNs = (cpu() - started) / int64(max(asked.CompileRepeat, 1))
	if asked.CompileOnly {
		return
	}
	started = cpu()
	for i := range max(asked.Repeat, 1) {
		result, details, err := program.Eval(values)
		if i > 0 {
			continue
		}
		if err != nil {
			out.EvaluationError = err.Error()
		} else {
			out.Value = shown(result)
		}
		if details != nil && details.ActualCost() != nil {
			out.Cost = *details.ActualCost()
		}
	}
	out.EvaluateNs = (cpu() - started) / int64(max(asked.Repeat, 1))
	return
}
