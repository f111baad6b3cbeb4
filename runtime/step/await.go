package step

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// Await returns the first event of type t with the key that was published after the handled event and that no other step of
// this run has got. If there is none yet, it suspends the handler like [Sleep], until such an event is stored or the time is
// over: then it returns an error that matches [ErrNoEvent], now and in every later attempt.
//
// The type has await_by in the catalogue, and key is the value of that field. An event that came early is found, also one
// that was published before the call: the handled event is the only bound. A delayed event counts from the moment on at which
// it is stored. An event that was cancelled does not count, nor does one that an operator has edited or imported.
//
// within is fixed by the first call, and stored: a crash does not lengthen the wait. Its end is a time of the wall clock.
// An event that is stored when the handler is called again counts, even if the time was over before, as after a night
// without a process. With a within of 0 or less Await looks once and does not wait. If the handled event expires
// before, it becomes a dead letter then.
//
// The event has no Subscription and no Attempt. Its payload is read when Await returns it, so it has the newest version,
// and what was erased of it is gone. It is kept as long as the handled event. If it cannot be decoded, the handled event
// becomes a dead letter, with reason decode. Of the options only [Was] counts.
//
// The errors are [ErrSuspended], ErrNoEvent and those of [Do] but for that of its function. A type without await_by, or one
// that is not in the catalogue of the bus, and an empty key make a dead letter at once.
func Await[T runtime.Payload](ctx context.Context, name string, t *runtime.EventType[T], key string, within time.Duration, opts ...Option) (runtime.Event[T], error) {
	head, payload, err := await(ctx, name, within, []Awaited{{t, key}}, opts)
	if err != nil {
		return runtime.Event[T]{}, err
	}
	return runtime.Event[T]{Head: head, Payload: *payload.(*T)}, nil
}

// AwaitAny is [Await] for whichever of several events is stored first. The payload has the type of that event: use a type
// switch. The others are not waited for any more, and another step may get them.
func AwaitAny(ctx context.Context, name string, within time.Duration, of ...Awaited) (runtime.Event[any], error) {
	head, payload, err := await(ctx, name, within, of, nil)
	if err != nil {
		return runtime.Event[any]{}, err
	}
	return runtime.Event[any]{Head: head, Payload: reflect.ValueOf(payload).Elem().Interface()}, nil
}

// Awaited are the events of a type that have a key.
type Awaited struct {
	of  runtime.Definition
	key string
}

// Of says which events [AwaitAny] waits for: those of type t with the key, as in [Await].
func Of[T runtime.Payload](t *runtime.EventType[T], key string) Awaited { return Awaited{t, key} }

// await waits for one of several events, and returns a pointer to its payload.
func await(ctx context.Context, name string, within time.Duration, of []Awaited, opts []Option) (runtime.Head, any, error) {
	a, err := attemptOf(ctx, name)
	if err != nil {
		return runtime.Head{}, nil, err
	}
	types, keys := make([]runtime.Definition, len(of)), make([]string, len(of))
	for i, one := range of {
		types[i], keys[i] = one.of, one.key
	}
	awaited, problem := inner.Awaited(a, types, keys)
	was, _ := former(opts)
	found, err := a.AwaitEvent(ctx, name, was, within, awaited, problem, callers)
	if err != nil {
		return runtime.Head{}, nil, err
	}
	if found == nil {
		return runtime.Head{}, nil, fmt.Errorf("step %q: %w", name, ErrNoEvent)
	}
	head, payload, err := inner.Got(types, found)
	if err != nil {
		return head, nil, a.Doom(event.ReasonDecode, fmt.Errorf("step %q: %w", name, err))
	}
	return head, payload, nil
}

// attemptOf returns the attempt of a handler.
func attemptOf(ctx context.Context, name string) (*dispatch.Attempt, error) {
	a := dispatch.FromContext(ctx)
	if a == nil {
		return nil, fmt.Errorf("step %q: %w outside of a handler: ctx is not the one that the bus has given to one", name, errors.ErrUnsupported)
	}
	return a, nil
}
