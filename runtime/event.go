package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// Event is an event as a handler sees it: its [Head] and its payload. The fields of the head are read like its own,
// as in e.ID and e.Attempt. They are:
//
//	ID, Type, Version                    which event it is
//	Metadata, CorrelationID              what was published with it
//	ParentID, PublishedBy, Hops          the event whose handler has published it
//	Schedule, ScheduledFor               the schedule that has published it
//	PublishedAt                          when it was published
//	Subscription, Attempt, MaxAttempts   who handles it, and how often that was tried
//	Replayed                             whether it had been handled before
//
// A test makes an event as Event[T]{Payload: payload}, and sets the fields that it needs.
type Event[T any] struct {
	Head
	// Payload is the handler's own: no other subscription shares it.
	Payload T
}

// Head is what an [Event] says beside its payload.
type Head struct {
	ID   uuid.UUID // UUIDv7
	Type string    // the wire name: order.placed
	// Version is that of the payload when it was published. Payload is of the newest
	// version, except for subscriptions by pattern, whose payload is what is stored.
	Version  int
	Metadata map[string]string // as published with [WithMetadata], and what was inherited; nil without
	// CorrelationID is that of [WithCorrelationID]; empty without. Of an event that a
	// handler has published it is that of the parent or, if that has none, the parent's
	// id: so all descendants of an event have one.
	CorrelationID string
	// ParentID is the event whose handler has published this one with its context, and
	// PublishedBy the subscription of that handler, in a group the member. Of a
	// dead-letter notice they are the dead delivery. Hops counts the events up to the
	// root. All are zero for an event that no handler has published. Metadata does not
	// have them, so that it can be passed on.
	ParentID    uuid.UUID
	PublishedBy string
	Hops        int
	// Schedule is the schedule of the catalogue by which the bus has published the event,
	// and ScheduledFor the time of the schedule that it is for (UTC): it may have been
	// missed, and is then long ago. Both are zero for other events. Metadata does not
	// have them.
	Schedule     string
	ScheduledFor time.Time
	PublishedAt  time.Time // UTC, in whole microseconds; order is that of the log, not of this

	Subscription string
	// Attempt is 1 the first time. It counts the executions that may have happened,
	// also those that do not count against the policy's max_attempts: snoozed or
	// interrupted ones, those that ended with the process while others ran too, those
	// before a dead letter was retried, and one that a crash interrupted after its
	// success and before the record of it.
	Attempt int
	// MaxAttempts is the last Attempt before the event is dead-lettered: that of the
	// retry policy, and executions that do not count. After a failure with a policy
	// of its own ([WithErrorRetry], an error class) it is of that policy.
	MaxAttempts int
	// Replayed says that the subscription had handled the event before and somebody has
	// replayed it: [Bus.Replay], "busgen events replay" and others. It stays
	// true until the event is settled again, through retries, and when a dead letter is
	// retried.
	Replayed bool

	// A *dispatch.Handed, or nil for an event that no handler was given. Its type is not named here: all that it leads to
	// would be compiled with each package of generated code.
	attempt context.Context
}

// Logger returns the logger of the attempt that e was handed to. What is logged with it goes to the logger of
// the bus ([WithLogger]), with the attributes event_id, event_type, subscription_id, attempt
// and, in a group, group.
//
// If the attempt fails, the last lines are kept with it, and "busgen dlq show" and package
// inspect show them: at most 16 KiB, and 4 KiB of one line. Records of level Debug and above
// are kept, also those that the logger of the bus drops, so Enabled is true for them. What is
// logged after the attempt is over is not kept, and what a crash interrupts is lost.
//
// The logger is made at the first call, and safe for concurrent use. An event that does not
// come from a bus has [slog.Default].
//
// It is no method of the event: generated code would have to have it for each payload.
func Logger[T any](e Event[T]) *slog.Logger { return loggerOf(e.attempt) }

func loggerOf(of context.Context) *slog.Logger {
	if of == nil {
		return slog.Default()
	}
	return of.(*dispatch.Handed).Attempt().Logger()
}

// Handler handles one event. Nil means handled: this subscription will not see
// the event again. An error, a panic, or outliving ctx means failed: the event
// is tried again by its retry policy and then dead-lettered.
//
// ctx ends at the deadline of the attempt, and when a shutdown stops waiting.
// A handler that ignores it is left behind a second after its deadline; what it
// returns later is ignored. Events that are published with ctx become visible
// when the handler succeeds, in the same transaction, and not at all when it
// fails.
type Handler[T any] func(ctx context.Context, e Event[T]) error

// Raw is the payload of subscriptions by pattern: the JSON as it is stored.
type Raw = json.RawMessage

// eventOf makes the event of an attempt, with a value as its payload.
func eventOf(a *dispatch.Attempt, subscription string, payload any) Event[any] {
	return Event[any]{newHead(a, subscription), payload}
}

// newHead makes the head for the event of an attempt.
func newHead(a *dispatch.Attempt, subscription string) Head {
	h := Head{
		ID: a.ID, Type: a.Type, Version: a.Version, PublishedAt: a.CreatedAt,
		Subscription: subscription, Attempt: a.Number, MaxAttempts: a.Max(), Replayed: a.Replayed,
		attempt: a.Handed(),
	}
	setLineage(&h, a.Metadata)
	return h
}

// typed returns the event with a head, whose payload is what payload, a *T, points to. It is not
// inlined, so that all kinds of handlers of one type of payload share it.
//
//go:noinline
func typed[T any](h Head, payload any) Event[T] { return Event[T]{h, *payload.(*T)} }

func metadataOf(stored []byte) map[string]string {
	if len(stored) == 0 {
		return nil
	}
	var metadata map[string]string
	json.Unmarshal(stored, &metadata) // written by Publish
	return metadata
}
