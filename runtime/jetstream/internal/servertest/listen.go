package servertest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Listen starts a server in this process that listens on a port of this machine, for child
// processes, and returns its address. It ends with the test.
func Listen(t testing.TB) (address string) { return ListenFor(t, nil) }

// ListenFor is Listen for certain users; nil for all.
func ListenFor(t testing.TB, users []*server.User) (address string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 32, Users: users,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.Addr().String()
}
