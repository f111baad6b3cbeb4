package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// InMemory returns an option for tests: the servers keep the stream in memory. Nobody is told
// that this is not safe.
func InMemory() Option {
	return func(k *keeper) { k.settings.InMemory, k.settings.Heartbeat, k.silent = true, 30*time.Second, true }
}

// Silent returns an option for tests: Open gives no hints.
func Silent() Option { return func(k *keeper) { k.silent = true } }

// Lagging returns an option for tests: lag is called before the process learns of a message
// that was stored.
func Lagging(lag func()) Option { return func(k *keeper) { k.settings.Lag = lag } }

// Polling returns an option for tests: polling is called before the dispatcher of a subscription is given anything.
func Polling(polling func()) Option { return func(k *keeper) { k.settings.Polling = polling } }

// Losing returns an option for tests: while lost returns true, nothing that the process stores reaches the servers.
func Losing(lost func() bool) Option { return func(k *keeper) { k.settings.Lost = lost } }

// Hasty returns an option for tests whose processes end at known times: who is not connected is
// dead at once.
func Hasty() Option { return func(k *keeper) { k.settings.Hasty = true } }

// Replicated returns an option for tests: the stream is treated as if it had replicas.
func Replicated() Option { return func(k *keeper) { k.settings.Replicated = true } }

// Through returns an option for tests: connect connects to the servers.
func Through(connect func(servers string) (*nats.Conn, error)) Option {
	return func(k *keeper) {
		k.connect = func(_ context.Context, servers string) (*nats.Conn, error) { return connect(servers) }
	}
}

// ClientOptions are how the engine connects to servers.
var ClientOptions = clientOptions

// Storage returns the engine itself, for tests of what it says to the bus.
func Storage(opts ...Option) engine.Engine { return newKeeper(opts) }
