package servertest

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster are servers of one cluster, which listen on ports of this machine: routes between
// servers are real connections, so that time is real, too.
type Cluster struct {
	t       *testing.T
	Servers []*server.Server
	options []*server.Options
}

// StartCluster starts a cluster of n servers. They end with the test.
func StartCluster(t *testing.T, n int) *Cluster {
	t.Helper()
	newTest(t)
	var routes []*url.URL
	ports := freePorts(t, n)
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	c := &Cluster{t: t, Servers: make([]*server.Server, n)}
	for i, port := range ports {
		c.options = append(c.options, &server.Options{
			ServerName: fmt.Sprintf("s%d", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port}, Routes: routes,
			JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 30,
		})
		c.Restart(i)
	}
	t.Cleanup(func() {
		for _, s := range c.Servers {
			s.Shutdown()
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		current := 0
		for _, s := range c.Servers {
			if s.JetStreamIsCurrent() {
				current++
			}
		}
		if current == n {
			return c
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not start")
		}
	}
}

func freePorts(t *testing.T, n int) (ports []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// Restart starts a server, with the port and the folder that it had.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	s, err := server.NewServer(c.options[i])
	if err != nil {
		c.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		c.t.Fatal("a server does not start")
	}
	c.Servers[i] = s
	c.options[i].Port = s.Addr().(*net.TCPAddr).Port
}

// Hosts returns the addresses of all servers, with commas between them.
func (c *Cluster) Hosts() string {
	var hosts []string
	for _, o := range c.options {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", o.Port))
	}
	return strings.Join(hosts, ",")
}
