//go:build unix

package servertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const serverRole = "server"

// Nodes are the servers of a cluster, each a process of its own, so that they can be killed.
// The package's TestMain has to be [Main].
type Nodes struct {
	t       testing.TB
	ports   []int // for clients
	routes  []int // between servers
	network *Network
	dir     string
	running []*Process
}

// StartNodes starts a cluster of n servers, and waits until it can keep streams. The servers
// end with the test.
func StartNodes(t testing.TB, n int) *Nodes {
	t.Helper()
	return newNodes(t, n).start()
}

// StartNodesApart is StartNodes with a network that can be cut. Only connections to the hosts of the network go
// through it, and those between servers.
func StartNodesApart(t testing.TB, n int) (*Nodes, *Network) {
	t.Helper()
	c := newNodes(t, n)
	c.network = startNetwork(t, c.ports, c.routes)
	return c.start(), c.network
}

func newNodes(t testing.TB, n int) *Nodes {
	newTest(t)
	ports := quietPorts(t, 2*n)
	return &Nodes{t: t, ports: ports[:n], routes: ports[n:], dir: t.TempDir(), running: make([]*Process, n)}
}

func (c *Nodes) start() *Nodes {
	c.t.Helper()
	n := len(c.running)
	for i := range n {
		c.Start(i)
	}
	c.wait(time.Minute, func(ctx context.Context, js jetstream.JetStream) error {
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "probe", Subjects: []string{"probe"}, Replicas: n}); err != nil {
			return err
		}
		return js.DeleteStream(ctx, "probe")
	})
	return c
}

// quietPorts returns ports that are free, and that the system gives no program by itself:
// a server that is killed gets its port again.
func quietPorts(t testing.TB, n int) (ports []int) {
	for tries := 0; len(ports) < n; tries++ {
		port := 20_000 + rand.IntN(12_000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			defer l.Close()
			ports = append(ports, port)
		} else if tries > 100 {
			t.Fatal(err)
		}
	}
	return ports
}

// Start starts a server, with the ports and the folder that it had.
func (c *Nodes) Start(i int) {
	var routes []string
	for _, port := range c.routes {
		routes = append(routes, local(port))
	}
	advertised := "" // what the servers tell each other
	if c.network != nil {
		routes, advertised = c.network.routes(i), nowhere
	}
	name := fmt.Sprintf("s%d", i)
	c.running[i] = StartProcess(c.t, nil, serverRole, name, strconv.Itoa(c.ports[i]), strconv.Itoa(c.routes[i]), strings.Join(routes, ","), advertised, filepath.Join(c.dir, name))
}

// nowhere is an address at which no server listens: a server that is told of another one does not go around the
// network.
const nowhere = "127.0.0.1:1"

// serve is the role of a server.
func serve(args []string) {
	asked := Asked()
	port, _ := strconv.Atoi(args[1])
	route, _ := strconv.Atoi(args[2])
	var routes []*url.URL
	for _, host := range strings.Split(args[3], ",") {
		routes = append(routes, &url.URL{Scheme: "nats", Host: host})
	}
	s, err := server.NewServer(&server.Options{
		ServerName: args[0], Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: args[5], NoLog: true, NoSigs: true,
		// Clients know the addresses that they are given, so that a test can put a proxy between.
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: route, NoAdvertise: true, Advertise: args[4]}, Routes: routes,
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 32,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	<-asked
}

// Kill ends a server with SIGKILL.
func (c *Nodes) Kill(i int) { c.running[i].Kill() }

// Node returns the process of a server.
func (c *Nodes) Node(i int) *Process { return c.running[i] }

// Hosts returns the addresses of all servers, with commas between them.
func (c *Nodes) Hosts() string {
	var hosts []string
	for _, port := range c.ports {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return strings.Join(hosts, ",")
}

// Connect connects to whichever server answers.
func (c *Nodes) Connect() (*nats.Conn, error) {
	return nats.Connect(c.Hosts(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
}

// Leader returns which server leads a stream; -1 if none does, or none says so.
func (c *Nodes) Leader(stream string) int {
	nc, err := c.Connect()
	if err != nil {
		return -1
	}
	defer nc.Close()
	js, _ := jetstream.New(nc)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil || s.CachedInfo().Cluster == nil {
		return -1
	}
	leader := -1
	fmt.Sscanf(s.CachedInfo().Cluster.Leader, "s%d", &leader)
	return leader
}

// WaitCurrent waits until every replica of a stream has all of it.
func (c *Nodes) WaitCurrent(stream string, patience time.Duration) {
	c.t.Helper()
	c.wait(patience, func(ctx context.Context, js jetstream.JetStream) error {
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		info := s.CachedInfo()
		if info.Cluster == nil || len(info.Cluster.Replicas) != len(c.running)-1 || info.Cluster.Leader == "" {
			return fmt.Errorf("the stream has not all of its replicas")
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline || r.Lag > 0 {
				return fmt.Errorf("replica %s lags", r.Name)
			}
		}
		return nil
	})
}

// wait calls ready until it returns nil.
func (c *Nodes) wait(patience time.Duration, ready func(context.Context, jetstream.JetStream) error) {
	c.t.Helper()
	try := func() error {
		nc, err := c.Connect()
		if err != nil {
			return err
		}
		defer nc.Close()
		js, _ := jetstream.New(nc)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return ready(ctx, js)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the cluster is not ready: ", err)
		}
	}
}
