package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// setting is what all cases have in common.
type setting struct {
	replicas int
	total    time.Duration
	url      string
	alone    string   // the only side that is measured; empty for both
	names    []string // of streams
	closing  []func() // of the case
	servers  []func() // that end the servers of this process
}

// address returns that of the servers.
func (s *setting) address() string { return strings.TrimSuffix(s.url, "/") }

// newName returns the name of a new stream.
func (s *setting) newName() string {
	s.names = append(s.names, fmt.Sprintf("bench-%d-%d", os.Getpid(), len(s.names)))
	return s.names[len(s.names)-1]
}

// close deletes the streams, and closes everything.
func (s *setting) close() {
	s.end()
	if nc, err := nats.Connect(s.address()); err == nil {
		if js, err := jetstream.New(nc); err == nil {
			for _, name := range s.names {
				js.DeleteStream(context.Background(), name)
			}
		}
		nc.Close()
	}
	for i := range s.servers {
		s.servers[len(s.servers)-1-i]()
	}
}

// end closes what a case has opened.
func (s *setting) end() {
	for _, one := range s.closing {
		one()
	}
	s.closing = nil
}

// startServers starts servers in this process.
func (s *setting) startServers(synced bool) error {
	folder, err := os.MkdirTemp("", "busgen-bench-")
	if err != nil {
		return err
	}
	s.servers = append(s.servers, func() { os.RemoveAll(folder) })
	var routes []*url.URL
	var ports []int
	for range s.replicas {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		ports, routes = append(ports, port), append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var hosts []string
	for i, port := range ports {
		o := &server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: fmt.Sprint(folder, "/", i),
			NoLog: true, NoSigs: true, SyncAlways: synced, JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 34,
		}
		if s.replicas > 1 {
			o.Cluster, o.Routes = server.ClusterOpts{Name: "bench", Host: "127.0.0.1", Port: port}, routes
		}
		one, err := server.NewServer(o)
		if err != nil {
			return err
		}
		one.Start()
		s.servers = append(s.servers, one.Shutdown)
		if !one.ReadyForConnections(10 * time.Second) {
			return fmt.Errorf("a server does not start")
		}
		hosts = append(hosts, one.Addr().String())
	}
	s.url = "nats://" + strings.Join(hosts, ",")
	return s.ready()
}

// ready waits until the servers can keep a stream.
func (s *setting) ready() error {
	nc, err := nats.Connect(s.address())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if _, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "probe", Subjects: []string{"probe"}, Replicas: s.replicas}); err == nil {
			err = js.DeleteStream(ctx, "probe")
		}
		cancel()
		if err == nil || time.Since(began) > time.Minute {
			return err
		}
	}
}
