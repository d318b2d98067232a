// Kubernetes' own e2e specs of what an API server does, and what plays scheduler, kubelet and container runtime for those
// with pods.
//
// The specs are compiled as they are. The suite around them (k8s.io/kubernetes/test/e2e) is not: before the first spec it
// waits for nodes that are schedulable and for the pods of kube-system, and a control plane alone has neither.
//
// Flags are those of e2e.test and of ginkgo, and those below; without them no kubelet is played. What ginkgo has to say goes
// to stdout, the hollow kubelet's log to stderr.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"

	// The specs.
	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/auth"
	_ "k8s.io/kubernetes/test/e2e/common/node"
	"k8s.io/kubernetes/test/e2e/framework"
	_ "k8s.io/kubernetes/test/e2e/instrumentation"
	_ "k8s.io/kubernetes/test/e2e/network"
)

// failure remembers that a spec failed: ginkgo wants a *testing.T, and uses only this of it.
type failure bool

func (f *failure) Fail() { *f = true }

func main() {
	log.SetPrefix("hollow kubelet: ")
	images := flag.String("pod-images", "", "directory of programs that stand in for the images of their names")
	directory := flag.String("pod-directory", "", "where volumes and logs of pods go")
	address := flag.String("pod-address", "", "of the node; pods have the next ones. No loopback address, because EndpointSlices refuse those")
	only := flag.Bool("pods-only", false, "run no spec, but play the node until SIGTERM, for specs in other processes")
	hosts := flag.String("pod-hosts", "", "a file that takes the names of Services, which then have their addresses on this machine")
	workloads := flag.Bool(
		"pod-workloads", false,
		"there are no controllers and no pods: run the pods of Deployments, and give Services their addresses",
	)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)

	stop := func() {}
	if *images != "" {
		stop = playKubelet(&kubelet{
			images: *images, directory: *directory, address: *address, hosts: *hosts, workloads: *workloads,
			pods: pods{},
		})
	}
	if *only {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM)
		<-ended
		stop()
		return
	}
	var failed failure
	suite, reporter := framework.CreateGinkgoConfig()
	ginkgo.RunSpecs(&failed, "Kubernetes e2e suite", suite, reporter)
	stop()
	if failed {
		os.Exit(1)
	}
}

// playKubelet runs the hollow kubelet until what it returns is called.
func playKubelet(k *kubelet) func() {
	config, err := framework.LoadConfig()
	if err != nil {
		log.Fatal(err)
	}
	// As kubelets do. Without a word here the client would begin to send CBOR when a spec switches that on in its own.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if k.workloads {
		config.ContentType = "application/json" // custom resources and aggregated ones have no protobuf
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	k.client, k.server = client, config.Host
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		k.run(ctx)
	}()

	return func() {
		cancel()
		<-stopped
	}
}
