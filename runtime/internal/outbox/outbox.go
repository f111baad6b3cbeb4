// Package outbox is the seam between the bus and an outbox of events in a database of the program, such as that of
// package postgres: transactions of the program store events there, and a [Relay] brings them to the bus. It is no part
// of the seam of engines: behind the bus may be any of those.
package outbox

import (
	"context"
	"log/slog"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/observe"
)

// Relay brings the events of an outbox to a bus.
type Relay interface {
	// Run does so until ctx ends, and then returns at once. It is called when the bus begins to dispatch.
	Run(ctx context.Context, to Bus)
	// Status returns what it has done. It is called at any time, and does not block.
	Status() observe.Outbox
}

// Bus is what a [Relay] brings events to.
type Bus struct {
	Target string // of the log, for operators
	Logger *slog.Logger
	// Take stores those records that the log does not have, in order, and on disk when the error is nil. A record that
	// cannot be an event of this bus becomes a dead letter of [Subscription]. The records at the indexes that it returns
	// are too large for that, and not stored. After an error some may be stored, and are known when they come again.
	Take func(ctx context.Context, records []engine.Record) (left []int, err error)
	// Inspect returns the log as operators see it. It is closed with the bus.
	Inspect func(ctx context.Context) (engine.Inspection, error)
}

// Subscription is the bus's own subscription to events of an outbox that it cannot publish. Its dead letters
// say why.
const Subscription = "$relay"

// Joining is a transaction of the program on the database of an outbox: what [runtime.In] is given there.
type Joining interface {
	// Join stores records in the transaction. home is the [Relay] of the bus, or its log if it has none.
	Join(ctx context.Context, home any, records []engine.Record) error
	// Wait returns why an event of the transaction cannot be waited for.
	Wait() error
}

// Host is what handlers need of their bus whose success is stored in the database of an outbox.
type Host struct {
	Home      any                           // as Joining has it; nil without a bus
	Published func(records []engine.Record) // counts events that are stored, and tells observers
}

// Package runtime and package inspect set these when the program starts.
var (
	// HostOf returns what is behind a *runtime.Bus.
	HostOf func(bus any) Host
	// Elsewhere is the runtime.SubscribeOption of such handlers.
	Elsewhere any
	// InspectionOf returns the log of an *inspect.File.
	InspectionOf func(file any) engine.Inspection
)

// WithRelay returns the runtime.Option for a bus with a relay, which is made anew for each bus. Package runtime sets it when
// the program starts.
var WithRelay func(make func() Relay) any
