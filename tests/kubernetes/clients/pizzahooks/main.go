// Command pizzahooks answers reviews about pizzas as Go programs do, with controller-runtime: the benchmark measures it
// beside extapi.
//
//	pizzahooks ADDRESS CERTIFICATE KEY
//
// /convert converts pizzas between v1alpha1 and v1beta1, /allow admits everything, and /deny nothing. It says "listening"
// on a line, and ends with SIGTERM.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: pizzahooks ADDRESS CERTIFICATE KEY")
	}
	ctrl.SetLogger(klog.NewKlogr())
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: "Pizza"}, &OldPizza{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1beta1", Kind: "Pizza"}, &Pizza{})

	mux := http.NewServeMux()
	mux.Handle("/convert", conversion.NewWebhookHandler(scheme, conversion.NewRegistry()))
	for path, answer := range map[string]admission.Response{"/allow": admission.Allowed(""), "/deny": admission.Denied("denied")} {
		handler, err := admission.StandaloneWebhook(
			&admission.Webhook{Handler: admission.HandlerFunc(
				func(context.Context, admission.Request) admission.Response { return answer },
			)},
			admission.StandaloneOptions{},
		)
		if err != nil {
			log.Fatal(err)
		}
		mux.Handle(path, handler)
	}
	certificate, err := tls.LoadX509KeyPair(os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := tls.Listen("tcp", os.Args[1], &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	log.Fatal(http.Serve(listener, mux))
}
