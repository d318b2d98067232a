package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	// Before a container that has ended is started again; a kubelet begins with ten seconds.
	backOff = time.Second
	// Between SIGTERM and SIGKILL.
	grace = 5 * time.Second
)

// pod is a group of processes.
type pod struct {
	end     context.CancelFunc
	ended   sync.WaitGroup
	number  int
	network *network // nil: nothing of it runs here
	probes  []string // URLs that have to answer
}

// container is one process with its own view of the file system.
type container struct {
	name    string
	command []string
	env     []string
	home    string            // the pod's directory: logs, volumes, and where the view is put together
	mounts  map[string]string // mount paths, and the directories that appear there
	network *network
}

// start gives each container its volumes and runs it. One whose image has no program here is only said to run.
func (k *kubelet) start(ctx context.Context, p *v1.Pod) (*pod, error) {
	home := filepath.Join(k.directory, string(p.UID))
	server, err := url.Parse(k.server)
	if err != nil {
		return nil, err
	}
	running := &pod{number: k.number()}
	var containers []*container
	for _, c := range p.Spec.Containers {
		image, _, _ := strings.Cut(path.Base(c.Image), ":")
		program := filepath.Join(k.images, image)
		if _, err := os.Stat(program); err != nil {
			log.Printf("%s/%s: container %s (%s) is only said to run", p.Namespace, p.Name, c.Name, image)
			continue
		}
		if running.network == nil {
			if running.network, err = newNetwork(running.number, k.address, server.Host); err != nil {
				return nil, err
			}
		}
		mounts, err := k.volumes(ctx, p, &c, home)
		if err != nil {
			running.network.close()
			return nil, err
		}
		command := []string{program}
		if len(c.Command) > 0 {
			command = append(command, c.Command[1:]...) // without the name of the program in the image
		}
		containers = append(containers, &container{
			name:    c.Name,
			command: append(command, c.Args...),
			// As in a pod, except that no Service leads to kube-apiserver.
			env: []string{
				"PATH=/usr/local/bin:/usr/bin:/bin",
				"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port(),
			},
			home:    home,
			mounts:  mounts,
			network: running.network,
		})
		if r := c.ReadinessProbe; r != nil && r.HTTPGet != nil {
			scheme := strings.ToLower(string(r.HTTPGet.Scheme))
			running.probes = append(
				running.probes,
				fmt.Sprintf("%s://%s:%d%s", scheme, running.network.address, r.HTTPGet.Port.IntValue(), r.HTTPGet.Path),
			)
		}
	}
	ctx, running.end = context.WithCancel(ctx)
	for _, c := range containers {
		log.Printf("%s/%s: container %s is %q", p.Namespace, p.Name, c.name, c.command)
		running.ended.Add(1)
		go func() {
			defer running.ended.Done()
			if err := c.keepRunning(ctx); err != nil {
				log.Fatalf("container %s: %v", c.name, err) // at once: the specs would wait for minutes
			}
		}()
	}
	return running, nil
}

// stop ends the processes and returns when they are gone.
func (p *pod) stop() {
	p.end()
	p.ended.Wait()
	if p.network != nil {
		p.network.close()
	}
}

// number is one that no pod has.
func (k *kubelet) number() int {
	taken := map[int]bool{}
	for _, running := range k.pods {
		taken[running.number] = true
	}
	number := 1
	for taken[number] {
		number++
	}
	return number
}

// ready asks the readiness probes, from the first moment on: initialDelaySeconds would only be waited for.
func (p *pod) ready() bool {
	// A kubelet does not verify certificates either when it probes.
	insecure := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	client := http.Client{Timeout: time.Second, Transport: insecure}
	for _, probe := range p.probes {
		answer, err := client.Get(probe)
		if err != nil {
			return false
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return false
		}
	}
	return true
}

// keepRunning runs the process until ctx ends, again and again (restartPolicy Always, which a Deployment's pods have).
func (c *container) keepRunning(ctx context.Context) error {
	// Never unlocked: mounts, the network and the signal at the parent's death belong to the thread, which ends with this goroutine.
	runtime.LockOSThread()
	if err := c.network.enter(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	root, err := c.view()
	if err != nil {
		return err
	}
	output, err := os.Create(filepath.Join(c.home, c.name+".log"))
	if err != nil {
		return err
	}
	defer output.Close()
	for {
		process := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
		process.Dir, process.Env, process.Stdout, process.Stderr = c.home, c.env, output, output
		process.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
		process.Cancel, process.WaitDelay = func() error { return process.Process.Signal(syscall.SIGTERM) }, grace
		err := process.Run()
		log.Printf("container %s ended: %v", c.name, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backOff):
		}
	}
}
