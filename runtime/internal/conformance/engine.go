package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

// Engine opens buses and inspects logs on the engine under test.
type Engine struct {
	// Options make a bus use the engine.
	Options []runtime.Option
	// Inspect makes package inspect use the engine.
	Inspect []inspect.Option
	// NewTarget returns the target of a log that does not exist yet.
	NewTarget func(t *testing.T) string
	// Copy copies a log as it would be found if its process was killed at this moment,
	// and returns the target of the copy. It is nil for an engine whose logs end with
	// the process.
	Copy func(t *testing.T, target string) string
}

// Target returns the target of a log that does not exist yet.
func (e *Engine) Target(t *testing.T) string {
	t.Helper()
	return e.NewTarget(t)
}

// OpenBus is runtime.Open with the engine.
func (e *Engine) OpenBus(ctx context.Context, target string, catalogue *runtime.Catalogue, opts ...runtime.Option) (*runtime.Bus, error) {
	return runtime.Open(ctx, target, catalogue, slices.Concat(opts, e.Options)...)
}

// OpenFile is inspect.Open with the engine.
func (e *Engine) OpenFile(ctx context.Context, target string, opts ...inspect.Option) (*inspect.File, error) {
	return inspect.Open(ctx, target, slices.Concat(opts, e.Inspect)...)
}
