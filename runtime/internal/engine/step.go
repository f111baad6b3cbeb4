package engine

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
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

	// Undo makes a settled delivery due, Undoing. One that is undoing already stays as it is. The error is ErrOpen for
	// another open one, unless that is cancelled; a *[event.NotFoundError] if there is no such event or subscription, or no
	// step that can be undone; or a *[event.StorageError].
	Undo(ctx context.Context, u Undoing) error
}

// Undoing says whose steps are to be undone.
type Undoing struct {
	Event        uuid.UUID
	Subscription string
	Actor        string // for the audit
	Why          Ending
}

// Ending is why the steps of a run are undone. It is the result of the step that says so.
type Ending struct {
	Reason string              `json:"reason"` // for which the delivery would be dead
	Last   event.FailedAttempt `json:"last"`
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
	Undoes  bool   // it has a function that undoes it
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
	StepUndo  StepKind = "undo"  // it has undone the step that is named behind UndoPrefix
)

// UndoPrefix begins the name of a step that undoes another. Alone it is the step that says why: its result is an [Ending].
const UndoPrefix = "undo:"
