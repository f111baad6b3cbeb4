package buslog

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// noteWrite remembers how storing events has ended. What is too large says nothing about the servers.
func (l *Log) noteWrite(err error, events []engine.Record) {
	if err == nil && !l.writing.Fails() || errors.Is(err, stream.ErrTooLarge) || errors.Is(err, nats.ErrMaxPayload) {
		return
	}
	bytes := 0
	for i := range events {
		bytes += len(events[i].Payload)
	}
	l.writing.Note(err, bytes)
}

// Health implements [engine.HealthReporter].
func (l *Log) Health(ctx context.Context) (h engine.LogHealth, err error) {
	h.Unwritable, h.Since = l.cannotWrite(ctx)
	h.Still, err = l.still(ctx)
	return h, err
}

// cannotWrite returns the error of the last write, and since when such writes fail. Servers that could not be reached are
// asked again; whether a full stream has space again, the next events tell.
func (l *Log) cannotWrite(ctx context.Context) (*event.StorageError, time.Time) {
	err, since, _ := l.writing.Now()
	if err == nil || err.Fault != event.Unreachable {
		return err, since
	}
	if _, wrong := l.stream.Last(ctx); wrong != nil {
		return err, since
	}
	l.writing.Note(nil, 0)
	return nil, time.Time{}
}
