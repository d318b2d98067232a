// Command beside does with client-go what tests/network/ours.py does with our client, and prints what happens, a JSON line each.
//
//	beside follow GROUP VERSION RESOURCE NAME=KUBECONFIG...  an informer for each, until the standard input ends
//	beside calls BURST NAME=KUBECONFIG...                    lists of ConfigMaps: BURST at once, then two a second
//	beside queue                                             a key that is added again after a second, changed ten times a second
//
// It is a tool of the tests; nothing of it is part of the product.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"extapi.test/informer/tool"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

// line is one thing that happened to who: "synced", "put" and "delete" of an object, "call" that was answered, "runs" of a key.
type line struct {
	Who             string  `json:"who"`
	Event           string  `json:"event"`
	Key             string  `json:"key,omitempty"`
	ResourceVersion string  `json:"resourceVersion,omitempty"`
	Status          int     `json:"status,omitempty"`
	Seconds         float64 `json:"seconds,omitempty"`
	Busy            int     `json:"busy,omitempty"`
	Quiet           int     `json:"quiet,omitempty"`
}

// each calls do for every NAME=KUBECONFIG, in a goroutine of its own.
func each(pairs []string, do func(name string, config *rest.Config)) {
	for _, pair := range pairs {
		name, path, found := strings.Cut(pair, "=")
		if !found {
			tool.Fail(fmt.Errorf("%q is not NAME=KUBECONFIG", pair))
		}
		config, err := clientcmd.BuildConfigFromFlags("", path)
		tool.Fail(err)
		go do(name, config)
	}
}

func follow(resource schema.GroupVersionResource, pairs []string) {
	each(pairs, func(name string, config *rest.Config) {
		client, err := dynamic.NewForConfig(config)
		tool.Fail(err)
		informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, "", 0, nil, nil).Informer()
		say := func(event string, found any) {
			if gone, ok := found.(cache.DeletedFinalStateUnknown); ok {
				found = gone.Obj
			}
			object, err := meta.Accessor(found)
			tool.Fail(err)
			key := object.GetNamespace() + "/" + object.GetName()
			tool.Say(line{Who: name, Event: event, Key: key, ResourceVersion: object.GetResourceVersion()})
		}
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(found any) { say("put", found) },
			UpdateFunc: func(_, found any) { say("put", found) },
			DeleteFunc: func(found any) { say("delete", found) },
		})
		tool.Fail(err)
		go func() {
			if cache.WaitForCacheSync(context.Background().Done(), informer.HasSynced) {
				tool.Say(line{Who: name, Event: "synced"})
			}
		}()
		informer.Run(context.Background().Done())
	})
}

func calls(burst int, pairs []string) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	each(pairs, func(name string, config *rest.Config) {
		config.QPS = -1
		client, err := dynamic.NewForConfig(config)
		tool.Fail(err)
		call := func() {
			began := time.Now()
			limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_, err := client.Resource(configMaps).List(limited, metav1.ListOptions{})
			status := 200
			var refused apierrors.APIStatus
			if errors.As(err, &refused) {
				status = int(refused.Status().Code)
			} else if err != nil {
				status = -1
			}
			tool.Say(line{Who: name, Event: "call", Status: status, Seconds: time.Since(began).Seconds()})
		}
		for range burst {
			go call()
		}
		for range time.Tick(500 * time.Millisecond) {
			go call()
		}
	})
}

func queue() {
	made := workqueue.NewTypedDelayingQueue[string]()
	runs := make(chan struct{}, 1_000_000)
	go func() {
		for {
			key, down := made.Get()
			if down {
				return
			}
			runs <- struct{}{}
			made.Done(key)
			made.AddAfter(key, time.Second)
		}
	}()
	for range 60 {
		made.Add("default/a")
		time.Sleep(100 * time.Millisecond)
	}
	busy := len(runs)
	time.Sleep(10 * time.Second)
	tool.Say(line{Who: "queue", Event: "runs", Busy: busy, Quiet: len(runs) - busy})
	made.ShutDown()
}

func main() {
	arguments := os.Args[1:]
	switch {
	case len(arguments) > 4 && arguments[0] == "follow":
		follow(schema.GroupVersionResource{Group: arguments[1], Version: arguments[2], Resource: arguments[3]}, arguments[4:])
	case len(arguments) > 2 && arguments[0] == "calls":
		burst, err := strconv.Atoi(arguments[1])
		tool.Fail(err)
		calls(burst, arguments[2:])
	case len(arguments) == 1 && arguments[0] == "queue":
		queue()
		return
	default:
		tool.Fail(errors.New("usage: beside follow GROUP VERSION RESOURCE NAME=KUBECONFIG... | calls BURST NAME=KUBECONFIG... | queue"))
	}
	tool.Wait()
}
