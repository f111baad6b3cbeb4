package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Eraser takes a person out of a log.
type Eraser interface {
	// Erase takes the person out of events, dead letters, the texts of attempts, and out of
	// all other texts of the log. It works in small transactions: when ctx ends or the process
	// dies, each event is erased with everything that belongs to it, or not at all, and a
	// second call does the rest. All steps have one entry in the audit. With Erasure.DryRun it
	// counts and changes nothing. An engine that cannot do it returns an
	// *UnsupportedError.
	Erase(ctx context.Context, e Erasure) (Erased, error)
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
	AllOpen   bool         // Erased.OpenIDs has all open events, and not only some
	Progress  func(Erased) // called after each step; it may be nil
}

// Erased counts what an erasure has found and done. With DryRun nothing is done, and the
// counts are those of what would be.
type Erased struct {
	Events      int `json:"events"`       // were about the person and are erased
	DeadLetters int `json:"dead_letters"` // of these events, now discarded
	Attempts    int `json:"attempts"`     // of these events, whose errors, stacks and logs are erased
	Texts       int `json:"texts"`        // other texts and keys that had the person in them
	// Open are events about the person with deliveries that are not settled. They are as
	// they were.
	Open int `json:"open"`
	// Mentions are other events whose payload has the person in it, as a word, in a field that
	// is not known to be personal. They are as they were.
	Mentions int `json:"mentions"`
	// Keyed are events of types without personal fields that have one of the values as their
	// partition key: the same number may be a customer's here and an order's there. They are as
	// they were, unless Erasure.Types or Erasure.Field is set.
	Keyed int `json:"keyed"`
	// Parts are texts and keys that still have a value as a part of a longer name or address, such
	// as bob.ada@example.org. They are somebody else's, or another name of the person.
	Parts int `json:"parts"`
	// Clean says that nothing of what was erased is left in the space that the file does not
	// use, nor in the write-ahead log.
	Clean bool `json:"clean"`

	Types      []ErasedType `json:"types,omitempty"`       // counts by event type, by name
	OpenIDs    []uuid.UUID  `json:"open_ids,omitempty"`    // of some of the open events
	MentionIDs []uuid.UUID  `json:"mention_ids,omitempty"` // of some of the mentions
}

// ErasedType has the counts of one event type.
type ErasedType struct {
	Type     string `json:"type"`
	Events   int    `json:"events"`
	Open     int    `json:"open"`
	Mentions int    `json:"mentions"`
	Keyed    int    `json:"keyed"`
}

// CountErased returns the counts of an event type, to be added to.
func CountErased(n *Erased, eventType string) *ErasedType {
	at, found := slices.BinarySearchFunc(n.Types, eventType, func(t ErasedType, name string) int { return strings.Compare(t.Type, name) })
	if !found {
		n.Types = slices.Insert(n.Types, at, ErasedType{Type: eventType})
	}
	return &n.Types[at]
}

// ErasedIDs is how many ids Erased has at most, of each kind.
const ErasedIDs = 100

// ReasonErased is the reason of dead letters that were discarded because their event was
// erased, and takes the place of other reasons.
const ReasonErased = "erased"

// UnsupportedError says that an engine cannot do something that others can. It matches
// [errors.ErrUnsupported].
type UnsupportedError struct {
	Engine string // in words: the engine on JetStream
	What   string // erase a person
	Hint   string // what to do instead
}

// Error says so.
func (e *UnsupportedError) Error() string {
	text := e.Engine + " cannot " + e.What
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Is reports that the error is [errors.ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
