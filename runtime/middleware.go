package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
)

// Next handles an event: it is the handler of a subscription, or a middleware around it.
// The payload has the type that the handler takes: order.placed is an OrderPlaced, for
// subscriptions by pattern it is [Raw], and for dead letters a [DeadLetter].
type Next func(ctx context.Context, e Event[any]) error

// Middleware stands around handlers. It is called once for each subscription, when that is
// made, with the handler or the middleware inside of it as next, and what it returns is
// called for each attempt, in place of next:
//
//	func timed(next runtime.Next) runtime.Next {
//		return func(ctx context.Context, e runtime.Event[any]) error {
//			start := time.Now()
//			err := next(ctx, e)
//			record(e.Subscription, time.Since(start), err)
//			return err
//		}
//	}
//
// What it returns is the result of the attempt, as if the handler had returned it: nil means
// handled, also if next was not called, and [Permanent], [RetryAfter], [Snooze] and [Discard]
// steer. A panic of the handler passes through it, and a panic of its own is a failed attempt.
// It runs within the time of the attempt.
//
// The context that is given to next reaches the handler, so it can have values and an earlier
// deadline. It must come from the one that the middleware was given. The event that is given
// to next reaches the handler, too: a payload can be replaced by one of the same type, and
// changes of other fields change nothing for the bus.
//
// next calls the handler at most once an attempt, on the goroutine that calls it, and not
// after the attempt is over. Otherwise it returns an error instead: a *[MiddlewareError], or
// [ErrAttemptOver].
//
// Events that cannot be decoded do not reach a middleware, because they do not reach the
// handler. The answer of an [AnswerHandler] is not seen by a middleware; a middleware that
// returns nil although the handler has not answered has no answer ([ask.ErrNoAnswer]).
//
// It is called from the goroutines of all workers at once.
type Middleware func(next Next) Next

// WithMiddleware puts middleware around every handler of the bus: of event types, namespaces
// and patterns, of members of groups, of answers and of dead letters. The first is the
// outermost, in one option and over several. The middleware of a subscription
// ([WithHandlerMiddleware]) is inside of it.
func WithMiddleware(middleware ...Middleware) Option {
	return func(c *config) error {
		c.middleware = append(c.middleware, middleware...)
		return noneNil("WithMiddleware", middleware)
	}
}

// WithHandlerMiddleware puts middleware around the handler of one subscription, inside of that
// of the bus ([WithMiddleware]). The first is the outermost.
func WithHandlerMiddleware(middleware ...Middleware) SubscribeOption {
	return func(c *subscribeConfig) error {
		c.middleware = append(c.middleware, middleware...)
		return noneNil("WithHandlerMiddleware", middleware)
	}
}

func noneNil(option string, middleware []Middleware) error {
	for i, m := range middleware {
		if m == nil {
			return fmt.Errorf("%s: middleware %d is nil: leave it out", option, i+1)
		}
	}
	return nil
}

// MiddlewareError says what a middleware does wrong. Its next returns it instead of calling
// the handler.
type MiddlewareError struct {
	Subscription string
	Problem      string
}

// Error says what to do.
func (e *MiddlewareError) Error() string {
	return fmt.Sprintf("a middleware of subscription %q has called next %s", e.Subscription, e.Problem)
}

// call calls handler for an attempt with a value, through the middleware if there is any.
func call(a *dispatch.Attempt, s *innerSubscription, value any, handler Next) error {
	if s.around != nil {
		handler = s.around
	}
	return handler(a.Given(), eventOf(a, s.name, value))
}

// innermost returns the Next that calls handler, which takes a payload of the given type.
func innermost(s *innerSubscription, takes reflect.Type, handler Next) Next {
	return func(ctx context.Context, e Event[any]) error {
		a := dispatch.FromContext(ctx)
		switch {
		case a == nil || a.Owner() != any(s.bus):
			return &MiddlewareError{s.name, "with a context that does not come from the one that it was given"}
		case e.attempt != a.Handed():
			return &MiddlewareError{s.name, "with an event of another attempt: change a copy of the one that it was given"}
		}
		if given := reflect.TypeOf(e.Payload); given != takes && (takes.Kind() != reflect.Interface || given == nil || !given.Implements(takes)) {
			return &MiddlewareError{s.name, fmt.Sprintf("with a payload of type %T, and the handler takes a %v", e.Payload, takes)}
		}
		if err := a.Enter(); errors.Is(err, errs.ErrEntered) {
			return &MiddlewareError{s.name, "twice in one attempt: return the error of the first call, and the retry policy decides"}
		} else if err != nil {
			return err
		}
		return handler(ctx, e)
	}
}

// wrap returns inner with the middleware around it, or nil if there is none.
func (s *innerSubscription) wrap(inner Next) (wrapped Next, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			panicked := newPanicError(cause)
			wrapped, err = nil, &SubscribeError{Subscription: s.name, Problem: "a middleware has panicked: " + panicked.Text, Err: panicked}
		}
	}()
	for _, all := range [][]Middleware{s.config.middleware, s.bus.config.middleware} {
		for i := len(all) - 1; i >= 0; i-- {
			if wrapped == nil {
				wrapped = inner
			}
			if wrapped = all[i](wrapped); wrapped == nil {
				return nil, s.refuse("a middleware has returned nil instead of a function")
			}
		}
	}
	return wrapped, nil
}

// unboxed returns the Next that calls handler with a pointer to the payload, which is a value.
func (t *eventType) unboxed(handler typedHandler) Next {
	return func(ctx context.Context, e Event[any]) error {
		payload := take(t)
		reflect.ValueOf(payload).Elem().Set(reflect.ValueOf(e.Payload))
		err := handler(ctx, e.Head, payload)
		t.give(payload)
		return err
	}
}

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
