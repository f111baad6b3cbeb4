package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/buslog"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Engine returns the option of Open that keeps the events on NATS JetStream. The target of
// Open is then an address such as nats://a,b,c/shop: servers of one cluster, and the name of
// the stream, which has letters, digits, hyphens and underscores.
func Engine(opts ...Option) runtime.Option { return runtime.WithEngine(newKeeper(opts)) }

// Inspect returns the option of [inspect.Open] for the same targets.
func Inspect(opts ...Option) inspect.Option { return inspect.WithEngine(newKeeper(opts)) }

// keeper implements [engine.Inspectable].
type keeper struct {
	settings    stream.Settings
	silent      bool                                                          // Open gives no hints
	options     []nats.Option                                                 // of the connection
	conn        *nats.Conn                                                    // of the program; nil to make one
	environment bool                                                          // says how to connect
	connect     func(ctx context.Context, servers string) (*nats.Conn, error) // of a test
}

func newKeeper(opts []Option) *keeper {
	k := &keeper{}
	for _, opt := range opts {
		opt(k)
	}
	return k
}

// Open implements [engine.Engine].
func (k *keeper) Open(ctx context.Context, target string, options engine.Options) (engine.Log, error) {
	s, err := k.open(ctx, target, options.Logger, stream.Open)
	if err != nil {
		return nil, err
	}
	l, err := buslog.Open(ctx, s, redacted(target), options)
	if err != nil {
		s.Close()
		return nil, err
	}
	if options.Logger != nil && !k.silent {
		for _, hint := range s.Hints(ctx) {
			options.Logger.Warn("the servers keep less than busgen promises", "log", redacted(target), "hint", hint)
		}
	}
	return opened{l, target}, nil
}

// opened is a log that knows its target with the passwords, to be opened once more. Errors
// have it without.
type opened struct {
	*buslog.Log
	target string
}

// Target implements [engine.Log].
func (l opened) Target() string { return l.target }

// Inspect implements [engine.Inspectable].
func (k *keeper) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	s, err := k.open(ctx, target, nil, stream.OpenExisting)
	if err != nil {
		return nil, err
	}
	in, err := buslog.Inspect(ctx, s, redacted(target), actor)
	if err != nil {
		s.Close()
		return nil, err
	}
	return in, nil
}

// openStream is [stream.Open] or [stream.OpenExisting].
type openStream = func(ctx context.Context, nc *nats.Conn, name string, settings stream.Settings) (*stream.Stream, error)

// open connects to the servers of a target.
func (k *keeper) open(ctx context.Context, target string, logger *slog.Logger, open openStream) (*stream.Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	servers, name, err := splitTarget(target)
	if err != nil {
		return nil, err
	}
	settings := k.settings
	nc, shared, api, err := k.dial(ctx, servers, logger)
	if err != nil {
		return nil, connectError(redacted(target), err)
	}
	settings.Shared, settings.API = shared, api
	s, err := open(ctx, nc, name, settings)
	if err == nil {
		return s, nil
	}
	if !shared {
		nc.Close()
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	return nil, openError(redacted(target), name, err)
}

// openError says why a stream cannot be used, and what to do.
func openError(target, name string, err error) error {
	wrong := &event.StorageError{Fault: event.Unreachable, Op: "open", Path: target, Err: err}
	var foreign *stream.ForeignError
	var old *stream.TooOldError
	switch fault, hint, known := buslog.Refusal(err, name); {
	case errors.As(err, &foreign):
		wrong.Fault, wrong.Hint = event.Foreign, "use another name in the address, so that a stream is made, or change this one"
	case errors.As(err, &old):
		wrong.Fault, wrong.Hint = event.TooOld, "upgrade the servers to 2.14 or newer"
	case errors.Is(err, js.ErrStreamNotFound):
		wrong.Fault, wrong.Err = event.IO, fmt.Errorf("the servers have no stream %s", name)
	case known:
		wrong.Fault, wrong.Hint = fault, hint
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		wrong.Hint = "check that JetStream is enabled on the servers (jetstream {} in their settings), and that most of them run"
	}
	return wrong
}
