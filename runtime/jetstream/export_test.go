package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// InMemory returns an option for tests: the servers keep the stream in memory.
func InMemory() Option {
	return func(k *keeper) { k.settings.InMemory, k.settings.Heartbeat = true, 30*time.Second }
}

// Through returns an option for tests: connect connects to the servers.
func Through(connect func(servers string) (*nats.Conn, error)) Option {
	return func(k *keeper) {
		k.connect = func(_ context.Context, servers string) (*nats.Conn, error) { return connect(servers) }
	}
}
