// Package testhook is the back door through which package runtimetest, and the
// tests of the bus, reach into package runtime. Package runtime sets its variables when the program
// starts, and nothing changes them after that.
package testhook

import (
	"context"
	"reflect"
	"time"
)

// Intercept is called in place of a handler of the named subscription; call
// calls the handler.
type Intercept func(ctx context.Context, subscription string, call func() error) error

var (
	// WithIntercept returns a runtime.Option that has an Intercept called for
	// every attempt of the bus.
	WithIntercept func(Intercept) any
	// WithStepPoint returns a runtime.Option that has a function called before each step of a handler is
	// stored, and after it, on the goroutine of the handler.
	WithStepPoint func(point func(subscription, step string, stored bool)) any
	// WithWallClock returns a runtime.Option that gives the bus a wall clock that a
	// test can set.
	WithWallClock func(now func() time.Time) any
	// PayloadType returns the Go type of the payloads of a runtime.AnyEventType.
	PayloadType func(eventType any) reflect.Type
	// Decode returns the payload of a stored event of the named type, for a
	// *runtime.Catalogue. It is a value of the type's Go type.
	Decode func(catalogue any, eventType string, version int, payload []byte) (any, error)
	// Append stores an event with any payload, with a *runtime.Bus. The receipt is
	// a *runtime.Receipt.
	Append func(ctx context.Context, bus any, eventType string, version int, payload []byte) (receipt any, err error)
	// Publish publishes a payload with a *runtime.Bus, if it is one of the type, a
	// runtime.AnyEventType. The receipt is a *runtime.Receipt, or nil if it is not.
	Publish func(ctx context.Context, bus, eventType, payload any) (receipt any, err error)
	// WithSchedules returns a runtime.Option that undoes runtime.WithoutSchedules.
	WithSchedules func() any
	// Fire publishes the event of a schedule with a *runtime.Bus, as for the present time.
	// The receipt is a *runtime.Receipt.
	Fire func(ctx context.Context, bus any, schedule string) (receipt any, err error)
	// Flush writes what a *runtime.Bus keeps in memory for a moment.
	Flush func(bus any) error
)
