package buslog

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// noteWrite remembers how storing events has ended. What is too large says nothing about the servers.
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
func (c *conn) cannotWrite(ctx context.Context) (*engine.StorageError, time.Time) {
	err, since, _ := c.writing.Now()
	if err == nil || err.Fault != engine.Unreachable {
		return err, since
	}
	if _, wrong := c.stream.Last(ctx); wrong != nil {
		return err, since
	}
	c.writing.Note(nil, 0)
	return nil, time.Time{}
}
