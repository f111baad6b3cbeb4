package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/busgen/busgen/runtime/event"
)

// Eraser takes a person out of a log.
type Eraser interface {
	// Erase takes the person out of events, dead letters, the texts of attempts, and out of
	// all other texts of the log. It works in small transactions: when ctx ends or the process
	// dies, each event is erased with everything that belongs to it, or not at all, and a
	// second call does the rest. All steps have one entry in the audit. With Erasure.DryRun it
	// counts and changes nothing. An engine that cannot do it returns an
	// *UnsupportedError.
	Erase(ctx context.Context, e Erasure) (event.Erased, error)
}

// Erasure says what is about the person, and what stays of it. The functions are called in
// transactions, and more than once for the same event; they must not use the log.
type Erasure struct {
	// Names reports whether an event is about the person.
	Names func(eventType string, version int, payload []byte) bool
	// Redact returns what stays of the payload of such an event.
	Redact func(eventType string, version int, payload []byte) []byte
	// Metadata returns what stays of its metadata; nil for nothing.
	Metadata func(metadata json.RawMessage) json.RawMessage
	// Keyed reports whether another event has one of the values as its partition key, in a type
	// of which nothing else is known that could be about a person.
	Keyed func(eventType string, version int, payload []byte) bool
	// Text returns a text without the person, and whether that is another text.
	Text func(text string) (string, bool)
	// MetadataText is Text for the metadata of another event, which stays JSON.
	MetadataText func(metadata string) (string, bool)
	// Notice is Text for the payload of the dead-letter notice of another event.
	Notice func(payload []byte) (json.RawMessage, bool)
	// Key reports whether an idempotency key of another event, or the key of a limit, names the
	// person.
	Key func(key string) bool
	// Part reports whether a text or key still has a value, as a part of a longer name.
	Part func(text string) bool
	// Mentions reports whether another payload has the person in it.
	Mentions func(eventType string, payload []byte) bool

	Detail string // for the audit; it names nobody
	DryRun bool
	// KeepSpace leaves alone what is left of deleted rows in the space that the file does
	// not use.
	KeepSpace bool
	AllOpen   bool               // Erased.OpenIDs has all open events, and not only some
	Progress  func(event.Erased) // called after each step; it may be nil
}

// CountErased returns the counts of an event type, to be added to.
func CountErased(n *event.Erased, eventType string) *event.ErasedType {
	at, found := slices.BinarySearchFunc(n.Types, eventType, func(t event.ErasedType, name string) int { return strings.Compare(t.Type, name) })
	if !found {
		n.Types = slices.Insert(n.Types, at, event.ErasedType{Type: eventType})
	}
	return &n.Types[at]
}

// ErasedIDs is how many ids Erased has at most, of each kind.
const ErasedIDs = 100

// ReasonErased is the reason of dead letters that were discarded because their event was
// erased, and takes the place of other reasons.
const ReasonErased = "erased"
