// Command managedfields answers questions about managed fields with the code of kube-apiserver itself.
//
// It reads JSON lines, each a request, and writes a line for each. A "kind" request describes a kind by the schemas of a
// CRD's versions, and answers with the models that kube-apiserver makes of them; every other request names a kind by its id.
// It is a tool of the tests; nothing of it is part of the product.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

const group, name = "example.com", "Thing"

// Times of the caller are older than this; what is newer is the time of the step.
const started = "2025"

type version struct {
	Name   string
	Schema *apiextensionsv1.JSONSchemaProps
}

type request struct {
	Op       string
	Kind     int
	Versions []version
	// Fields of spec that have another name in other versions than the first, by version.
	Renamed map[string]map[string]string
	// Fields of spec, by their names in the first version, that other versions lose, by version.
	Lost map[string][]string
	// No schema at all.
	Deduced bool
	// A schema of structured-merge-diff itself, in its YAML, instead of versions.
	Types string

	Version     string
	Type        string
	Subresource string
	Reset       map[string]json.RawMessage
	Live        json.RawMessage
	Object      json.RawMessage
	Manager     string
	Force       bool
	Now         string

	Left, Right json.RawMessage
	Fields      json.RawMessage
	Others      json.RawMessage
	Duplicates  bool
}

type kind struct {
	converter managedfields.TypeConverter
	objects   *objects
	parser    *typed.Parser
	models    map[string]string
	managers  map[string]*managedfields.FieldManager
}

// objects converts between versions: some fields of spec have other names, some are lost.
type objects struct {
	served  map[string]bool
	renamed map[string]map[string]string
	lost    map[string][]string
}

func (o *objects) Convert(in, out, context interface{}) error { return errors.New("not used") }

func (o *objects) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (o *objects) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("oracle", nil, target)
	}
	if !o.served[to.Version] {
		return nil, runtime.NewNotRegisteredErrForKind("oracle", to)
	}
	out := in.DeepCopyObject().(*unstructured.Unstructured)
	if from.Version == to.Version {
		return out, nil
	}
	if values, ok := out.Object["spec"].(map[string]interface{}); ok {
		back := map[string]string{}
		for hub, own := range o.renamed[from.Version] {
			back[own] = hub
		}
		hub := renamed(values, back)
		for _, lost := range o.lost[to.Version] {
			delete(hub, lost)
		}
		out.Object["spec"] = renamed(hub, o.renamed[to.Version])
	}
	out.SetGroupVersionKind(to)
	return out, nil
}

func renamed(values map[string]interface{}, names map[string]string) map[string]interface{} {
	out := map[string]interface{}{}
	for key, value := range values {
		if other, ok := names[key]; ok {
			key = other
		}
		out[key] = value
	}
	return out
}

type creator struct{}

func (creator) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gvk)
	return out, nil
}

type defaulter struct{}

func (defaulter) Default(runtime.Object) {}

func newKind(asked *request) (*kind, map[string]any, error) {
	made := &kind{managers: map[string]*managedfields.FieldManager{}, models: map[string]string{}}
	if asked.Types != "" {
		parser, err := typed.NewParser(typed.YAMLObject(asked.Types))
		made.parser = parser
		return made, map[string]any{}, err
	}
	made.objects = &objects{served: map[string]bool{}, renamed: asked.Renamed, lost: asked.Lost}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things." + group}}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: name, ListKind: name + "List"},
	}
	for _, each := range asked.Versions {
		made.objects.served[each.Name] = true
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: each.Name, Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: each.Schema},
		})
	}
	if asked.Deduced {
		made.converter = managedfields.NewDeducedTypeConverter()
		return made, map[string]any{}, nil
	}
	// As buildOpenAPIModelsForApply of the apiextensions-apiserver does.
	models := map[string]*spec.Schema{}
	for _, each := range crd.Spec.Versions {
		document, err := builder.BuildOpenAPIV3(crd, each.Name, builder.Options{})
		if err != nil {
			return nil, nil, err
		}
		made.models[each.Name] = fmt.Sprintf("com.example.%s.%s", each.Name, name)
		for model, schema := range document.Components.Schemas {
			models[model] = schema
		}
	}
	converter, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, nil, err
	}
	made.converter = converter
	types, err := schemaconv.ToSchemaFromOpenAPI(models, false)
	if err != nil {
		return nil, nil, err
	}
	made.parser = &typed.Parser{Schema: smdschema.Schema{Types: types.Types}}
	return made, map[string]any{"models": models, "names": made.models}, nil
}

func setOf(raw json.RawMessage) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if len(raw) == 0 {
		return set, nil
	}
	return set, set.FromJSON(strings.NewReader(string(raw)))
}

func (k *kind) manager(asked *request) (*managedfields.FieldManager, error) {
	reset, err := json.Marshal(asked.Reset)
	if err != nil {
		return nil, err
	}
	key := asked.Version + " " + asked.Subresource + " " + string(reset)
	if found, ok := k.managers[key]; ok {
		return found, nil
	}
	filters := map[fieldpath.APIVersion]*fieldpath.Set{}
	for each, raw := range asked.Reset {
		if filters[fieldpath.APIVersion(each)], err = setOf(raw); err != nil {
			return nil, err
		}
	}
	gvk := schema.GroupVersionKind{Group: group, Version: asked.Version, Kind: name}
	made, err := managedfields.NewDefaultCRDFieldManager(k.converter, k.objects, defaulter{}, creator{}, gvk, gvk.GroupVersion(),
		asked.Subresource, fieldpath.NewExcludeFilterSetMap(filters))
	k.managers[key] = made
	return made, err
}

