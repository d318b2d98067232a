// Command typed applies an object of each of seven built-in kinds by client-go's typed apply configurations.
//
//	typed KUBECONFIG NAMESPACE MANAGER apply|force|change VALUE
//	typed KUBECONFIG NAMESPACE MANAGER extract
//
// Each object has one field that holds VALUE. "change" extracts what MANAGER has applied, changes that field in place, and
// applies the result. It prints a JSON line for each kind. It is a tool of the tests; nothing of it is part of the product.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1apply "k8s.io/client-go/applyconfigurations/coordination/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1apply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// line tells of one object: its version and what the manager has applied of it, or the fields that others own.
type line struct {
	Kind            string   `json:"kind"`
	ResourceVersion string   `json:"resourceVersion,omitempty"`
	Extracted       any      `json:"extracted,omitempty"`
	Conflicts       []string `json:"conflicts,omitempty"`
	Message         string   `json:"message,omitempty"`
}

// kind is a kind with the object of it that is applied.
type kind[Object metav1.Object, Configuration any] struct {
	name, object string
	// made is a new configuration without the value, and put writes the value into any.
	made    func() Configuration
	put     func(Configuration, string)
	apply   func(context.Context, Configuration, metav1.ApplyOptions) (Object, error)
	get     func(context.Context, string, metav1.GetOptions) (Object, error)
	extract func(Object, string) (Configuration, error)
}

// asked is what the command line asks for.
type asked struct{ manager, verb, value string }

