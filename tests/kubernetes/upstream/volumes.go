package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumes writes what a container mounts into files, and says where each directory of them has to appear.
func (k *kubelet) volumes(ctx context.Context, p *v1.Pod, c *v1.Container, home string) (map[string]string, error) {
	mounts := map[string]string{}
	for _, mount := range c.VolumeMounts {
		for i := range p.Spec.Volumes {
			volume := &p.Spec.Volumes[i]
			if volume.Name != mount.Name {
				continue
			}
			files, err := k.content(ctx, p, volume)
			if err != nil {
				return nil, fmt.Errorf("volume %s: %w", volume.Name, err)
			}
			at := filepath.Join(home, "volumes", volume.Name)
			if err := os.MkdirAll(at, 0o700); err != nil {
				return nil, err
			}
			for name, data := range files {
				if err := os.WriteFile(filepath.Join(at, name), data, 0o600); err != nil {
					return nil, err
				}
			}
			mounts[mount.MountPath] = at
		}
	}
	return mounts, nil
}

// content is what the files of a volume hold: a Secret's, or a service account's token, CA and namespace, which the
// admission plugin ServiceAccount has put into the pod as a projected volume.
func (k *kubelet) content(ctx context.Context, p *v1.Pod, volume *v1.Volume) (map[string][]byte, error) {
	core := k.client.CoreV1()
	if volume.Secret != nil {
		secret, err := core.Secrets(p.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return secret.Data, nil
	}
	if volume.Projected == nil {
		return nil, fmt.Errorf("of a kind that nothing here can fill")
	}
	files := map[string][]byte{}
	for _, source := range volume.Projected.Sources {
		switch {
		case source.ServiceAccountToken != nil:
			request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
				ExpirationSeconds: source.ServiceAccountToken.ExpirationSeconds,
			}}
			if !k.workloads {
				bound := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID}
				request.Spec.BoundObjectRef = bound
			}
			accounts := core.ServiceAccounts(p.Namespace)
			token, err := accounts.CreateToken(ctx, p.Spec.ServiceAccountName, request, metav1.CreateOptions{})
			if err != nil {
				return nil, err
			}
			files[source.ServiceAccountToken.Path] = []byte(token.Status.Token)
		case source.ConfigMap != nil:
			configMap, err := core.ConfigMaps(p.Namespace).Get(ctx, source.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			for _, item := range source.ConfigMap.Items {
				files[item.Path] = []byte(configMap.Data[item.Key])
			}
		case source.DownwardAPI != nil:
			for _, item := range source.DownwardAPI.Items { // the only field that the admission plugin asks for
				files[item.Path] = []byte(p.Namespace)
			}
		}
	}
	return files, nil
}
