package main

import (
	"context"
	"log"
	"net"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	// The node that all pods are bound to. It has to exist, since EndpointSlices leave out the pods of a node that does
	// not; nothing asks for its status.
	node = "hollow"
	// Between two looks at all pods. A watch would be no shorter: readiness has to be asked for again and again anyway.
	period = 200 * time.Millisecond
)

type pods map[types.UID]*pod

// kubelet binds every pod to its node and runs the containers whose images it has a program for.
type kubelet struct {
	client    kubernetes.Interface
	server    string // the URL of kube-apiserver, which containers get as a pod gets it
	images    string
	directory string
	address   string // the node's; its pods have the next ones
	pods      pods
	hosts     string // the file that takes the names of Services; empty: nobody but kube-apiserver looks for them
	workloads bool   // whether there are no controllers and no pods, only Deployments and Services
}

// run keeps pods as kube-apiserver has them until ctx ends; then no process of theirs is left.
func (k *kubelet) run(ctx context.Context) {
	look := k.look
	switch {
	case k.workloads:
		look = (&workloads{kubelet: k, exposed: map[types.UID][]net.Listener{}}).look
	case k.hosts != "":
		look = (&services{kubelet: k, hosts: k.hosts, there: map[types.UID][]net.Listener{}}).look
	}
	if !k.workloads {
		k.register(ctx)
	}
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			k.keep(nil)
			return
		case <-ticks.C:
		}
		if err := look(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
	}
}

// register makes the node.
func (k *kubelet) register(ctx context.Context) {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if _, err := k.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
		log.Fatalf("node: %v", err)
	}
}

// look brings every pod one step on; what fails is tried again with the next look.
func (k *kubelet) look(ctx context.Context) error {
	list, err := k.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	there := map[types.UID]bool{}
	for i := range list.Items {
		p := &list.Items[i]
		there[p.UID] = true
		if err := k.step(ctx, p); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			log.Printf("%s/%s: %v", p.Namespace, p.Name, err)
		}
	}
	k.keep(there)
	return nil
}

// keep ends the pods that are not among those.
func (k *kubelet) keep(those map[types.UID]bool) {
	for uid, running := range k.pods {
		if !those[uid] {
			running.stop()
			delete(k.pods, uid)
		}
	}
}

// step is what a pod needs next: a node, its end, its start, or its status told.
func (k *kubelet) step(ctx context.Context, p *v1.Pod) error {
	api := k.client.CoreV1().Pods(p.Namespace)
	running := k.pods[p.UID]
	switch {
	case p.DeletionTimestamp != nil:
		if running != nil {
			running.stop()
			delete(k.pods, p.UID)
		}
		// Its object goes when its processes have gone, and not before (spec.terminationGracePeriodSeconds).
		now := metav1.NewDeleteOptions(0)
		now.Preconditions = metav1.NewUIDPreconditions(string(p.UID))
		return api.Delete(ctx, p.Name, *now)
	case p.Spec.NodeName == "":
		target := v1.ObjectReference{Kind: "Node", Name: node}
		return api.Bind(ctx, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: target}, metav1.CreateOptions{})
	case running == nil:
		started, err := k.start(ctx, p)
		if err != nil {
			return err
		}
		k.pods[p.UID] = started
		return nil
	}
	ready := v1.ConditionFalse
	if running.ready() {
		ready = v1.ConditionTrue
	}
	if p.Status.Phase == v1.PodRunning && p.Status.Conditions[0].Status == ready {
		return nil
	}
	address := k.address
	if running.network != nil {
		address = running.network.address
	}
	p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = v1.PodRunning, address, []v1.PodIP{{IP: address}}
	// ReplicaSets and EndpointSlices look at no other condition.
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}}
	_, err := api.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}