// done does to the object of the kind what is asked.
func (k kind[Object, Configuration]) done(ctx context.Context, what asked) (line, error) {
	said := line{Kind: k.name}
	var live Object
	var err error
	if what.verb == "extract" || what.verb == "change" {
		if live, err = k.get(ctx, k.object, metav1.GetOptions{}); err != nil {
			return said, err
		}
	}
	if what.verb != "extract" {
		configuration := k.made()
		if what.verb == "change" {
			if configuration, err = k.extract(live, what.manager); err != nil {
				return said, err
			}
		}
		k.put(configuration, what.value)
		options := metav1.ApplyOptions{FieldManager: what.manager, Force: what.verb == "force"}
		live, err = k.apply(ctx, configuration, options)
		var refused apierrors.APIStatus
		if apierrors.IsConflict(err) && errors.As(err, &refused) {
			said.Message = err.Error()
			for _, cause := range refused.Status().Details.Causes {
				said.Conflicts = append(said.Conflicts, cause.Field)
			}
			return said, nil
		} else if err != nil {
			return said, err
		}
	}
	said.ResourceVersion = live.GetResourceVersion()
	said.Extracted, err = k.extract(live, what.manager)
	return said, err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	what := asked{}
	switch len(os.Args) {
	case 6:
		what.value = os.Args[5]
		fallthrough
	case 5:
		what.manager, what.verb = os.Args[3], os.Args[4]
	default:
		return errors.New("usage: typed KUBECONFIG NAMESPACE MANAGER apply|force|change|extract [VALUE]")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, done := range kinds(client, os.Args[2]) {
		said, err := done(context.Background(), what)
		if err != nil {
			return fmt.Errorf("%s: %w", said.Kind, err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
			return err
		}
	}
	return nil
}

// kinds are those that are applied, in a namespace that is there. Each object is called "typed".
func kinds(client kubernetes.Interface, namespace string) []func(context.Context, asked) (line, error) {
	const name = "typed"
	core, rbac := client.CoreV1(), client.RbacV1()
	return []func(context.Context, asked) (line, error){
		kind[*corev1.Namespace, *corev1apply.NamespaceApplyConfiguration]{
			name: "Namespace", object: namespace,
			made: func() *corev1apply.NamespaceApplyConfiguration { return corev1apply.Namespace(namespace) },
			put: func(c *corev1apply.NamespaceApplyConfiguration, value string) {
				c.WithLabels(map[string]string{"value": value})
			},
			apply: core.Namespaces().Apply, get: core.Namespaces().Get, extract: corev1apply.ExtractNamespace,
		}.done,
		kind[*corev1.ConfigMap, *corev1apply.ConfigMapApplyConfiguration]{
			name: "ConfigMap", object: name,
			made: func() *corev1apply.ConfigMapApplyConfiguration {
				return corev1apply.ConfigMap(name, namespace).WithBinaryData(map[string][]byte{"bytes": {0, 255}})
			},
			put: func(c *corev1apply.ConfigMapApplyConfiguration, value string) {
				c.WithData(map[string]string{"value": value})
			},
			apply: core.ConfigMaps(namespace).Apply, get: core.ConfigMaps(namespace).Get,
			extract: corev1apply.ExtractConfigMap,
		}.done,
		kind[*corev1.Service, *corev1apply.ServiceApplyConfiguration]{
			name: "Service", object: name,
			made: func() *corev1apply.ServiceApplyConfiguration {
				// Without a protocol, which is a part of the key: its default is.
				port := corev1apply.ServicePort().WithName("http").WithPort(80)
				return corev1apply.Service(name, namespace).WithSpec(corev1apply.ServiceSpec().WithPorts(port))
			},
			put: func(c *corev1apply.ServiceApplyConfiguration, value string) {
				c.Spec.WithSelector(map[string]string{"value": value})
			},
			apply: core.Services(namespace).Apply, get: core.Services(namespace).Get, extract: corev1apply.ExtractService,
		}.done,
		kind[*corev1.ServiceAccount, *corev1apply.ServiceAccountApplyConfiguration]{
			name: "ServiceAccount", object: name,
			made: func() *corev1apply.ServiceAccountApplyConfiguration {
				secret := corev1apply.LocalObjectReference().WithName("registry")
				return corev1apply.ServiceAccount(name, namespace).WithImagePullSecrets(secret)
			},
			put: func(c *corev1apply.ServiceAccountApplyConfiguration, value string) {
				c.WithAnnotations(map[string]string{"value": value})
			},
			apply: core.ServiceAccounts(namespace).Apply, get: core.ServiceAccounts(namespace).Get,
			extract: corev1apply.ExtractServiceAccount,
		}.done,
		kind[*rbacv1.Role, *rbacv1apply.RoleApplyConfiguration]{
			name: "Role", object: name,
			made: func() *rbacv1apply.RoleApplyConfiguration {
				rule := rbacv1apply.PolicyRule().WithAPIGroups("").WithResources("configmaps").WithVerbs("get")
				return rbacv1apply.Role(name, namespace).WithRules(rule)
			},
			put: func(c *rbacv1apply.RoleApplyConfiguration, value string) {
				c.Rules[0].ResourceNames = []string{value}
			},
			apply: rbac.Roles(namespace).Apply, get: rbac.Roles(namespace).Get, extract: rbacv1apply.ExtractRole,
		}.done,
		kind[*rbacv1.RoleBinding, *rbacv1apply.RoleBindingApplyConfiguration]{
			name: "RoleBinding", object: name,
			made: func() *rbacv1apply.RoleBindingApplyConfiguration {
				role := rbacv1apply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(name)
				subject := rbacv1apply.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(namespace)
				return rbacv1apply.RoleBinding(name, namespace).WithRoleRef(role).WithSubjects(subject)
			},
			put: func(c *rbacv1apply.RoleBindingApplyConfiguration, value string) {
				c.Subjects[0].WithName(value)
			},
			apply: rbac.RoleBindings(namespace).Apply, get: rbac.RoleBindings(namespace).Get,
			extract: rbacv1apply.ExtractRoleBinding,
		}.done,
		kind[*coordinationv1.Lease, *coordinationv1apply.LeaseApplyConfiguration]{
			name: "Lease", object: name,
			made: func() *coordinationv1apply.LeaseApplyConfiguration {
				spec := coordinationv1apply.LeaseSpec().WithLeaseDurationSeconds(30)
				return coordinationv1apply.Lease(name, namespace).WithSpec(spec)
			},
			put: func(c *coordinationv1apply.LeaseApplyConfiguration, value string) {
				c.Spec.WithHolderIdentity(value)
			},
			apply: client.CoordinationV1().Leases(namespace).Apply, get: client.CoordinationV1().Leases(namespace).Get,
			extract: coordinationv1apply.ExtractLease,
		}.done,
	}
}
