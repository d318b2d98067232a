// Command controller is a controller on controller-runtime: each pizza gets a ConfigMap, its receipt, which it owns.
//
//	controller KUBECONFIG NAMESPACE
//
// Both are applied on the server. What it reads from standard input, a JSON line each, it does to pizzas; it prints what it
// has done, a JSON line each, and it ends when its standard input does. It is a tool of the tests; nothing of it is part of
// the product.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// cook manages the fields of pizzas, and cashier those of receipts.
	cook    = client.FieldOwner("cook")
	cashier = client.FieldOwner("cashier")
	// insists is the annotation of a pizza whose receipt is applied by force.
	insists = "restaurant.test/insists"
)

var pizzas = schema.GroupVersionKind{Group: "restaurant.programming-kubernetes.info", Version: "v1beta1", Kind: "Pizza"}

// order is a line of standard input: apply or delete a pizza.
type order struct {
	Apply  map[string]any `json:"apply"`
	Force  bool           `json:"force"`
	Delete string         `json:"delete"`
}

// line is one thing that was done: "started", "pizza", "receipt", "deleted", or "gone" of a pizza and its receipt.
type line struct {
	Event           string               `json:"event"`
	Name            string               `json:"name,omitempty"`
	ResourceVersion string               `json:"resourceVersion,omitempty"`
	Reason          string               `json:"reason,omitempty"`
	Message         string               `json:"message,omitempty"`
	Causes          []metav1.StatusCause `json:"causes,omitempty"`
}

var writing sync.Mutex

func say(what line) {
	writing.Lock()
	defer writing.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(what); err != nil {
		panic(err)
	}
}

// saying tells how a write went: with the version it led to, or with what the server says.
func saying(event, name, resourceVersion string, err error) {
	what := line{Event: event, Name: name, ResourceVersion: resourceVersion}
	var refused apierrors.APIStatus
	if errors.As(err, &refused) {
		status := refused.Status()
		what.ResourceVersion = ""
		what.Reason, what.Message = string(status.Reason), status.Message
		if status.Details != nil {
			what.Causes = status.Details.Causes
		}
	} else if err != nil {
		what.Reason, what.Message = "Error", err.Error()
	}
	say(what)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: controller KUBECONFIG NAMESPACE")
	}
	ctrl.SetLogger(klog.Background())
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	namespace := os.Args[2]
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	watched := &unstructured.Unstructured{}
	watched.SetGroupVersionKind(pizzas)
	err = ctrl.NewControllerManagedBy(manager).
		Named("receipts").
		For(watched).
		Owns(&corev1.ConfigMap{}).
		Complete(&receipts{manager.GetClient()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		if !manager.GetCache().WaitForCacheSync(ctx) {
			return
		}
		say(line{Event: "started"})
		take(ctx, manager.GetClient(), namespace)
	}()
	return manager.Start(ctx)
}

// take does what is ordered, until no more orders come.
func take(ctx context.Context, writer client.Client, namespace string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var what order
		if err := json.Unmarshal(lines.Bytes(), &what); err != nil {
			panic(err)
		}
		pizza := &unstructured.Unstructured{Object: what.Apply}
		if what.Apply == nil {
			pizza = &unstructured.Unstructured{}
			pizza.SetGroupVersionKind(pizzas)
			pizza.SetName(what.Delete)
			pizza.SetNamespace(namespace)
			saying("deleted", what.Delete, "", writer.Delete(ctx, pizza))
			continue
		}
		pizza.SetNamespace(namespace)
		options := []client.ApplyOption{cook}
		if what.Force {
			options = append(options, client.ForceOwnership)
		}
		err := writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(pizza), options...)
		saying("pizza", pizza.GetName(), pizza.GetResourceVersion(), err)
	}
}

// receipts is the reconciler.
type receipts struct{ client.Client }

func (r *receipts) Reconcile(ctx context.Context, asked reconcile.Request) (reconcile.Result, error) {
	pizza := &unstructured.Unstructured{}
	pizza.SetGroupVersionKind(pizzas)
	if err := r.Get(ctx, asked.NamespacedName, pizza); apierrors.IsNotFound(err) {
		left := &corev1.ConfigMap{}
		if apierrors.IsNotFound(r.Get(ctx, asked.NamespacedName, left)) {
			say(line{Event: "gone", Name: asked.Name})
		}
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if pizza.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, nil
	}
	receipt, err := r.receipt(pizza)
	if err != nil {
		return reconcile.Result{}, err
	}
	options := []client.ApplyOption{cashier}
	if pizza.GetAnnotations()[insists] != "" {
		options = append(options, client.ForceOwnership)
	}
	err = r.Apply(ctx, client.ApplyConfigurationFromUnstructured(receipt), options...)
	saying("receipt", receipt.GetName(), receipt.GetResourceVersion(), err)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: 500 * time.Millisecond}, nil
	}
	return reconcile.Result{}, err
}

// receipt is what the cashier applies for a pizza: the ConfigMap of its name with the cost that its status tells.
func (r *receipts) receipt(pizza *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	cost, _, err := unstructured.NestedString(pizza.Object, "status", "cost")
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"cost": cost}}}
	made.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	made.SetName(pizza.GetName())
	made.SetNamespace(pizza.GetNamespace())
	return made, controllerutil.SetControllerReference(pizza, made, r.Scheme())
}
