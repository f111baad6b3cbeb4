package runtime

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
)

// PublishMiddleware is called for an event that is about to be stored. It can write its
// metadata, and refuse it by an error: then nothing of the call is stored, and the error is
// in the *[RefusedError] that Publish returns. A panic refuses the event, too.
//
// It has no next, because it is not around the storage: an event is stored when Publish
// returns nil, and no function can take that back or pretend it. [observe.Observer] has a function
// for what was stored.
//
// ctx is that of Publish, in a handler that of the handler. It is called on the goroutine
// that publishes, so from many at once, and must be quick.
type PublishMiddleware func(ctx context.Context, p *Publication) error

// Publication is an event that is about to be stored, as a [PublishMiddleware] sees it. Only
// Metadata can be changed: changes of the other fields, and of what the payload refers to,
// change nothing that is stored.
type Publication struct {
	ID      uuid.UUID
	Type    string
	Version int
	// Payload is valid, and has the Go type of the event type.
	Payload any
	// Metadata is what Publish was given, with [WithMetadata] and others, and never nil. What
	// an event takes over from the event whose handler publishes it, such as its correlation
	// id, is added later, unless Metadata has it. The bus's own keys are refused. A required
	// [declare.Header] may be missing yet: it is missed after the last middleware.
	Metadata  map[string]string
	Due       time.Time // of a delayed event; else zero
	DedupeKey string    // of [WithDedupeKey], in a batch with its number; or of the event type
	// ParentID is the event whose handler publishes this one with its context, or zero.
	ParentID uuid.UUID
	// Staged says that the event is stored with the success of that handler, and not at all
	// if it fails.
	Staged bool
}

// WithPublishMiddleware adds functions that see every event that this bus is about to store:
// of Publish, of PublishBatch (one call for each event), of Request and Collect, also in
// handlers. They are called in the order in which they are given, in one option and over
// several; the first error ends the call. Events that do not come from a publisher are stored
// without them: dead-letter notices, those of a [declare.Schedule], replays, redrives, and what the
// command busgen stores.
func WithPublishMiddleware(middleware ...PublishMiddleware) Option {
	return func(c *config) error {
		for i, m := range middleware {
			if m == nil {
				return fmt.Errorf("WithPublishMiddleware: middleware %d is nil: leave it out", i+1)
			}
		}
		c.publishing = append(c.publishing, middleware...)
		return nil
	}
}

// RefusedError says that a [PublishMiddleware] has refused an event. Nothing was stored.
type RefusedError struct {
	EventType string
	Index     int   // in a batch; 0 otherwise
	Err       error // what the middleware has returned, or a *[PanicError]
}

// Error names the event type.
func (e *RefusedError) Error() string {
	if e.Index > 0 {
		return fmt.Sprintf("event %d of the batch, of type %s, was refused by a publish middleware: %v", e.Index, e.EventType, e.Err)
	}
	return fmt.Sprintf("this %s was refused by a publish middleware: %v", e.EventType, e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// pass shows the i-th event to the middleware of the bus.
func (b *batch) pass(ctx context.Context, i int, payload any) error {
	c, r := &b.config, &b.records[i]
	p := &Publication{
		ID: r.ID, Type: r.Type, Version: r.Version, Payload: payload, Metadata: maps.Clone(c.metadata), Due: c.due, Staged: b.staged(),
	}
	if p.Metadata == nil {
		p.Metadata = map[string]string{}
	}
	if r.Dedupe != nil {
		p.DedupeKey = r.Dedupe.Key
	}
	if b.attempt != nil {
		p.ParentID = b.attempt.ID
	}
	for _, m := range b.bus.config.publishing {
		if err := m.see(ctx, p); err != nil {
			return &RefusedError{EventType: b.typ, Index: i, Err: err}
		}
	}
	if key := ownKey(p.Metadata); key != "" {
		return &OptionError{"WithPublishMiddleware", fmt.Sprintf("the key %q is written by the bus itself: use another one", key)}
	}
	given := c.own.Put(p.Metadata)
	metadata, err := encodeMetadata(b.bus, b.of, given, true)
	if err == nil && b.attempt != nil {
		metadata, err = b.bus.childMetadata(b.attempt, b.typ, given)
	}
	r.Metadata = metadata
	return err
}

// see calls the middleware. Its panic is an error.
func (m PublishMiddleware) see(ctx context.Context, p *Publication) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicError(cause)
		}
	}()
	return m(ctx, p)
}
