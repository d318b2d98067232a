// Package tool is what the informer and the reader of the tests share: how they begin, and how they say what happens.
package tool

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var writing sync.Mutex

// Say prints one thing as a line of JSON; several goroutines may.
func Say(what any) {
	text, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	writing.Lock()
	defer writing.Unlock()
	fmt.Println(string(text))
}

// Fail ends the program with an error, if there is one.
func Fail(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", flag.CommandLine.Name(), err)
		os.Exit(1)
	}
}

// Begin parses the flags, with --kubeconfig, and the arguments GROUP VERSION RESOURCE. The usage names the other flags.
func Begin(usage string) (*rest.Config, schema.GroupVersionResource) {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the control plane")
	flag.Parse()
	if flag.NArg() != 3 {
		fmt.Fprintf(os.Stderr, "usage: %s --kubeconfig=FILE %s GROUP VERSION RESOURCE\n", flag.CommandLine.Name(), usage)
		os.Exit(2)
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	Fail(err)
	return config, schema.GroupVersionResource{Group: flag.Arg(0), Version: flag.Arg(1), Resource: flag.Arg(2)}
}

// Wait returns when the standard input ends.
func Wait() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}
