package busotel

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// The keys of log lines that belong to a span, as OpenTelemetry names them for logs that are
// not sent by its protocol.
const (
	traceIDKey    = "trace_id"
	spanIDKey     = "span_id"
	traceFlagsKey = "trace_flags"
)

// LogHandler returns a handler that adds trace_id, span_id and trace_flags to records that
// are logged with the context of a span, as with [slog.Logger.InfoContext]. Records of a logger that has
// these attributes, such as [runtime.Logger], are left as they are.
func LogHandler(to slog.Handler) slog.Handler { return &logHandler{to: to} }

type logHandler struct {
	to  slog.Handler
	has bool // the attributes
}

// Enabled implements [slog.Handler].
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.has && ctx != nil {
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			r = r.Clone()
			r.AddAttrs(logged(sc)...)
		}
	}
	return h.to.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	has := slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == traceIDKey })
	return &logHandler{h.to.WithAttrs(attrs), h.has || has}
}

// WithGroup implements [slog.Handler].
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.to.WithGroup(name), h.has}
}
