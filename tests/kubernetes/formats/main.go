// Command formats says of strings whether kube-apiserver takes them for a format of a custom resource's schema.
//
// It reads JSON lines, each a list of a format and a string, and answers each with a letter: y, n, or - for a format that is
// not enforced. It is a tool of the tests; nothing of it is part of the product.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

var served = version.MajorMinor(1, 36)

func enforced(format string) bool {
	schema := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}, Format: format}}
	return len(apiextensions.GetUnrecognizedFormats(schema, served)) == 0 && strfmt.Default.ContainsName(format)
}

func main() {
	known := map[string]bool{}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked [2]string
		if err := json.Unmarshal(line, &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		format := asked[0]
		if _, ok := known[format]; !ok {
			known[format] = enforced(format)
		}
		switch {
		case !known[format]:
			out.WriteByte('-')
		case strfmt.Default.Validates(format, asked[1]):
			out.WriteByte('y')
		default:
			out.WriteByte('n')
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}
