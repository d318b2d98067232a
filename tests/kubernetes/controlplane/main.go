// Command controlplane is etcd, kube-apiserver and kube-controller-manager in one binary, chosen by the first argument.
//
// The three share most of their packages, so one binary compiles in the time and takes the room of the largest of them.
// It is a tool of the tests and of `extapi dev --control-plane kube`; nothing of it is part of the product.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager [flags]")
		os.Exit(2)
	}
	name := os.Args[1]
	// Each program reads os.Args by itself and expects its own name first.
	os.Args = os.Args[1:]
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "controlplane: unknown program %q\n", name)
		os.Exit(2)
	}
}
