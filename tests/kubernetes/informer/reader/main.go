// Command reader reads objects of one resource by client-go's dynamic client, over and over, and says what failed.
//
// Nothing here tries again: what counts is what client-go itself does about an answer. It prints a JSON line per failed read
// when it fails, and one with the counts when its standard input ends. It is a tool of the tests; nothing of it is part of the
// product.
package main

import (
	"context"
	"errors"
	"flag"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"extapi.test/informer/tool"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// failure is a read that failed: when, in seconds since the Unix epoch, and how. Why is the text of an answer that was no Status,
// as kube-apiserver's when it cannot reach an extension server.
type failure struct {
	At      float64 `json:"at"`
	Verb    string  `json:"verb"`
	Status  int32   `json:"status"`
	Message string  `json:"message"`
	Why     string  `json:"why"`
}

func read(client dynamic.ResourceInterface, verb, name string) {
	var err error
	if verb == "get" {
		_, err = client.Get(context.Background(), name, metav1.GetOptions{})
	} else {
		_, err = client.List(context.Background(), metav1.ListOptions{})
	}
	if err == nil || apierrors.IsNotFound(err) {
		return
	}
	failed := failure{At: float64(time.Now().UnixMicro()) / 1e6, Verb: verb, Message: err.Error()}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		failed.Status = status.Status().Code
		if details := status.Status().Details; details != nil {
			for _, cause := range details.Causes {
				failed.Why = cause.Message
			}
		}
	}
	tool.Say(failed)
}

func main() {
	namespace := flag.String("namespace", "", "the namespace to read in")
	names := flag.String("names", "", "the objects that are read one by one, separated by commas")
	pause := flag.Duration("pause", 20*time.Millisecond, "between two reads of one reader")
	config, resource := tool.Begin("--namespace=NAME --names=NAME,...")
	config.QPS = -1 // as often as it says, not as client-go thinks is polite
	made, err := dynamic.NewForConfig(config)
	tool.Fail(err)
	client := made.Resource(resource).Namespace(*namespace)
	var gets, lists atomic.Int64
	var ended atomic.Bool
	var group sync.WaitGroup
	reader := func(verb string, count *atomic.Int64) {
		each := strings.Split(*names, ",")
		for n := 0; !ended.Load(); n++ {
			read(client, verb, each[n%len(each)])
			count.Add(1)
			time.Sleep(*pause)
		}
	}
	group.Go(func() { reader("get", &gets) })
	group.Go(func() { reader("get", &gets) })
	group.Go(func() { reader("list", &lists) })
	tool.Wait()
	ended.Store(true)
	group.Wait()
	tool.Say(map[string]int64{"gets": gets.Load(), "lists": lists.Load()})
}
