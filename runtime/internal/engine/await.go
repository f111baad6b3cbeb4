package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/uuid"
)

// Awaiter is the part of a [StepKeeper] that keeps the keys of events, which [TypeSpec].AwaitBy names: deliveries can wait
// for them.
//
// A delivery waits like this: its attempt asks First. If that finds nothing, the attempt ends with a [Disposition] that has
// Awaits, and comes again at its Due or once such an event is stored, whichever is earlier. The transaction that writes the
// disposition looks once more, so no event is missed that is stored between the two. When the delivery comes again, its attempt
// asks First again: coming early says nothing.
type Awaiter interface {
	// First returns the first event of the log that is one of these, or nil if there is none yet. Events whose delivery was
	// cancelled do not count, nor do events that operators have edited or imported. A delayed event counts from the moment on
	// at which it is stored. While the keys of stored events are being written, the events behind those do not count yet;
	// deliveries that wait for one of them come again then. The error says which type has no keys.
	//
	// The events at the places but do not count either, nor do those before them with the same type and key: First raises
	// After to the last such place.
	First(ctx context.Context, of []Awaited, but []int64) (*Record, error)

	// Event returns an event that First has found and a step has stored; nil if it is not in the log any more. An event is
	// kept as long as such a step.
	Event(ctx context.Context, seq int64) (*Record, error)
}

// Awaited are the events of a type and a key that are behind a position of the log.
type Awaited struct {
	Type  string
	Key   string // as text; see AwaitKey
	After int64
}

// Await is what one step of a handler waits for: any of these.
type Await struct {
	Member string // of a group; else empty
	Name   string // of the step
	Of     []Awaited
}

// maxAwaitKey is how many bytes a key has at most. Of a longer one a digest is kept.
const maxAwaitKey = 200

// AwaitKey returns what is compared of a text that is a key: UUIDs are equal however they are written.
func AwaitKey(text string) string {
	switch len(text) {
	case 32, 36, 36 + 2, 36 + 9:
		if id, err := uuid.Parse(text); err == nil {
			return id.String()
		}
	}
	if len(text) > maxAwaitKey {
		sum := sha256.Sum256([]byte(text))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return text
}
