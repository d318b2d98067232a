// Command etcd is etcd 3.5.35, for tests: its own program, compiled from its module.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
