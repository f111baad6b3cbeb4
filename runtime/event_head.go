package runtime

import (
	"unsafe"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/inside"
)

// head has the fields of an [Event] without its payload; what is attempt there is Handed in it.
type head = inside.Head

// headOf returns the fields of an event that do not depend on the type of its payload.
func headOf[T any](e *Event[T]) *head { return (*head)(unsafe.Pointer(e)) }

// newHead makes the head for the event of an attempt.
func newHead(a *dispatch.Attempt, subscription string) head {
	h := head{
		ID: a.ID, Type: a.Type, Version: a.Version, PublishedAt: a.CreatedAt,
		Subscription: subscription, Attempt: a.Number, MaxAttempts: a.Max(), Replayed: a.Replayed,
		Handed: a.Handed(),
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
