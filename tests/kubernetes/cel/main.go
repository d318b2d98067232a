// Command cel answers questions about CEL in Kubernetes with the code of kube-apiserver itself.
//
// It reads JSON lines, each a request, and writes a line for each: of expressions, of schemas with rules and objects, of whole
// CustomResourceDefinitions, and of the expressions of admission policies.
// It is a tool of the tests; nothing of it is part of the product.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

type request struct {
	// One of expression, schema, definition, policy, environment.
	Op string
	// Compile as what is stored already, not as what is new.
	Stored bool
	// Of one call; 0: that of kube-apiserver.
	Limit       uint64
	CompileOnly bool
	// How often to evaluate and to compile, to measure the time. The answer is that of the first time.
	Repeat, CompileRepeat int

	// Of an expression.
	Text      string
	Variables []variable
	Policy    *policy

	// Of a schema.
	Schema  json.RawMessage
	Objects []change
	// Whether the schema is a whole resource's.
	Root bool
	// Of an object; none: that of kube-apiserver.
	Budget  *int64
	Ratchet bool
	// Where the objects are.
	Path string

	// Of a definition, and what it replaces, if anything.
	Definition, Old json.RawMessage
}

// value reads JSON as kube-apiserver does: numbers without fraction are int64.
func value(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var out any
	return out, utiljson.Unmarshal(raw, &out)
}

// cpu is the time that this process has used, garbage collection included.
func cpu() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

func answer(line []byte) (out any, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	asked := &request{}
	if err := json.Unmarshal(line, asked); err != nil {
		return nil, err
	}
	switch asked.Op {
	case "expression":
		return expression(asked)
	case "schema":
		return schemas(asked)
	case "definition":
		return definition(asked)
	case "environment":
		return declared(asked)
	case "policy":
		return policies(asked)
	}
	return nil, fmt.Errorf("no such request: %q", asked.Op)
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		found, err := answer(line)
		if err != nil {
			found = map[string]string{"failure": err.Error()}
		}
		if err := encoder.Encode(found); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
	out.Flush()
}
