// Command informer follows one resource with a shared informer of client-go, and prints what it is told, a JSON line each.
//
// The informer is that of the dynamic client, which speaks JSON; with --metadata that of the metadata client, and with
// --typed one of Kubernetes' own types, which both speak protobuf.
//
// It ends when its standard input does. It is a tool of the tests; nothing of it is part of the product.
package main

import (
	"flag"
	"net/http"
	"time"

	"extapi.test/informer/tool"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// line is one thing that happened: "add", "update" and "delete" of an object, "synced", "error" of the reflector, or
// "request" for one that was sent, when its answer began.
type line struct {
	Event           string            `json:"event"`
	Name            string            `json:"name,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Spec            map[string]any    `json:"spec,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Query           string            `json:"query,omitempty"`
	Status          int               `json:"status,omitempty"`
	ContentType     string            `json:"contentType,omitempty"`
	Message         string            `json:"message,omitempty"`
}

func sayObject(event string, found any) {
	// What was deleted while nobody watched comes wrapped, as it was last known.
	if gone, ok := found.(cache.DeletedFinalStateUnknown); ok {
		found = gone.Obj
	}
	object, err := meta.Accessor(found)
	if err != nil {
		panic(err)
	}
	var spec map[string]any
	if whole, ok := found.(*unstructured.Unstructured); ok {
		spec, _ = whole.Object["spec"].(map[string]any)
	}
	tool.Say(line{
		Event: event, Name: object.GetName(), UID: string(object.GetUID()),
		ResourceVersion: object.GetResourceVersion(), Spec: spec, Labels: object.GetLabels(),
	})
}

// requests prints each request of the client.
type requests struct{ next http.RoundTripper }

func (r requests) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(request)
	what := line{Event: "request", Query: request.URL.RawQuery}
	if err != nil {
		what.Message = err.Error()
	} else {
		what.Status = answer.StatusCode
		what.ContentType = answer.Header.Get("Content-Type")
	}
	tool.Say(what)
	return answer, err
}

// made is the informer of the client that the flags ask for.
func made(
	config *rest.Config, resource schema.GroupVersionResource, namespace string, onlyMetadata, typed bool,
) (cache.SharedIndexInformer, error) {
	never := time.Duration(0)
	switch {
	case onlyMetadata:
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return metadatainformer.NewFilteredMetadataInformer(client, resource, namespace, never, nil, nil).Informer(), nil
	case typed:
		config.ContentType = "application/vnd.kubernetes.protobuf"
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(client, never, informers.WithNamespace(namespace))
		informer, err := factory.ForResource(resource)
		if err != nil {
			return nil, err
		}
		return informer.Informer(), nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return dynamicinformer.NewFilteredDynamicInformer(client, resource, namespace, never, nil, nil).Informer(), nil
}

func main() {
	namespace := flag.String("namespace", "", "the namespace to look at; all if empty")
	onlyMetadata := flag.Bool("metadata", false, "follow metadata, in protobuf")
	typed := flag.Bool("typed", false, "follow one of Kubernetes' own types, in protobuf")
	config, resource := tool.Begin("[--namespace=NAME] [--metadata | --typed]")
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return requests{next} })
	informer, err := made(config, resource, *namespace, *onlyMetadata, *typed)
	tool.Fail(err)
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		tool.Say(line{Event: "error", Message: err.Error()})
	})
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(found any) { sayObject("add", found) },
		UpdateFunc: func(_, found any) { sayObject("update", found) },
		DeleteFunc: func(found any) { sayObject("delete", found) },
	})
	tool.Fail(err)
	stop := make(chan struct{})
	go func() {
		tool.Wait()
		close(stop)
	}()
	go func() {
		if cache.WaitForCacheSync(stop, informer.HasSynced) {
			tool.Say(line{Event: "synced"})
		}
	}()
	informer.Run(stop)
}
