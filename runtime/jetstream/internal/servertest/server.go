// Package servertest runs a NATS server in the process of a test. Nothing listens on a
// port: connections are pipes, so that the server works in virtual time
// (testing/synctest), too.
package servertest

import (
	"sync"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go"
)

// The server has one ticker for its time stamps, which it makes when it is first used. If
// that is in a bubble of virtual time, the ticker is the bubble's, and the clock of the
// next bubble stands still.
func init() {
	ats.Register()
	statistics = 24 * time.Hour
}

// The server looks at its process every ten seconds, in order to tell other servers about it,
// and at what it has logged every second. In a test of a virtual week that is nearly all of
// the work, and no server listens.
//
//go:linkname statistics github.com/nats-io/nats-server/v2/server.statsHBInterval
var statistics time.Duration

//go:linkname forgetLogged github.com/nats-io/nats-server/v2/server.(*Server).changeRateLimitLogInterval
func forgetLogged(s *server.Server, every time.Duration)

// The client keeps timers for use by all connections. One that was made in a bubble must not
// be used in another, or outside.
//
//go:linkname timers github.com/nats-io/nats%2ego.globalTimerPool
var timers struct{ p sync.Pool }

var (
	begins sync.Mutex
	last   testing.TB // the test, or the bubble of it, that has begun to use the client last
)

// newTest forgets the timers of the tests before.
func newTest(t testing.TB) {
	begins.Lock()
	defer begins.Unlock()
	if t != last {
		last, timers.p = t, sync.Pool{}
	}
}

// Server is a NATS server with JetStream.
type Server struct{ *server.Server }

// Start starts a server that keeps its streams in a folder. It ends with the test.
func Start(t testing.TB, dir string) *Server {
	t.Helper()
	options := Options(dir)
	options.NoSystemAccount = true
	return StartWith(t, options, nil)
}

// Options returns those of a server that keeps its streams in a folder.
func Options(dir string) *server.Options {
	return &server.Options{
		JetStream: true, StoreDir: dir,
		// The suite publishes 20,000 events at once, which the defaults do not allow.
		JetStreamLimits: server.JSLimitOpts{MaxBatchSize: 50_000},
	}
}

// StartWith starts a server with other options. If it is to have accounts, which need to be
// there before they can use JetStream, accounts is called then, and JetStream is enabled
// before that.
func StartWith(t testing.TB, options *server.Options, accounts func(*Server)) *Server {
	t.Helper()
	newTest(t)
	options.ServerName, options.DontListen, options.NoLog, options.NoSigs = "test", true, true, true
	options.JetStreamMaxMemory, options.JetStreamMaxStore = 1<<30, 1<<30
	options.JetStream = options.JetStream || accounts != nil
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	forgetLogged(s, 24*time.Hour)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	if accounts != nil {
		accounts(&Server{s})
	}
	return &Server{s}
}

// Connect connects to the server.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(opts, nats.InProcessServer(s.Server))...)
}
