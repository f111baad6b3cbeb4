package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"

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
