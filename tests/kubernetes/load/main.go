// Command load sends one kind of request to one server over kept-alive TLS connections, and says how long each took.
//
// It is the load of scripts/bench --peer, the same for every server that is measured: HTTP/1.1, no client library
// between the bytes and the clock. It says "ready" on a line when its connections are open and warm, begins when a line
// comes on stdin (whoever starts it reads the servers' CPU time meanwhile), and ends with one line of JSON.
//
// In -path and -body, {n} is the number of the request, {i} its remainder by -cycle, and {unique} differs in each
// request of each run. In -watch, {revision} is the collection's when the watches are opened.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// patience bounds everything that is waited for.
const patience = 60 * time.Second

type headers []string

func (h *headers) String() string     { return strings.Join(*h, "; ") }
func (h *headers) Set(v string) error { *h = append(*h, v); return nil }

var (
	address     = flag.String("address", "", "HOST:PORT of the server")
	serverName  = flag.String("server-name", "localhost", "the name that its certificate has to hold")
	ca          = flag.String("ca", "", "file with the authority that signed it")
	certificate = flag.String("certificate", "", "file with the client's certificate")
	key         = flag.String("key", "", "file with its private key")
	method      = flag.String("method", "GET", "")
	path        = flag.String("path", "", "")
	body        = flag.String("body", "", "")
	kind        = flag.String("kind", "", "the body's media type; without it JSON, or for a PATCH a merge patch")
	cycle       = flag.Int("cycle", 400, "after how many requests {i} is 0 again")
	count       = flag.Int("count", 1, "how many requests, or events with -watch")
	connections = flag.Int("connections", 1, "how many connections share them")
	warm        = flag.Int("warm", 20, "GETs of -warm-path on each connection before anything is measured")
	warmPath    = flag.String("warm-path", "/readyz", "")
	status      = flag.Int("status", 200, "any other answer ends the run")
	watchers    = flag.Int("watchers", 0, "how many watches of -watch are open; each request is then waited for on all")
	watchPath   = flag.String("watch", "", "the path and query that is watched")
	extra       headers
)

// result is what is printed: seconds, and the sorted latencies' percentiles in milliseconds.
type result struct {
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
}

func main() {
	flag.Var(&extra, "header", "a header, `Name: value`; may be repeated")
	flag.Parse()
	config, err := clientConfig()
	must(err)
	if *watchers > 0 {
		must(watch(config))
		return
	}
	must(load(config))
}

// load shares the requests between the connections, each of which sends one after the other.
func load(config *tls.Config) error {
	clients := make([]*client, *connections)
	for i := range clients {
		var err error
		if clients[i], err = connect(config); err != nil {
			return err
		}
		if err := clients[i].warmUp(); err != nil {
			return err
		}
	}
	begin := ready()
	var next, size atomic.Int64
	latencies := make([][]time.Duration, len(clients))
	failures := make(chan error, len(clients))
	var group sync.WaitGroup
	for i, c := range clients {
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= *count {
					return
				}
				at := time.Now()
				got, err := c.do(*method, numbered(*path, n), numbered(*body, n), *status)
				if err != nil {
					failures <- fmt.Errorf("request %d: %w", n, err)
					return
				}
				latencies[i] = append(latencies[i], time.Since(at))
				size.Add(got)
			}
		})
	}
	group.Wait()
	seconds := time.Since(begin).Seconds()
	select {
	case err := <-failures:
		return err
	default:
	}
	return report(slices.Concat(latencies...), *count, seconds, size.Load())
}

// watch opens the watches, then changes one object again and again; a change's latency ends with its last delivery.
func watch(config *tls.Config) error {
	writer, err := connect(config)
	if err != nil {
		return err
	}
	if err := writer.warmUp(); err != nil {
		return err
	}
	target, err := writer.atRevision(*watchPath)
	if err != nil {
		return err
	}
	delivered := make(chan int, *watchers)
	for range *watchers {
		w, err := connect(config)
		if err != nil {
			return err
		}
		if err := w.open(target); err != nil {
			return err
		}
		go w.events(delivered)
	}
	begin := ready()
	var latencies []time.Duration
	late := time.NewTimer(patience)
	for n := range *count {
		at := time.Now()
		if _, err := writer.do(*method, numbered(*path, n), numbered(*body, n), *status); err != nil {
			return fmt.Errorf("change %d: %w", n, err)
		}
		for seen := 0; seen < *watchers; {
			late.Reset(patience)
			select {
			case events := <-delivered:
				if events < 0 {
					return fmt.Errorf("a watch ended at change %d", n)
				}
				seen += events
			case <-late.C:
				return fmt.Errorf("change %d came to %d of %d watches within %v", n, seen, *watchers, patience)
			}
		}
		latencies = append(latencies, time.Since(at))
	}
	return report(latencies, *count**watchers, time.Since(begin).Seconds(), 0)
}

