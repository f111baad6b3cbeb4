package step

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// write returns the result as JSON, or why it cannot be stored.
func (c *call) write() (result []byte, problem *ResultError) {
	var err error
	ran := guarded(func() { result, err = json.Marshal(c.to.Interface()) })
	switch {
	case ran != "":
		return nil, &ResultError{Step: c.name, Problem: "its result cannot be written as JSON: " + ran}
	case err != nil:
		return nil, &ResultError{Step: c.name, Problem: "its result cannot be written as JSON: " + err.Error(), Err: err}
	}
	if room, why := c.attempt.StepRoom(); len(result) > room {
		return nil, &ResultError{Step: c.name, Problem: fmt.Sprintf("its result has %d bytes: %s", len(result), why)}
	}
	return result, nil
}

// guarded calls code of the program, such as a MarshalJSON method. It returns what is wrong if that does not return.
func guarded(f func()) (problem string) {
	defer func() {
		if cause := recover(); cause != nil {
			problem = "its code panics: " + guard.PanicText(cause)
		}
	}()
	f()
	return ""
}

// take makes a stored step the result.
func (c *call) take(stored *engine.Step, reads any) error {
	now := shapeOf(c.to.Type())
	switch {
	case stored.Kind == engine.StepLost:
		return c.attempt.Doom(event.ReasonPermanent, &ResultError{Step: c.name, Problem: "it was done, and its result is lost: " + stored.Shape})
	case alike(stored.Kind) != alike(c.kind):
		return c.attempt.Doom(event.ReasonDecode, &ResultError{
			Step: c.name, Problem: "it is of another kind", Then: fmt.Sprintf("a step of kind %s", stored.Kind), Now: fmt.Sprintf("one of kind %s", c.kind),
		})
	case stored.Shape == now:
		return c.read(stored.Result)
	case reads != nil:
		return c.readWith(reads, stored, now)
	}
	if problem := mismatch(stored.Result, c.to.Type(), ""); problem != "" {
		return c.attempt.Doom(event.ReasonDecode, &ResultError{Step: c.name, Problem: "its stored result does not fit: " + problem, Then: then(stored.Shape), Now: now})
	}
	return c.read(stored.Result)
}

// then names a shape that may be unknown.
func then(shape string) string {
	if shape == "" {
		return "something unknown"
	}
	return shape
}

// alike says which kinds of steps can take the place of each other.
func alike(kind engine.StepKind) engine.StepKind {
	if kind == engine.StepTx {
		return engine.StepDo
	}
	return kind
}

// read decodes a result.
func (c *call) read(result []byte) error {
	into := reflect.New(c.to.Type())
	var err error
	ran := guarded(func() { err = json.Unmarshal(result, into.Interface()) })
	switch {
	case ran != "":
		return c.attempt.Doom(event.ReasonDecode, &ResultError{Step: c.name, Problem: "its stored result cannot be read: " + ran})
	case err != nil:
		return c.attempt.Doom(event.ReasonDecode, &ResultError{Step: c.name, Problem: "its stored result cannot be read: " + err.Error(), Err: err})
	}
	c.to.Set(into.Elem())
	return nil
}

// readsInto tells whether the function of Reads returns a type.
func readsInto(reads any, of reflect.Type) bool { return reflect.TypeOf(reads).Out(0) == of }

// readWith reads a result of another shape with the function of the program.
func (c *call) readWith(reads any, stored *engine.Step, now string) error {
	wrong := &ResultError{Step: c.name, Then: then(stored.Shape), Now: now}
	if !readsInto(reads, c.to.Type()) {
		wrong.Problem = fmt.Sprintf("Reads has a %T, which does not return a %v", reads, c.to.Type())
		return c.attempt.Doom(event.ReasonDecode, wrong)
	}
	var out []reflect.Value
	ran := guarded(func() {
		out = reflect.ValueOf(reads).Call([]reflect.Value{reflect.ValueOf(json.RawMessage(stored.Result))})
	})
	if ran != "" {
		wrong.Problem = "the function that reads its stored result: " + ran
		return c.attempt.Doom(event.ReasonDecode, wrong)
	}
	if err, _ := out[1].Interface().(error); err != nil {
		wrong.Problem, wrong.Err = "its stored result cannot be read: "+err.Error(), err
		return c.attempt.Doom(event.ReasonDecode, wrong)
	}
	c.to.Set(out[0])
	return nil
}

// wait suspends the attempt until a time, unless that has passed.
func wait(ctx context.Context, until time.Time) error {
	if !time.Now().Before(until) {
		return nil
	}
	return dispatch.FromContext(ctx).Suspend(until)
}
