// Command kine is kine, for tests: its own program, compiled from its module, with the SQLite that needs no C compiler.
package main

import (
	"fmt"
	"os"

	"github.com/k3s-io/kine/pkg/app"
)

func main() {
	if err := app.New().Run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
