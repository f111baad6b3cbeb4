package engine

import (
	"context"
	"time"
)

// StepKeeper is a log that stores what handlers have done of a delivery, so that the next attempt goes on there. An engine
// without one does not implement it.
type StepKeeper interface {
	Awaiter

	// StoreStep stores a step of the attempt that runs at a delivery. When it returns nil the step is on disk, and it is
	// progress: failures and crashes of the delivery count from here on. Steps of many share one sync.
	//
	// The error is ErrMoved if the delivery is not the consumer's any more, or is settled; then nothing is stored. It is that
	// of ctx if that ends before the step is written, or a *[event.StorageError]. ErrAwaited says that one of the events of
	// Unless is in the log, or may be.
	//
	// A step of kind StepAwait is replaced by the next one of its name; of others the first one stays.
	StoreStep(ctx context.Context, s *Stepping) error

	// Steps returns the stored steps of the run of a delivery, of all members of a group. For a delivery that cannot have
	// any it reads nothing.
	Steps(consumer Consumer, d *Delivery) ([]Step, error)
}

// Stepping is a step to be stored for the attempt that runs at a delivery.
type Stepping struct {
	Consumer Consumer
	Delivery *Delivery
	Step     Step
	Unless   []Awaited // it is not stored if one of these is in the log
}

// Step is what a handler has done of a delivery.
type Step struct {
	Member  string // of a group; else empty
	Name    string
	Kind    StepKind
	Result  []byte // JSON; of a sleep or wait the time when it ends; nil for what was lost
	Event   int64  // the place of an event in the log, of StepEvent; else 0
	Shape   string // of what is in Result
	Attempt int    // the Number of the attempt that has stored it
	Started time.Time
	At      time.Time
}

// StepKind says what a step has done.
type StepKind string

const (
	StepDo    StepKind = "do"
	StepTx    StepKind = "tx"
	StepSleep StepKind = "sleep"
	StepAwait StepKind = "await" // it waits for an event, until Result
	StepEvent StepKind = "event" // it has waited for an event, which is at Event
	StepNone  StepKind = "none"  // it has waited for an event, and none came in time
	StepLost  StepKind = "lost"  // it was done, and its result cannot be stored
	StepUndo  StepKind = "undo"  // it has undone another step
)
