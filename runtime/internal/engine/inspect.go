package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
)

// Inspection is a log that somebody looks into and steers without a bus: package
// inspect above the seam, for an operator's program or the busgen command. It
// works on a log that no process has open, and beside one that dispatches.
//
// Opening and looking change nothing, and need no permission to write. The first
// change opens the log for writing. All methods are safe for concurrent use, and
// return ErrClosed after Close. A context that ends interrupts them: a change has
// then happened completely or not at all.
type Inspection interface {
	Inspector
	Steerer
	io.Closer // Close releases the log. A second call returns nil.
}

// Releaser is an Inspection that holds something which others wait for.
type Releaser interface {
	// Release lets go of it until the next method needs it.
	Release() error
}

// Inspectable is an engine whose logs can be inspected.
type Inspectable interface {
	Engine

	// Inspect opens the log at a target, which must exist, for an actor, whose name
	// the audit gets.
	Inspect(ctx context.Context, target, actor string) (Inspection, error)
}

// Inspector looks into a log.
type Inspector interface {
	StatusReader
	EventReader
	DeadLetterReader
	AuditReader
	Checker
}

// SubscriptionReader tells where subscriptions stand.
type SubscriptionReader interface {
	// Subscriptions returns the subscriptions in the order in which they were
	// made. It stops counting a backlog at limit. What only a [event.Status] has is zero.
	Subscriptions(ctx context.Context, limit int) ([]event.SubscriptionState, error)
}

// StatusReader tells where a log and its subscriptions stand.
type StatusReader interface {
	SubscriptionReader

	// Status counts events, and the backlog of each subscription, up to limit. It
	// adds the rates since an earlier status of the same log, if that is not zero.
	Status(ctx context.Context, limit int, since event.Status) (event.Status, error)

	// Hour counts what happened in each of the last 60 minutes. It takes a bounded time to
	// count events.
	Hour(ctx context.Context) (event.Hour, error)

	// Declared returns what programs have declared.
	Declared(ctx context.Context) (Declared, error)

	// Activity returns what the dispatching process says of itself: nothing if no
	// process dispatches.
	Activity(ctx context.Context) (Activity, event.Owner, error)
}

// EventReader reads events and their deliveries.
type EventReader interface {
	// Events returns a page of events, the newest first. It looks through most events at most;
	// 0 for no bound.
	Events(ctx context.Context, f Filter, p event.Page, most int) (event.EventSearch, error)

	// Follow reads a part of the log forwards, from one state of it. Every event that matches is
	// in exactly one part, unless it was pruned before.
	Follow(ctx context.Context, f Following) (event.Followed, error)

	// Event returns one event, or a *NotFoundError.
	Event(ctx context.Context, id uuid.UUID) (event.EventHistory, error)

	// EventsWithID returns up to limit ids that begin with the given hexadecimal
	// digits, each from 0 to 15, the lowest first.
	EventsWithID(ctx context.Context, digits []byte, limit int) ([]uuid.UUID, error)

	// Unsettled calls visit for every event with an open or a dead delivery, in the
	// order of the log, but not for events of the bus itself.
	Unsettled(ctx context.Context, visit func(event.Unsettled)) error
}

// DeadLetterReader reads dead letters.
type DeadLetterReader interface {
	// DeadLetters returns a page of dead letters, those that died last first or, with
	// oldestFirst, those that died first, and the cursor of the next page.
	DeadLetters(ctx context.Context, f Filter, p event.Page, oldestFirst bool) ([]event.DeadLetter, string, error)

	// CountDeadLetters returns how many dead letters match.
	CountDeadLetters(ctx context.Context, f Filter) (int, error)

	// DeadLetter returns one dead letter, or a *NotFoundError with its State.
	DeadLetter(ctx context.Context, key event.Key) (event.DeadLetterHistory, error)

	// Redelivered returns what became of dead letters that were retried, in the
	// order of the keys.
	Redelivered(ctx context.Context, keys []event.Key) ([]Redelivery, error)

	// FailureGroups returns dead letters by their fingerprint, the largest group
	// first. The message of a group is the error of its newest dead letter.
	FailureGroups(ctx context.Context, f Filter) ([]event.FailureGroup, error)

	// FailureGroupNames returns the fingerprints of dead letters that begin with a
	// prefix, in alphabetical order.
	FailureGroupNames(ctx context.Context, prefix string) ([]string, error)

	// Schema returns the schema of the newest version of an event type that has one, by any of
	// its names. If none has, it has the newest version only. It is zero for a type that the log does not know.
	Schema(ctx context.Context, eventType string) (event.Schema, error)
}

