package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serverNames are the three servers.
var serverNames = []string{"a", "b", "c"}

// runServer is a NATS server in this process. It ends when its standard input does. ports are
// that for programs, and those for servers, its own first.
func runServer(name, folder string, ports []string) error {
	port, _ := strconv.Atoi(ports[0])
	own, _ := strconv.Atoi(ports[1])
	var routes []*url.URL
	for _, other := range ports[1:] {
		routes = append(routes, &url.URL{Scheme: "nats", Host: "127.0.0.1:" + other})
	}
	s, err := server.NewServer(&server.Options{
		ServerName: name, Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: folder, NoLog: true, NoSigs: true,
		Cluster: server.ClusterOpts{Name: "shop", Host: "127.0.0.1", Port: own}, Routes: routes,
		JetStreamMaxMemory: 1 << 28, JetStreamMaxStore: 1 << 30,
	})
	if err != nil {
		return err
	}
	s.Start()
	io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return nil
}

// startServers starts the servers, and waits until they can keep a stream.
func (s *stage) startServers() (err error) {
	if s.folder, err = os.MkdirTemp("", "busgen-example-"); err != nil {
		return err
	}
	for range serverNames {
		for _, ports := range []*[]string{&s.ports, &s.routes} {
			port, err := freePort()
			if err != nil {
				return err
			}
			*ports = append(*ports, port)
		}
	}
	for i := range serverNames {
		if err := s.startServer(i); err != nil {
			return err
		}
	}
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if err = s.probe(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the servers do not start: %w", err)
}

func (s *stage) startServer(i int) (err error) {
	args := []string{"server", serverNames[i], s.folder + "/" + serverNames[i], s.ports[i], s.routes[i]}
	for j, route := range s.routes {
		if j != i {
			args = append(args, route)
		}
	}
	s.servers[i], err = start(func(string) {}, args...)
	return err
}

// probe makes a stream on three servers, and deletes it.
func (s *stage) probe() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // a server without a leader does not answer
	defer cancel()
	return s.ask(ctx, func(js jetstream.JetStream) error {
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "probe", Subjects: []string{"probe"}, Replicas: 3}); err != nil {
			return err
		}
		return js.DeleteStream(ctx, "probe")
	})
}

// leader returns the name of the server that leads the stream of the bus.
func (s *stage) leader(ctx context.Context) (name string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s.ask(ctx, func(js jetstream.JetStream) error {
		stream, err := js.Stream(ctx, "shop")
		if err == nil && stream.CachedInfo().Cluster != nil {
			name = stream.CachedInfo().Cluster.Leader
		}
		return err
	})
	return name
}

func (s *stage) ask(ctx context.Context, f func(jetstream.JetStream) error) error {
	nc, err := nats.Connect(s.hosts())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	return f(js)
}

func (s *stage) hosts() string {
	var hosts []string
	for _, port := range s.ports {
		hosts = append(hosts, "127.0.0.1:"+port)
	}
	return strings.Join(hosts, ",")
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