func object(raw json.RawMessage) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	return out, utiljson.Unmarshal(raw, &out.Object)
}

func value(raw json.RawMessage) (any, error) {
	var out any
	return out, utiljson.Unmarshal(raw, &out)
}

func (k *kind) write(asked *request) (map[string]any, error) {
	manager, err := k.manager(asked)
	if err != nil {
		return nil, err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: asked.Version, Kind: name})
	if len(asked.Live) > 0 && string(asked.Live) != "null" {
		if live, err = object(asked.Live); err != nil {
			return nil, err
		}
	}
	given, err := object(asked.Object)
	if err != nil {
		return nil, err
	}
	var out runtime.Object
	if asked.Op == "apply" {
		out, err = manager.Apply(live, given, asked.Manager, asked.Force)
	} else {
		out, err = manager.Update(live, given, asked.Manager)
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return map[string]any{"status": status.Status()}, nil
	}
	if err != nil {
		return nil, err
	}
	written := out.(*unstructured.Unstructured).Object
	entries, _, _ := unstructured.NestedSlice(written, "metadata", "managedFields")
	for _, each := range entries {
		entry := each.(map[string]any)
		if time, ok := entry["time"].(string); ok && time > started {
			entry["time"] = asked.Now
		}
	}
	if entries != nil {
		if err := unstructured.SetNestedSlice(written, entries, "metadata", "managedFields"); err != nil {
			return nil, err
		}
	}
	return map[string]any{"object": written}, nil
}

func (k *kind) typed(asked *request, raw json.RawMessage, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	read, err := value(raw)
	if err != nil {
		return nil, err
	}
	parsed := typed.DeducedParseableType
	if k.parser != nil {
		of := asked.Type
		if of == "" {
			of = k.models[asked.Version]
		}
		parsed = k.parser.Type(of)
	}
	return parsed.FromUnstructured(read, options...)
}

func written(sets map[string]*fieldpath.Set) (map[string]any, error) {
	out := map[string]any{}
	for key, set := range sets {
		raw, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		out[key] = json.RawMessage(raw)
	}
	return out, nil
}

// question answers what is about structured-merge-diff alone.
func (k *kind) question(asked *request) (map[string]any, error) {
	fields, err := setOf(asked.Fields)
	if err != nil {
		return nil, err
	}
	others, err := setOf(asked.Others)
	if err != nil {
		return nil, err
	}
	if asked.Op == "sets" {
		paths := []string{}
		fields.Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
		out, err := written(map[string]*fieldpath.Set{
			"same": fields, "union": fields.Union(others), "intersection": fields.Intersection(others),
			"difference": fields.Difference(others), "recursive": fields.RecursiveDifference(others),
		})
		out["paths"] = paths
		return out, err
	}
	var options []typed.ValidationOptions
	if asked.Duplicates {
		options = append(options, typed.AllowDuplicates)
	}
	left, err := k.typed(asked, asked.Left, options...)
	if err != nil {
		return nil, err
	}
	right := left
	if len(asked.Right) > 0 {
		if right, err = k.typed(asked, asked.Right, options...); err != nil {
			return nil, err
		}
	}
	switch asked.Op {
	case "check":
		return map[string]any{}, nil
	case "fields":
		set, err := left.ToFieldSet()
		if err != nil {
			return nil, err
		}
		return written(map[string]*fieldpath.Set{"fields": set, "named": set.EnsureNamedFieldsAreMembers(left.Schema(), left.TypeRef())})
	case "compare":
		found, err := left.Compare(right)
		if err != nil {
			return nil, err
		}
		return written(map[string]*fieldpath.Set{"added": found.Added, "modified": found.Modified, "removed": found.Removed})
	case "merge":
		merged, err := left.Merge(right)
		if err != nil {
			return nil, err
		}
		return map[string]any{"value": merged.AsValue().Unstructured()}, nil
	case "remove":
		return map[string]any{"value": left.RemoveItems(fields).AsValue().Unstructured()}, nil
	case "named":
		return written(map[string]*fieldpath.Set{"fields": fields.EnsureNamedFieldsAreMembers(left.Schema(), left.TypeRef())})
	case "reconcile":
		found, err := typed.ReconcileFieldSetWithSchema(fields, left)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = fields
		}
		return written(map[string]*fieldpath.Set{"fields": found})
	}
	return nil, fmt.Errorf("no such request: %q", asked.Op)
}

func answer(line []byte, kinds map[int]*kind) (out map[string]any, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	asked := &request{}
	if err := json.Unmarshal(line, asked); err != nil {
		return nil, err
	}
	if asked.Op == "kind" {
		made, out, err := newKind(asked)
		kinds[asked.Kind] = made
		return out, err
	}
	of := kinds[asked.Kind]
	if of == nil {
		return nil, fmt.Errorf("no kind %d", asked.Kind)
	}
	if asked.Op == "update" || asked.Op == "apply" {
		return of.write(asked)
	}
	return of.question(asked)
}

func main() {
	kinds := map[int]*kind{}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		answered, err := answer(line, kinds)
		if err != nil {
			answered = map[string]any{"error": err.Error()}
		}
		if err := encoder.Encode(answered); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out.Flush()
	}
}