// AuditReader reads what was done to a log.
type AuditReader interface {
	// Audit returns a page of entries, the newest first, and the cursor of the next
	// page.
	Audit(ctx context.Context, f event.AuditFilter, p event.Page) ([]event.AuditEntry, string, error)
}

// Checker looks for damage.
type Checker interface {
	// Check returns what is wrong with the log. It ends after RuleIntegrity, because
	// the content of a damaged log means nothing.
	Check(ctx context.Context) ([]event.Problem, error)
}

// Steerer changes a log. Each change is on disk when its method returns, and has an
// entry in the audit. A process that dispatches notices it within 200 ms.
type Steerer interface {
	SubscriptionSteerer
	EventPublisher
	EventDiscarder
	DeadLetterEditor
	Sweeper
	Eraser
}

// FitsNewest returns an error unless the payload of an event that an operator publishes was checked as one of the newest
// version of its type.
func (r *Record) FitsNewest(newest int) error {
	if newest == r.Version {
		return nil
	}
	return fmt.Errorf("the newest version of %s is %d, and the payload was checked as one of version %d: open the bus once with the program that has version %[2]d", r.Type, newest, r.Version)
}

// EventPublisher publishes what an operator writes.
type EventPublisher interface {
	// Publish appends events as [Appender].Append does, with one entry in the audit. The version of each is the newest of
	// its type, which the log knows.
	Publish(ctx context.Context, records []Record) error
}

// SubscriptionSteerer pauses, resumes and forgets subscriptions, and closes their
// circuit breakers.
type SubscriptionSteerer interface {
	Remover
	PauseStorer

	// RequestBreaker asks the dispatching process to close a circuit breaker, in place
	// of an earlier request for it: that of a key, or with an empty key all of the subscription.
	RequestBreaker(ctx context.Context, subscription, key string) (BreakerRequest, error)

	// BreakerAnswered reports whether the process has answered. With withdraw a request that is
	// not answered is taken back.
	BreakerAnswered(ctx context.Context, r BreakerRequest, withdraw bool) (bool, error)
}

// EventDiscarder settles open deliveries of events, and undoes discards.
type EventDiscarder interface {
	Canceller

	// Undiscard undoes discards. A choice that matches nothing is no error.
	Undiscard(ctx context.Context, u event.Undo) (event.Undone, error)
}

// DeadLetterEditor makes new events from dead letters, and adds dead letters of
// other logs.
type DeadLetterEditor interface {
	// EditDeadLetter makes a new event with another payload for the subscription of a
	// dead letter, and discards the dead letter. If there is no such dead letter it
	// returns a *NotFoundError.
	EditDeadLetter(ctx context.Context, key event.Key, id uuid.UUID, payload []byte) error

	// ImportDeadLetters begins to add dead letters. All of them have one entry in the
	// audit.
	ImportDeadLetters() (Import, error)
}

// Import adds dead letters in steps.
type Import interface {
	// Add adds dead letters in one transaction, before which publishers are let in, but for those whose delivery is open,
	// dead, discarded or handled already. One that cannot be added ends it with an
	// *ImportError, whose Line is its place from 0; those before it are added.
	Add(ctx context.Context, letters []event.DeadLetter) (added, skipped int, err error)
}

// Sweeper changes many deliveries.
type Sweeper interface {
	// Sweep begins a change: it counts how many deliveries match, and changes nothing. For
	// SweepReplay, a subscription that the log does not have is a *NotFoundError.
	Sweep(ctx context.Context, spec SweepSpec) (sweep Sweep, matched int, err error)
}

// SweepKind is what a sweep does. It is the action in the audit.
type SweepKind string

