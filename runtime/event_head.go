package runtime

import (
	"context"
	"time"
	"unsafe"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// head has the fields of an [Event] without its payload. Each Event begins with them, whatever
// the type of its payload is, so that code which does not know that type can fill them in. The
// compiler makes the code of generic functions again for each type of payload, in each build of
// the generated package: what works with a head is made once.
type head struct {
	ID            uuid.UUID
	Type          string
	Version       int
	Metadata      map[string]string
	CorrelationID string
	ParentID      uuid.UUID
	PublishedBy   string
	Hops          int
	Schedule      string
	ScheduledFor  time.Time
	PublishedAt   time.Time
	Subscription  string
	Attempt       int
	MaxAttempts   int
	Replayed      bool
	attempt       context.Context
}

// headOf returns the fields of an event that do not depend on the type of its payload.
func headOf[T any](e *Event[T]) *head { return (*head)(unsafe.Pointer(e)) }

// newHead makes the head for the event of an attempt.
func newHead(a *dispatch.Attempt, subscription string) head {
	h := head{
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
func typed[T any](h head, payload any) (e Event[T]) {
	*(*head)(unsafe.Pointer(&e)) = h
	e.Payload = *payload.(*T)
	return e
}
