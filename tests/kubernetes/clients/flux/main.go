// Command flux does with a set of objects what Flux's kustomize-controller does: with its package ssa.
//
//	flux KUBECONFIG apply|apply-staged|apply-force|diff|delete|wait|wait-gone <OBJECTS
//
// It prints a JSON line for each object that it dealt with. It is a tool of the tests; nothing of it is part of the product.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// line tells of one object. Live and Merged are for a diff: what is there, and what an apply would make of it.
type line struct {
	Subject string         `json:"subject"`
	Action  string         `json:"action"`
	Live    map[string]any `json:"live,omitempty"`
	Merged  map[string]any `json:"merged,omitempty"`
}

var owner = ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}

var waiting = ssa.WaitOptions{Interval: 200 * time.Millisecond, Timeout: time.Minute}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: flux KUBECONFIG apply|apply-staged|apply-force|diff|delete|wait|wait-gone <OBJECTS")
	}
	manager, err := newManager(os.Args[1])
	if err != nil {
		return err
	}
	objects, err := utils.ReadObjects(os.Stdin)
	if err != nil {
		return err
	}
	ctx := context.Background()
	options := applying()
	switch os.Args[2] {
	case "apply":
		return changes(manager.ApplyAll(ctx, objects, options))
	case "apply-staged":
		return changes(manager.ApplyAllStaged(ctx, objects, options))
	case "apply-force":
		options.Force = true
		return changes(manager.ApplyAll(ctx, objects, options))
	case "diff":
		return differences(ctx, manager, objects)
	case "delete":
		return changes(manager.DeleteAll(ctx, objects, ssa.DefaultDeleteOptions()))
	case "wait":
		return manager.Wait(objects, waiting)
	case "wait-gone":
		return manager.WaitForTermination(objects, waiting)
	}
	return fmt.Errorf("no command %q", os.Args[2])
}

// applying are the options with which kustomize-controller undoes what was done by kubectl.
func applying() ssa.ApplyOptions {
	options := ssa.DefaultApplyOptions()
	options.WaitInterval, options.WaitTimeout = waiting.Interval, waiting.Timeout
	options.Cleanup.Annotations = []string{corev1.LastAppliedConfigAnnotation}
	options.Cleanup.FieldManagers = []ssa.FieldManager{
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: owner.Field, OperationType: metav1.ManagedFieldsOperationUpdate},
	}
	return options
}

// newManager makes one with a client as Flux has it: without a cache, and with a mapper that discovers kinds lazily.
func newManager(kubeconfig string) (*ssa.ResourceManager, error) {
	ctrl.SetLogger(klog.Background())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, connection)
	if err != nil {
		return nil, err
	}
	unstructuredClient, err := client.New(config, client.Options{HTTPClient: connection, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	poller := polling.NewStatusPoller(unstructuredClient, mapper, polling.Options{})
	return ssa.NewResourceManager(unstructuredClient, poller, owner), nil
}

func changes(set *ssa.ChangeSet, err error) error {
	if set != nil {
		for _, entry := range set.Entries {
			if failure := say(line{Subject: entry.Subject, Action: entry.Action.String()}); failure != nil {
				return failure
			}
		}
	}
	return err
}

func differences(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		entry, live, merged, err := manager.Diff(ctx, object, ssa.DefaultDiffOptions())
		if err != nil {
			return err
		}
		what := line{Subject: entry.Subject, Action: entry.Action.String()}
		if live != nil {
			what.Live = live.Object
		}
		if merged != nil {
			what.Merged = merged.Object
		}
		if err := say(what); err != nil {
			return err
		}
	}
	return nil
}

func say(what line) error {
	return json.NewEncoder(os.Stdout).Encode(what)
}
