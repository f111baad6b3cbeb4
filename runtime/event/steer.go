package event

import (
	"github.com/google/uuid"
)

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
	// as bob.ada@example.org. They are another person's, or another name of the person.
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

// Undo chooses discards: those of an event, to one subscription if it is named, or
// those of one action of the audit.
type Undo struct {
	Event        uuid.UUID
	Subscription string
	Action       int64 // [AuditEntry].ID of a discard
}

// Undone counts what inspect.File.Undiscard has changed and left alone.
type Undone struct {
	Dead int `json:"dead"` // are dead letters again
	Due  int `json:"due"`  // are tried again
	// Left were not changed: they were edited into another event, or a handler
	// discarded them at this moment, or they were erased.
	Left int `json:"left"`
}

// Removed counts what inspect.File.RemoveSubscription has forgotten.
type Removed struct {
	Open int `json:"open"` // events it had yet to settle
	Dead int `json:"dead"` // dead letters
}
