package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Engine opens buses and inspects logs on the engine under test.
type Engine struct {
	// Options make a bus use the engine.
	Options []runtime.Option
	// Storage is the engine itself, for tests of what it says to the bus.
	Storage engine.Engine
	// Inspect makes package inspect use the engine.
	Inspect []inspect.Option
	// NewTarget returns the target of a log that does not exist yet.
	NewTarget func(t *testing.T) string
	// Copy copies a log as it would be found if its process was killed at this moment,
	// and returns the target of the copy.
	Copy func(t *testing.T, target string) string
	// Earlier moves all due times of a log that nobody uses so much earlier, as if the clock was set forward, and returns
	// until when at least the clock had come before. It is nil for an engine that cannot.
	Earlier func(t *testing.T, target string, by time.Duration) (written time.Time)
	// Unwritten is how long a success may stay in memory until it is written.
	Unwritten time.Duration
	// Unclaimed is how long a handler may run before its claim is stored, if many begin at once. It is zero for an engine that
	// calls no handler before that.
	Unclaimed time.Duration
	// ForgetsLeft says that the engine forgets the handlers that a subscription has left behind when the subscription ends.
	ForgetsLeft bool
	// Express says that critical and high events go ahead of a backlog of any length, and not only of what is in memory.
	Express bool
	// Steps says that handlers can store steps.
	Steps bool
	// Sizes makes logs that are opened from now on hold so many events in memory at once, and pages have so many.
	// It returns what undoes that.
	Sizes func(memory, page int) (restore func())
}

// Target returns the target of a log that does not exist yet.
func (e *Engine) Target(t *testing.T) string {
	t.Helper()
	return e.NewTarget(t)
}

// hold makes buses of this test hold little in memory, so that a short log is many pages.
func (e *Engine) hold(t *testing.T, window, memory, page int) {
	restore := e.Sizes(memory, page)
	before := dispatch.Window
	dispatch.Window = window
	t.Cleanup(func() {
		dispatch.Window = before
		restore()
	})
}

// OpenBus is runtime.Open with the engine.
func (e *Engine) OpenBus(ctx context.Context, target string, catalogue *runtime.Catalogue, opts ...runtime.Option) (*runtime.Bus, error) {
	return runtime.Open(ctx, target, catalogue, slices.Concat(opts, e.Options)...)
}

// OpenFile is inspect.Open with the engine.
func (e *Engine) OpenFile(ctx context.Context, target string, opts ...inspect.Option) (*inspect.File, error) {
	return inspect.Open(ctx, target, slices.Concat(opts, e.Inspect)...)
}
