package guard

import (
	"context"
	"log/slog"
)

// Logger returns a logger that recovers panics of the handler of l. Only the line is
// lost. The bus logs from its own goroutines, where a panic would end the process.
func Logger(l *slog.Logger) *slog.Logger { return slog.New(Handler(l.Handler())) }

// Handler returns a handler that recovers panics of h. Only the record is lost.
func Handler(h slog.Handler) slog.Handler { return handler{h} }

type handler struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { recover() }()
	return h.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	defer func() { recover() }()
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	with = h
	defer func() { recover() }()
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) (with slog.Handler) {
	with = h
	defer func() { recover() }()
	return handler{h.Handler.WithGroup(name)}
}
