package runtime

import (
	"fmt"
	"reflect"

	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
)

// Upcast turns payloads of one version into those of the next. [UpcastFrom] makes
// one.
type Upcast struct {
	version  int
	from, to any // nil pointers to the types
	decode   func(payload []byte) (any, error)
	lift     func(old any) (any, error)
}

// UpcastFrom returns the step by which stored payloads of an old version become
// those of the next: upcast gets the payload as it was, and returns what it would
// be today. It is called by any goroutine, and should depend on nothing but old. An
// error, or a panic, makes a dead letter of the event, with the bytes as they are
// stored. Generated code calls it with functions that the user has written.
func UpcastFrom[From, To any](version int, upcast func(old From) (To, error)) Upcast {
	return Upcast{
		version: version, from: (*From)(nil), to: (*To)(nil), decode: decoder((*From)(nil)),
		lift: func(old any) (any, error) { return upcast(old.(From)) },
	}
}

// decoder returns a function that decodes values of the type that pointer points to.
func decoder(pointer any) func(payload []byte) (any, error) {
	of := pointedTo(pointer)
	codec := wire.NewTypeCodec(of)
	return func(payload []byte) (any, error) {
		old := reflect.New(of)
		err := codec.Decode(payload, old.Interface())
		return old.Elem().Interface(), err
	}
}

// chainProblem says in words why the steps do not lead to a version of a type.
func chainProblem(steps []Upcast, version int, newest reflect.Type) string {
	for i, step := range steps {
		next := newest
		if i+1 < len(steps) {
			next = pointedTo(steps[i+1].from)
		}
		if want := version - len(steps) + i; step.version != want || want < 1 {
			return fmt.Sprintf("step %d is from version %d; the steps lead to version %d one by one", i+1, step.version, version)
		}
		if to := pointedTo(step.to); to != next {
			return fmt.Sprintf("the step from version %d returns %v, and the next takes %v", step.version, to, next)
		}
	}
	return ""
}

// older decodes a payload of another version than that of t, and returns its value and with it
// the steps that lead from there to t.
func (t *eventType) older(version int, payload []byte) (value any, steps []Upcast, err error) {
	steps = t.spec.Upcasts
	if len(steps) == 0 || version < steps[0].version || version > t.spec.Version {
		return nil, nil, t.unknownVersion(version)
	}
	steps = steps[version-steps[0].version:]
	if value, err = steps[0].decode(payload); err != nil {
		return nil, nil, t.misfit(pointedTo(steps[0].from), version, payload, err)
	}
	return value, steps, nil
}

// lift decodes a payload of an old version into one of the present version.
func (t *eventType) lift(version int, stored []byte, payload any) error {
	value, steps, err := t.older(version, stored)
	for _, step := range steps {
		if value, err = step.apply(value); err != nil {
			err = fmt.Errorf("this %s event of version %d cannot be made one of version %d: %w", t.spec.Name, version, step.version+1, err)
			return &errs.DecodeError{Err: err}
		}
	}
	if err != nil {
		return err
	}
	reflect.ValueOf(payload).Elem().Set(reflect.ValueOf(value))
	return nil
}

func (u Upcast) apply(old any) (value any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the upcast has panicked: %w", newPanicError(panicked))
		}
	}()
	return u.lift(old)
}

// unknownVersion is the error for a version that the program has no shape for.
func (t *eventType) unknownVersion(version int) error {
	if version > t.spec.Version {
		return &errs.DecodeError{Err: fmt.Errorf("this %s event was published as version %d, and this program knows versions up to %d: "+
			"deploy the program that has published it, and then retry the dead letter", t.spec.Name, version, t.spec.Version)}
	}
	return &errs.DecodeError{Err: fmt.Errorf("this %s event was published as version %d, which this program no longer reads: "+
		"the catalogue has dropped it from the history of the event", t.spec.Name, version)}
}
