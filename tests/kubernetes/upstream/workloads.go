package main

import (
	"context"
	"fmt"
	"log"
	"net"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	revision = "deployment.kubernetes.io/revision" // the annotation of the deployment controller
	account  = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// workloads keeps Deployments and Services where no controllers do it and no pods are served: a Deployment is one pod, which
// is no object, and one ReplicaSet; a Service has the address of the pod that it selects, where the pod's network passes
// its ports on.
type workloads struct {
	*kubelet
	exposed map[types.UID][]net.Listener
}

// look brings every Deployment and Service one step on; what fails is tried again with the next look.
func (w *workloads) look(ctx context.Context) error {
	deployments, err := w.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	services, err := w.client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	there := map[types.UID]bool{}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		there[d.UID] = true
		if err := w.deploy(ctx, d); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			log.Printf("%s/%s: %v", d.Namespace, d.Name, err)
		}
	}
	w.keep(there)
	exposed := map[types.UID]bool{}
	for i := range services.Items {
		s := &services.Items[i]
		exposed[s.UID] = true
		if err := w.expose(ctx, s, deployments.Items); err != nil {
			log.Printf("%s/%s: %v", s.Namespace, s.Name, err)
		}
	}
	for uid := range w.exposed {
		if !exposed[uid] {
			w.hide(uid)
		}
	}
	return nil
}

// deploy is what a Deployment needs next: its pod and ReplicaSet, or its status told.
func (w *workloads) deploy(ctx context.Context, d *appsv1.Deployment) error {
	api := w.client.AppsV1().Deployments(d.Namespace)
	running := w.pods[d.UID]
	switch {
	case d.DeletionTimestamp != nil:
		return nil
	case running == nil:
		started, err := w.start(ctx, podOf(d))
		if err != nil {
			return err
		}
		w.pods[d.UID] = started
		return nil
	case d.Annotations[revision] == "":
		if _, err := w.client.AppsV1().ReplicaSets(d.Namespace).Create(ctx, replicaSetOf(d), metav1.CreateOptions{}); err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, revision, "1")
		_, err := api.Update(ctx, d, metav1.UpdateOptions{})
		return err
	case !running.ready() || d.Status.ObservedGeneration == d.Generation:
		return nil
	}
	replicas := ptr.Deref(d.Spec.Replicas, 1)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
	}
	_, err := api.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	return err
}

// expose gives a Service the address of a pod that it selects, and an EndpointSlice.
func (w *workloads) expose(ctx context.Context, s *v1.Service, deployments []appsv1.Deployment) error {
	if len(s.Spec.Selector) == 0 || w.exposed[s.UID] != nil {
		return nil
	}
	for i := range deployments {
		d := &deployments[i]
		running := w.pods[d.UID]
		if running == nil || running.network == nil || d.Namespace != s.Namespace {
			continue
		}
		if !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)) {
			continue
		}
		listeners, err := running.network.forward(s.Spec.Ports)
		w.exposed[s.UID] = listeners
		if err != nil {
			w.hide(s.UID)
			return err
		}
		s.Spec.ClusterIP = running.network.address
		if _, err = w.client.CoreV1().Services(s.Namespace).Update(ctx, s, metav1.UpdateOptions{}); err == nil {
			slices := w.client.DiscoveryV1().EndpointSlices(s.Namespace)
			_, err = slices.Create(ctx, sliceOf(s), metav1.CreateOptions{})
		}
		if err != nil {
			w.hide(s.UID)
		}
		return err
	}
	return nil
}

func (w *workloads) hide(uid types.UID) {
	for _, listener := range w.exposed[uid] {
		listener.Close()
	}
	delete(w.exposed, uid)
}

// forward listens on a Service's ports within the network, and passes on what arrives to the target ports there.
func (n *network) forward(ports []v1.ServicePort) (made []net.Listener, err error) {
	for _, port := range ports {
		target := net.JoinHostPort(n.address, port.TargetPort.String())
		var listener net.Listener
		err = onThread(func() (err error) {
			if err = n.enter(); err == nil {
				listener, err = net.Listen("tcp", net.JoinHostPort(n.address, fmt.Sprint(port.Port)))
			}
			return err
		})
		if err != nil {
			return made, err
		}
		made = append(made, listener)
		go serve(listener, target)
	}
	return made, nil
}

// podOf is the pod that a Deployment describes, with the account that the admission plugin ServiceAccount would mount.
func podOf(d *appsv1.Deployment) *v1.Pod {
	p := &v1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name, p.UID = d.Namespace, d.Name, d.UID
	if p.Spec.ServiceAccountName == "" {
		p.Spec.ServiceAccountName = "default"
	}
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{
		Name: "account",
		VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}},
			{ConfigMap: &v1.ConfigMapProjection{
				LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "namespace"}}}},
		}}},
	})
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: "account", MountPath: account})
	}
	return p
}

// replicaSetOf is the first one of a Deployment.
func replicaSetOf(d *appsv1.Deployment) *appsv1.ReplicaSet {
	hash := string(d.UID[:8])
	owned := metav1.ObjectMeta{
		Name:            d.Name + "-" + hash,
		Namespace:       d.Namespace,
		Labels:          labels.Merge(d.Spec.Template.Labels, labels.Set{appsv1.DefaultDeploymentUniqueLabelKey: hash}),
		Annotations:     map[string]string{revision: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
	}
	template := *d.Spec.Template.DeepCopy()
	template.Labels = owned.Labels
	selector := metav1.CloneSelectorAndAddLabel(d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	return &appsv1.ReplicaSet{
		ObjectMeta: owned,
		Spec:       appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: selector, Template: template},
	}
}

// sliceOf has the only endpoint of a Service.
func sliceOf(s *v1.Service) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:            s.Name + "-1",
			Namespace:       s.Namespace,
			Labels:          map[string]string{discoveryv1.LabelServiceName: s.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{s.Spec.ClusterIP},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		}},
	}
	for _, port := range s.Spec.Ports {
		target := int32(port.TargetPort.IntValue())
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(port.Name), Port: &target})
	}
	return slice
}
