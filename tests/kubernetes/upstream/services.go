package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// services makes Services reachable by their names, for a server that is no kube-apiserver: it plays kube-proxy, whose
// addresses are then on our loopback, and the cluster's DNS, which is a file in the form of /etc/hosts.
type services struct {
	*kubelet
	hosts string
	there map[types.UID][]net.Listener
}

// look exposes each Service as soon as a pod runs that it selects.
func (s *services) look(ctx context.Context) error {
	if err := s.kubelet.look(ctx); err != nil {
		return err
	}
	list, err := s.client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var running *v1.PodList
	for i := range list.Items {
		service := &list.Items[i]
		if len(service.Spec.Selector) == 0 || s.there[service.UID] != nil {
			continue
		}
		if running == nil {
			if running, err = s.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{}); err != nil {
				return err
			}
		}
		if err := s.expose(service, running.Items); err != nil {
			log.Printf("%s/%s: %v", service.Namespace, service.Name, err)
		}
	}
	return nil
}

// expose listens at the address of a Service, and writes its name down.
func (s *services) expose(service *v1.Service, running []v1.Pod) error {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for i := range running {
		p := &running[i]
		started := s.pods[p.UID]
		if p.Namespace != service.Namespace || started == nil || started.network == nil || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		address := service.Spec.ClusterIP
		if err := ip("address replace " + address + "/32 dev lo"); err != nil {
			return err
		}
		for _, port := range service.Spec.Ports {
			listener, err := net.Listen("tcp", net.JoinHostPort(address, fmt.Sprint(port.Port)))
			if err != nil {
				return err
			}
			s.there[service.UID] = append(s.there[service.UID], listener)
			go serve(listener, net.JoinHostPort(started.network.address, port.TargetPort.String()))
		}
		file, err := os.OpenFile(s.hosts, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = fmt.Fprintf(file, "%s %s.%s.svc\n", address, service.Name, service.Namespace)
		return err
	}
	return nil
}
