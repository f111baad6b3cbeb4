package runtime

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/busgen/busgen/runtime/gen/deep"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Clone returns a deep copy of a payload, or of another value of the types that busgen generates: the copy shares
// nothing with value. For a type that is not generated and has a method Clone, that is called; without one, fields that
// are not exported are copied by assignment. Clone panics if the value contains itself.
//
// A handler need not copy its payload: no other subscription shares it.
func Clone[T any](value T) T {
	deep.Separate(&value)
	return value
}

// Equal reports whether two payloads, or two other values of the types that busgen generates, have the same content:
// times are compared as moments, and nil equals an empty list or map. Values of types that are not generated are equal
// if their method Equal says so or, without one, if [reflect.DeepEqual] does or both have the same JSON. Equal panics if
// the values contain themselves.
func Equal[T any](a, b T) bool { return deep.Equal(&a, &b) }

// take returns a payload that is zero. Methods that a person wrote may keep a pointer to it, so
// its memory is used again only where all methods are generated.
func take(of AnyEventType) any {
	t := of.(*eventType)
	if t.codec.Generated() {
		if payload := t.free.Get(); payload != nil {
			return payload
		}
	}
	return reflect.New(t.of).Interface()
}

// give takes a payload back, of which only copies are left. It is not for one that code of the
// program has failed with: it may still be at work.
func (t *eventType) give(payload any) {
	if t.codec.Generated() {
		reflect.ValueOf(payload).Elem().SetZero()
		t.free.Put(payload)
	}
}

// lasting returns a payload that methods of the program may keep a pointer to: a copy, unless all
// methods are generated.
func (t *eventType) lasting(payload any) any {
	if t.codec.Generated() {
		return payload
	}
	kept := reflect.New(t.of)
	kept.Elem().Set(reflect.ValueOf(payload).Elem())
	return kept.Interface()
}

// takeOut returns a payload as a T, and takes its memory back: what gets the T has no pointer to it.
func (t *eventType) takeOut(payload any) (value any) {
	value = t.value(payload)
	t.give(payload)
	return value
}

// value returns a payload as a T.
func (t *eventType) value(payload any) any { return reflect.ValueOf(payload).Elem().Interface() }

func (t *eventType) zero() any { return reflect.Zero(t.of).Interface() }

// decodeFor returns the payload of an attempt by decode, which is one of the next two.
func (t *eventType) decodeFor(a *dispatch.Attempt, decode func(t *eventType, r *engine.Record) (any, error)) (payload any, err error) {
	if t.codec.Generated() && max(a.Version, 1) == t.spec.Version { // nothing of it is the program's
		return decode(t, a.Record)
	}
	a.Decoding(true)
	payload, err = decode(t, a.Record)
	if over := a.Decoding(false); over != nil { // it is not called if that code ends the goroutine
		return nil, over
	}
	return payload, err
}

// decodeShared returns the payload for one handler. An event that several subscriptions
// handle is decoded once, and each handler gets its own copy.
func (t *eventType) decodeShared(r *engine.Record) (payload any, err error) {
	if r.Memo == nil || t.clone == nil {
		return t.decode(r)
	}
	shared, err := r.Memo.Get(func() (any, error) {
		original := reflect.New(t.of).Interface()
		return original, t.parse(r, original)
	})
	if err != nil || shared == nil || reflect.TypeOf(shared) != t.pointer { // of another program's type of the same name
		return t.decode(r)
	}
	payload = take(t)
	t.clone(payload, shared)
	return payload, nil
}

// decode returns the payload of a record, whose version may be an older one.
func (t *eventType) decode(r *engine.Record) (payload any, err error) {
	payload = take(t)
	if err := t.parse(r, payload); err != nil {
		return nil, err
	}
	return payload, nil
}

// parse decodes the payload of a record into payload, which is zero.
func (t *eventType) parse(r *engine.Record, payload any) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = t.decodingPanicked(cause)
		}
	}()
	if version := max(r.Version, 1); version != t.spec.Version {
		return t.lift(version, r.Payload, payload)
	}
	if err := t.codec.Decode(r.Payload, payload); err != nil {
		return t.misfit(t.of, t.spec.Version, r.Payload, err)
	}
	return nil
}

// decodeAs decodes a payload as the version it was published with, and returns its value.
func (t *eventType) decodeAs(version int, stored []byte) (value any, err error) {
	if version == t.spec.Version {
		payload, err := t.decode(&engine.Record{Version: version, Payload: stored})
		if err != nil {
			return nil, err
		}
		return t.value(payload), nil
	}
	value, _, err = t.older(version, stored)
	return value, err
}

// misfit is the error for a payload that does not decode as a type.
func (t *eventType) misfit(as reflect.Type, version int, payload []byte, err error) error {
	err = hiddenError(t.privacy(), version, payload, err)
	of := ""
	if version != t.spec.Version {
		of = fmt.Sprintf(" of version %d", version)
	}
	return &errs.DecodeError{Err: fmt.Errorf("the payload of this %s event%s does not fit %v: %w", t.spec.Name, of, as, err)}
}

// decodingPanicked is the error for a payload that panics while it is decoded.
func (t *eventType) decodingPanicked(cause any) error {
	panicked := newPanicError(cause)
	err := fmt.Errorf("the payload of this %s event cannot be decoded as %v: %w", t.spec.Name, t.of, panicked)
	return &errs.DecodeError{Err: err, Stack: panicked.Stack}
}

// decodingExited is the error for a payload whose code ends the goroutine that decodes it.
func (t *eventType) decodingExited() error {
	return &errs.DecodeError{Err: dispatch.DecodingExited(t.spec.Name)}
}

func (t *eventType) partitioned() bool { return t.partition != nil }

// partitionKey returns the key within which the order is kept. The error is a
// *[dispatch.DecodeError] if PartitionBy panics.
func (t *eventType) partitionKey(payload any) (key string, err error) {
	if t.partition == nil {
		return "", nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			panicked := newPanicError(cause)
			err = fmt.Errorf("the partition key of this %s event cannot be computed: %w", t.spec.Name, panicked)
			err = &errs.DecodeError{Err: err, Stack: panicked.Stack}
		}
	}()
	return t.partition(payload), nil
}

// limitPaths returns the paths of the fields by which limits can be kept apart, sorted.
func (t *eventType) limitPaths() []string { return slices.Sorted(maps.Keys(t.limitBy)) }

// limitKey returns the value of the field at a path. It runs code of the payload, which may
// do anything.
func (t *eventType) limitKey(payload any, path string) string {
	key := t.limitBy[path]
	if key == nil {
		return ""
	}
	return key(payload)
}

// keyOfNewer returns the partition key of a payload of a version that this program does not know, read as one that it
// knows; "" if that does not work, or the payload seems to lack the key.
func (t *eventType) keyOfNewer(stored []byte) (key string) {
	defer func() {
		if recover() != nil {
			key = ""
		}
	}()
	payload := reflect.New(t.of).Interface()
	if t.codec.Decode(stored, payload) != nil {
		return ""
	}
	if key = t.partition(payload); key == t.partition(reflect.New(t.of).Interface()) {
		return ""
	}
	return key
}
