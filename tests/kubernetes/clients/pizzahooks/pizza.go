package main

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const group = "restaurant.programming-kubernetes.info"

// Pizza is v1beta1, which lists each topping once, and is the hub.
type Pizza struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PizzaSpec   `json:"spec,omitempty"`
	Status PizzaStatus `json:"status,omitempty"`
}

// PizzaSpec is what is on the pizza.
type PizzaSpec struct {
	Toppings []PizzaTopping `json:"toppings"`
}

// PizzaTopping is one kind of topping, and how much of it.
type PizzaTopping struct {
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
}

// PizzaStatus is what the restaurant found out.
type PizzaStatus struct {
	Cost string `json:"cost,omitempty"`
}

// OldPizza is v1alpha1, which repeats the names of its toppings.
type OldPizza struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   OldPizzaSpec `json:"spec,omitempty"`
	Status PizzaStatus  `json:"status,omitempty"`
}

// OldPizzaSpec is what is on the pizza.
type OldPizzaSpec struct {
	Toppings []string `json:"toppings"`
}

// Hub marks it as what others are converted to.
func (p *Pizza) Hub() {}

// ConvertTo counts the names, in the order in which they first occur.
func (p *OldPizza) ConvertTo(hub conversion.Hub) error {
	made := hub.(*Pizza)
	made.ObjectMeta, made.Status = p.ObjectMeta, p.Status
	places := make(map[string]int, len(p.Spec.Toppings))
	for _, name := range p.Spec.Toppings {
		place, seen := places[name]
		if !seen {
			place = len(made.Spec.Toppings)
			places[name] = place
			made.Spec.Toppings = append(made.Spec.Toppings, PizzaTopping{Name: name})
		}
		made.Spec.Toppings[place].Quantity++
	}
	return nil
}

// ConvertFrom repeats each name.
func (p *OldPizza) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*Pizza)
	p.ObjectMeta, p.Status = from.ObjectMeta, from.Status
	for _, topping := range from.Spec.Toppings {
		for range topping.Quantity {
			p.Spec.Toppings = append(p.Spec.Toppings, topping.Name)
		}
	}
	return nil
}

// DeepCopyObject makes it a runtime.Object.
func (p *Pizza) DeepCopyObject() runtime.Object {
	made := *p
	p.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	made.Spec.Toppings = slices.Clone(p.Spec.Toppings)
	return &made
}

// DeepCopyObject makes it a runtime.Object.
func (p *OldPizza) DeepCopyObject() runtime.Object {
	made := *p
	p.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	made.Spec.Toppings = slices.Clone(p.Spec.Toppings)
	return &made
}