// ready hands over to whoever started us, and returns when it is our turn.
func ready() time.Time {
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		log.Fatal("nobody said when to begin: ", err)
	}
	return time.Now()
}

func report(latencies []time.Duration, count int, seconds float64, size int64) error {
	slices.Sort(latencies)
	percentile := func(part float64) float64 {
		return float64(latencies[min(len(latencies)-1, int(part*float64(len(latencies))))].Microseconds()) / 1000
	}
	return json.NewEncoder(os.Stdout).Encode(result{count, seconds, size, percentile(0.5), percentile(0.99)})
}

// client is one connection.
type client struct {
	connection net.Conn
	reader     *bufio.Reader
}

func connect(config *tls.Config) (*client, error) {
	dialer := &net.Dialer{Timeout: patience}
	connection, err := tls.DialWithDialer(dialer, "tcp", *address, config)
	if err != nil {
		return nil, err
	}
	return &client{connection, bufio.NewReaderSize(connection, 64<<10)}, nil
}

func (c *client) warmUp() error {
	for range *warm {
		if _, err := c.do("GET", *warmPath, "", 200); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	return nil
}

// do sends a request and reads the answer to its end; returns the size of the body as it travelled.
func (c *client) do(method, path, body string, status int) (int64, error) {
	answer, err := c.send(method, path, body)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != status {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
		return 0, fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	size, err := io.Copy(io.Discard, answer.Body)
	if err == nil {
		err = answer.Body.Close()
	}
	return size, err
}

func (c *client) send(method, path, body string) (*http.Response, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, *serverName)
	for _, header := range extra {
		fmt.Fprintf(&b, "%s\r\n", header)
	}
	if body != "" {
		media := *kind
		if media == "" {
			media = "application/json"
			if method == http.MethodPatch {
				media = "application/merge-patch+json"
			}
		}
		fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n", media, len(body))
	}
	b.WriteString("\r\n" + body)
	if err := c.connection.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := c.connection.Write(b.Bytes()); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.reader, nil)
}

// atRevision puts the collection's revision in for {revision}.
func (c *client) atRevision(path string) (string, error) {
	collection, _, _ := strings.Cut(path, "?")
	answer, err := c.send("GET", collection+"?limit=1", "")
	if err != nil {
		return "", err
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return "", fmt.Errorf("%s: %s: %w", collection, answer.Status, err)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return strings.ReplaceAll(path, "{revision}", list.Metadata.ResourceVersion), err
}

// open begins a watch: the answer's head has come, so that the server knows of it.
func (c *client) open(path string) error {
	answer, err := c.send("GET", path, "")
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("watch: %s", answer.Status)
	}
	c.reader = bufio.NewReaderSize(answer.Body, 64<<10)
	return c.connection.SetDeadline(time.Time{})
}

// events says how many events each read brought; -1 when the watch is over. An event is a line of JSON.
func (c *client) events(delivered chan<- int) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.reader.Read(buffer)
		if events := bytes.Count(buffer[:n], []byte("\n")); events > 0 {
			delivered <- events
		}
		if err != nil {
			delivered <- -1
			return
		}
	}
}

func numbered(text string, n int) string {
	return strings.NewReplacer(
		"{n}", strconv.Itoa(n),
		"{i}", strconv.Itoa(n%*cycle),
		"{unique}", strconv.FormatInt(time.Now().UnixNano(), 10),
	).Replace(text)
}

func clientConfig() (*tls.Config, error) {
	pem, err := os.ReadFile(*ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", *ca)
	}
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: roots, ServerName: *serverName, Certificates: []tls.Certificate{pair},
		NextProtos: []string{"http/1.1"}}, nil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
