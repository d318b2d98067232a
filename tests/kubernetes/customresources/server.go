// Package fixtures takes the place of the file of this name in k8s.io/apiextensions-apiserver/test/integration/fixtures, which
// starts an apiextensions-apiserver in the process of each test. Here the server runs already; KUBECONFIG names it.
//
// The tests expect a server of their own, so that each begins without CustomResourceDefinitions. A whole control plane asks
// for namespaces that exist, which an apiextensions-apiserver alone does not: they are made when they are written to.
package fixtures

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	serveroptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	servertesting "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// How long the definitions of the test before may take to go.
const leaving = time.Minute

// StartDefaultServer returns a configuration of clients of the running server. The options name no etcd.
func StartDefaultServer(
	t servertesting.Logger, flags ...string,
) (func(), *rest.Config, *serveroptions.CustomResourceDefinitionsServerOptions, error) {
	for _, flag := range flags {
		// Whether lists come from the watch cache or the store makes no difference to who asks.
		if !strings.HasPrefix(flag, "--watch-cache") {
			skip(t, "needs a server that is started with "+flag)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, nil, nil, err
	}
	config.QPS, config.Burst = 1000, 10000 // the loopback client's
	if err := removeDefinitions(config); err != nil {
		return nil, nil, nil, err
	}
	namespaces, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, err
	}
	maker := &namespaceMaker{client: namespaces, made: map[string]bool{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return makingTransport{maker, next} })
	options := serveroptions.NewCustomResourceDefinitionsServerOptions(io.Discard, io.Discard)
	options.RecommendedOptions.Etcd.StorageConfig.Transport.ServerList = nil
	return func() {}, config, options, nil
}

// StartDefaultServerWithConfigAccess is for tests that look into the server's parts.
func StartDefaultServerWithConfigAccess(
	t servertesting.Logger, _ ...string,
) (func(), *rest.Config, apiserver.CompletedConfig, error) {
	skip(t, "needs the server in its own process")
	return nil, nil, apiserver.CompletedConfig{}, nil
}

// StartDefaultServerWithClients returns clients of the running server.
func StartDefaultServerWithClients(
	t servertesting.Logger, flags ...string,
) (func(), clientset.Interface, dynamic.Interface, error) {
	stop, config, _, err := StartDefaultServer(t, flags...)
	if err != nil {
		return nil, nil, nil, err
	}
	definitions, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, err
	}
	return stop, definitions, objects, nil
}

// StartDefaultServerWithClientsAndEtcd is for tests that read and write the server's etcd.
func StartDefaultServerWithClientsAndEtcd(
	t servertesting.Logger, _ ...string,
) (func(), clientset.Interface, dynamic.Interface, *clientv3.Client, string, error) {
	skip(t, "needs the server's etcd")
	return nil, nil, nil, nil, "", nil
}

// IntegrationEtcdServers returns no server.
func IntegrationEtcdServers() []string { return nil }

// skip ends a test; the interface that fixtures ask of it is narrower than what it is.
func skip(t servertesting.Logger, why string) {
	if test, ok := t.(interface{ Skip(...any) }); ok {
		test.Skip(why)
	}
	t.Fatalf("%s", why)
}

// removeDefinitions deletes all definitions that there are, with their objects, and waits until they have gone.
func removeDefinitions(config *rest.Config) error {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	return wait.PollUntilContextTimeout(
		context.Background(), 50*time.Millisecond, leaving, true, func(ctx context.Context) (bool, error) {
			found, err := definitions.List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, fmt.Errorf("list the definitions that are left: %w", err)
			}
			for _, definition := range found.Items {
				if definition.DeletionTimestamp == nil {
					// One that has gone meanwhile is no error; any other shows at the next look.
					_ = definitions.Delete(ctx, definition.Name, metav1.DeleteOptions{})
					continue
				}
				var kept []string
				for _, finalizer := range definition.Finalizers {
					if finalizer == apiextensionsv1.CustomResourceCleanupFinalizer {
						kept = append(kept, finalizer)
					}
				}
				if len(kept) < len(definition.Finalizers) {
					definition.Finalizers = kept // the others are of tests
					_, _ = definitions.Update(ctx, &definition, metav1.UpdateOptions{})
				}
				for _, version := range definition.Spec.Versions {
					if version.Storage {
						release(ctx, objects.Resource(schema.GroupVersionResource{
							Group: definition.Spec.Group, Version: version.Name, Resource: definition.Spec.Names.Plural,
						}))
					}
				}
			}
			return len(found.Items) == 0, nil
		})
}

// release takes their finalizers from objects, whose owners were tests. What fails shows at the next look.
func release(ctx context.Context, client dynamic.NamespaceableResourceInterface) {
	found, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, object := range found.Items {
		if len(object.GetFinalizers()) > 0 {
			_, _ = client.Namespace(object.GetNamespace()).Patch(
				ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}
}

// namespaceMaker makes the namespaces that requests write to, each before its first request.
type namespaceMaker struct {
	client kubernetes.Interface
	lock   sync.Mutex
	made   map[string]bool
}

func (m *namespaceMaker) ensure(ctx context.Context, name string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if !m.made[name] {
		m.made[name] = true
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		// It may exist, or its name be wrong on purpose: the request itself will tell.
		_, _ = m.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	}
}

type makingTransport struct {
	maker *namespaceMaker
	next  http.RoundTripper
}

var inNamespace = regexp.MustCompile(`^/apis/[^/]+/[^/]+/namespaces/([^/]+)/`)

func (t makingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	writes := request.Method == http.MethodPost || request.Method == http.MethodPatch || request.Method == http.MethodPut
	if found := inNamespace.FindStringSubmatch(request.URL.Path); writes && found != nil {
		t.maker.ensure(request.Context(), found[1])
	}
	return t.next.RoundTrip(request)
}
