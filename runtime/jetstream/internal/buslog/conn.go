package buslog

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// conn is the ground of a log: the stream, what the log was opened with, and whether it is still open. Its methods
// need the servers and no record. Its fields are set once, or safe for concurrent use.
type conn struct {
	stream   *stream.Stream
	target   string
	options  engine.Options
	logger   *slog.Logger
	instance string // the name of this process, as an owner
	host     string
	stopped  chan struct{} // closed by Close, or when the log is broken
	broken   atomic.Pointer[event.StorageError]
	writing  engine.WriteFault
	leader   leader
	foreign  atomic.Int64 // the last message among the events that is none, and of which the logger knows
}

func (c *conn) init(s *stream.Stream, target string, options engine.Options) {
	c.stream, c.target, c.options, c.logger = s, target, options, options.Logger
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	c.instance, c.stopped = nuid.Next(), make(chan struct{})
	c.host, _ = os.Hostname()
}

// storage makes an error of the server one of the engine. Errors of the engine, and of
// contexts, stay as they are.
func (c *conn) storage(op string, err error) error {
	var stored *event.StorageError
	var foreign *stream.ForeignError
	switch fault, hint, known := Refusal(err, c.stream.Name()); {
	case err == nil, errors.As(err, &stored), errors.Is(err, engine.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, stream.ErrInDoubt):
		return err
	case c.isClosed():
		return c.ended()
	case errors.As(err, &foreign):
		return &event.StorageError{Fault: event.Foreign, Op: op, Path: c.target, Err: err}
	case known:
		return &event.StorageError{Fault: fault, Op: op, Path: c.target, Err: err, Hint: hint, InDoubt: errors.Is(err, stream.ErrInDoubt)}
	}
	return &event.StorageError{Fault: event.Unreachable, Op: op, Path: c.target, Err: err, InDoubt: errors.Is(err, stream.ErrInDoubt)}
}

func (c *conn) isClosed() bool {
	select {
	case <-c.stopped:
		return true
	default:
		return false
	}
}

// ended is the error for calls of a log that is closed or broken.
func (c *conn) ended() error {
	if why := c.broken.Load(); why != nil {
		return why
	}
	return engine.ErrClosed
}

// patiently calls f until it fails with an error that does not pass by itself, or not at all: see waits.
func (c *conn) patiently(ctx context.Context, f func() error) error {
	for began := time.Now(); ; {
		if err := f(); err == nil || !c.waits(ctx, began, err) {
			return err
		}
	}
}

// waits waits a moment after an error that passes by itself, such as that the servers have no
// leader. It reports false if the error does not pass, or the context or the log has ended, or patience, if the
// context has no deadline: then the caller returns the error.
func (c *conn) waits(ctx context.Context, began time.Time, err error) bool {
	if !stream.Passes(err) || !stream.WaitsLonger(ctx, began, patience) {
		return false
	}
	select {
	case <-time.After(retryPause):
		return true
	case <-c.stopped:
	case <-ctx.Done():
	}
	return false
}

// noteWrite remembers how storing events has ended. An event that is too large says nothing about the servers.
func (c *conn) noteWrite(err error, events []engine.Record) {
	if err == nil && !c.writing.Fails() || errors.Is(err, stream.ErrTooLarge) || errors.Is(err, nats.ErrMaxPayload) {
		return
	}
	bytes := 0
	for i := range events {
		bytes += len(events[i].Payload)
	}
	c.writing.Note(err, bytes)
}

// Health implements [engine.HealthReporter].
func (l *Log) Health(ctx context.Context) (h engine.LogHealth, err error) {
	h.Unwritable, h.Since = l.cannotWrite(ctx)
	h.Still, err = l.still(ctx)
	return h, err
}

// cannotWrite returns the error of the last write, and since when such writes fail. Servers that could not be reached are
// asked again; whether a full stream has space again, the next events tell.
func (c *conn) cannotWrite(ctx context.Context) (*event.StorageError, time.Time) {
	err, since, _ := c.writing.Now()
	if err == nil || err.Fault != event.Unreachable {
		return err, since
	}
	if _, wrong := c.stream.Last(ctx); wrong != nil {
		return err, since
	}
	c.writing.Note(nil, 0)
	return nil, time.Time{}
}

// Refusal returns the class of an error with which the servers refuse to store or to read for a stream, and what to do.
// An error that passes by itself, such as that the stream has no leader, is no refusal.
func Refusal(err error, name string) (fault event.Fault, hint string, known bool) {
	if errors.As(err, new(*stream.DeniedError)) {
		return event.ReadOnly, "give the user this permission: docs/jetstream.md has all that a program needs", true
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return event.IO, tooLargeHint, true
	}
	refused := stream.Refused(err)
	switch {
	case refused == nil && errors.Is(err, stream.ErrTooLarge):
		return event.IO, tooLargeHint, true
	case refused == nil, errors.Is(refused, stream.ErrBusy):
		return "", "", false
	}
	switch refused.ErrCode {
	case 10077: // a message was not stored
		switch {
		case strings.Contains(refused.Description, "maximum bytes"), strings.Contains(refused.Description, "maximum messages"):
			return event.DiskFull, "raise the limit of the stream: nats stream edit " + name + " --max-bytes", true
		case strings.Contains(refused.Description, "no space left"):
			return event.DiskFull, "the disk of the server that leads the stream is full: make room on it, or let another one lead: nats stream cluster step-down " + name, true
		}
	case 10047, 10023, 10028:
		return event.DiskFull, "the servers, or the account, store as much as their limits allow: raise them (max_file_store of a server), or keep settled events for a shorter time (runtime.WithRetention)", true
	case 10002:
		return event.DiskFull, "the account stores as much as its limits allow: raise them, or keep settled events for a shorter time (runtime.WithRetention)", true
	case 10113:
		return event.IO, "the account wants each stream to have a limit: pass jetstream.Stream with a function that sets MaxBytes", true
	case 10122:
		return event.IO, "the account allows less than the MaxBytes of jetstream.Stream", true
	case 10026, 10027:
		return event.IO, "the account has as many streams or consumers as its limits allow; a process needs one consumer, and more while it reads old events", true
	case 10039, 10076:
		return event.IO, "JetStream is not enabled for the account of this user, or on these servers", true
	case 10005, 10074, 10120:
		if strings.Contains(refused.Description, "offline") {
			return event.IO, "a server of the cluster is away, and a stream that is made now would never use it: start it, or say with jetstream.Replicas how many keep the stream", true
		}
		return event.IO, "a stream has at most as many replicas as the cluster has servers: start more, or pass less to jetstream.Replicas", true
	case 10054, 10097:
		return event.IO, tooLargeHint, true
	case 10199:
		return event.IO, "publish fewer events at once, or raise limits { batch { max_msgs: … } } in the jetstream settings of the servers", true
	}
	return event.IO, "", true
}

const tooLargeHint = "raise max_payload of the servers, or store large data elsewhere and publish a reference to it"