// The kinds of sweeps.
const (
	SweepRetry   SweepKind = "retry"   // dead letters are due now, with a fresh count of attempts; the attempts before stay on record
	SweepDiscard SweepKind = "discard" // dead letters are settled without having been handled
	SweepPurge   SweepKind = "purge"   // dead letters are forgotten, with their attempts
	SweepReplay  SweepKind = "replay"  // events that a subscription has handled are due again
	SweepTryNow  SweepKind = "try now" // deliveries that wait for a retry or the end of a snooze are due now; their count goes on
)

// SweepSpec says which deliveries to change, and how.
type SweepSpec struct {
	Kind         SweepKind
	Filter       Filter
	Subscription string // of SweepReplay
	// From is where SweepReplay begins: with the event itself. uuid.Nil is the oldest
	// event; if the log does not have the event, that is a *NotFoundError.
	From   uuid.UUID
	Reason string // of SweepDiscard
	Again  Again  // of SweepRetry
	Detail string // for the audit
}

// Again says which steps of dead letters are done again. The zero value stands for none.
type Again struct {
	Forget string // the step of this name
	From   string // the step of this name, and all that were stored after it
	Start  bool   // all: the next run begins
}

// Step returns the step that a dead letter must have to be retried; empty if it needs none.
func (a Again) Step() string { return cmp.Or(a.Forget, a.From) }

// InWords says which deliveries are changed, for the audit.
func (s SweepSpec) InWords() string {
	text := s.Filter.String()
	switch {
	case s.From != uuid.Nil:
		text += " from event " + s.From.String()
	case s.Again.Start:
		text += ", from the start"
	case s.Again.From != "":
		text += ", from step " + s.Again.From
	case s.Again.Forget != "":
		text += ", without step " + s.Again.Forget
	}
	return text
}

// Sweep changes deliveries in steps, from the oldest to the newest. Each step is one
// transaction, so that publishers do not wait for long; an engine whose publishers wait for it lets them in before
// the next one. All steps have one entry in
// the audit. Dead letters that die after Sweeper.Sweep are left alone, and so are events
// that are published after it. A replay may find events that were open at that time and
// handled since, so that all steps together change more than matched.
type Sweep interface {
	// Step changes up to limit deliveries, and returns them: none when it is done. With
	// spareCrashes it leaves out dead letters whose last attempt has ended the process. The first
	// step without it begins again from the oldest.
	Step(ctx context.Context, limit int, spareCrashes bool) ([]event.Key, error)
}

// Redelivery is what became of a dead letter that was retried.
type Redelivery int

// What can become of a dead letter that was retried.
const (
	RedeliverySettled Redelivery = iota // handled or discarded
	RedeliveryOpen                      // not yet settled
	RedeliveryDead                      // dead again
)

// Actions returns the actions that an audit can have.
func Actions() []string {
	return []string{"publish", "retry", "edit", "discard", "cancel", "undiscard", "undo", "replay", "try now", "purge", "import", "pause", "resume", "remove", "rename", "redrive", "close breaker", "move", "erase"}
}

// Declared is what programs have declared, as far as a log keeps it.
type Declared struct {
	event.Names
	Schedules []event.Schedule // of the process that has dispatched last, by name
}

// RuleIntegrity is the rule of a [event.Problem] after which nothing else is checked.
const RuleIntegrity = "integrity"

// Statuses returns the statuses of events.
func Statuses() []string {
	return []string{event.StatusPending, event.StatusProcessing, event.StatusDone, event.StatusDLQ}
}

// States returns the states of deliveries.
func States() []string {
	return []string{
		event.StatePending, event.StateRunning, event.StateWaiting, event.StateHeld, event.StateDone, event.StateDead, event.StateDiscarded,
	}
}

// Sight reports whether somebody finds a text in a part of an event, in what he may see of it. The part is one of its
// texts: the payload itself, its metadata, its correlation id, or the error of an attempt.
type Sight func(eventType string, version int, payload, part []byte, text string) bool

// Filter is a filter of an operator who may not see everything. With a Sight, Text and CorrelationID choose an event
// only by what it shows: else the rest could be read by asking for one text after the other.
type Filter struct {
	event.Filter
	Sight Sight // nil for all
}
