package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// network is that of one pod: a network namespace joined to ours by a pair of virtual interfaces, so that pods can listen
// on the same port. kube-apiserver reaches the pod at its address. The pod reaches kube-apiserver, which listens on
// loopback alone, at that very address: within the namespace it is passed on.
type network struct {
	address   string
	link      string
	namespace *os.File
	server    net.Listener
}

// newNetwork makes the network of the pod with that number; node is our own address, server where kube-apiserver listens.
func newNetwork(number int, node, server string) (*network, error) {
	address := net.ParseIP(node).To4()
	if address == nil || int(address[3])+number > 254 {
		return nil, fmt.Errorf("no address for pod %d beside %s", number, node)
	}
	address[3] += byte(number)
	n := &network{address: address.String(), link: fmt.Sprintf("pod%d", number)}
	err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("network namespace: %w", err)
		}
		if n.namespace, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		if err = ip("link set lo up"); err != nil {
			return err
		}
		n.server, err = net.Listen("tcp", server)
		return err
	})
	if err == nil {
		file := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.namespace.Fd())
		err = ip(
			fmt.Sprintf("link add %s type veth peer name eth0 netns %s", n.link, file),
			fmt.Sprintf("link set %s up", n.link),
			fmt.Sprintf("route add %s/32 dev %s src %s", n.address, n.link, node),
		)
	}
	if err == nil {
		err = onThread(func() error {
			if err := n.enter(); err != nil {
				return err
			}
			return ip("address add "+n.address+"/32 dev eth0", "link set eth0 up", "route add default dev eth0")
		})
	}
	if err != nil {
		n.close()
		return nil, err
	}
	go serve(n.server, server) // what the pod sends to kube-apiserver
	return n, nil
}

// enter moves this thread, and the processes that it starts, into the network.
func (n *network) enter() error {
	return unix.Setns(int(n.namespace.Fd()), unix.CLONE_NEWNET)
}

// close removes it; Linux does so itself when nothing refers to it, but later, and the link's name is used again.
func (n *network) close() {
	if n.server != nil {
		n.server.Close()
	}
	if n.namespace != nil {
		_ = ip("link delete " + n.link)
		n.namespace.Close()
	}
}

// serve passes on to address what arrives at listener until that is closed.
func serve(listener net.Listener, address string) {
	for {
		accepted, err := listener.Accept()
		if err != nil {
			return
		}
		go join(accepted, address)
	}
}

// join connects accepted to address until both sides have ended.
func join(accepted net.Conn, address string) {
	defer accepted.Close()
	other, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer other.Close()
	var copies sync.WaitGroup
	for _, way := range [][2]net.Conn{{accepted, other}, {other, accepted}} {
		copies.Add(1)
		go func() {
			defer copies.Done()
			_, _ = io.Copy(way[1], way[0])
			_ = way[1].(*net.TCPConn).CloseWrite()
		}()
	}
	copies.Wait()
}

// onThread runs work on a thread that ends with it, together with the namespaces that it has entered.
func onThread(work func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- work()
	}()
	return <-done
}

// ip runs the program of that name, once for each line of arguments.
func ip(lines ...string) error {
	for _, line := range lines {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	return nil
}
