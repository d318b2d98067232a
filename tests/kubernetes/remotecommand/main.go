// Command remotecommand connects standard input and output to a subresource as kubectl exec does: by client-go's WebSocket executor.
//
//	remotecommand KUBECONFIG PATH
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewWebSocketExecutor(config, "GET", config.Host+os.Args[2])
	if err != nil {
		return err
	}
	options := remotecommand.StreamOptions{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return executor.StreamWithContext(context.Background(), options)
}
