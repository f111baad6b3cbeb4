package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// ErasedValue stands in payloads and texts for what [File.Erase] has erased.
const ErasedValue = privacy.Erased

// Erasure says which person [File.Erase] takes out of a file.
type Erasure struct {
	// Values are what names the person: an e-mail address, a customer's number, a name. An
	// event is about the person if a personal field of its payload, or the field by which a type
	// with personal fields is partitioned, is one of them.
	Values []string
	// Field is a path of keys, such as customer.email. With it, events are about the person if
	// this field is one of the values, whatever the catalogue says of it.
	Field string
	// Types are globs over event types. Without any, all events can be about the person. With
	// them, the partition key also counts in types without personal fields. The texts of all
	// events are erased in any case.
	Types []string
	// Whole leaves nothing of the payloads: every field that must be there gets a value that
	// means nothing. Without it only personal fields do.
	Whole bool
	// CancelOpen cancels the open deliveries of events about the person first, as
	// [File.CancelEvent] does. Without it these events are left alone.
	CancelOpen bool
	DryRun     bool // count, and change nothing
	// KeepSpace does not rewrite the file at the end, which takes its size in free space of
	// the disk and makes publishers wait. What was deleted before stays readable in the space
	// that the file does not use, until SQLite needs that space.
	KeepSpace bool
	// Progress is called after every step with the counts so far, on the goroutine that called
	// the method. It may be nil.
	Progress func(event.Erased)
}

// Erase takes a person out of the file. Of each event about the person
//
//   - personal fields of the payload are gone if they are optional, and else have a value of
//     their type that means nothing: [ErasedValue], 0, an empty list. Texts that name the person
//     in other fields are erased as well. Of a type without personal fields all fields are; of
//     one without a schema, {} is left.
//   - metadata is gone, but for what the bus itself writes. A correlation id stays if it is a
//     UUID.
//   - errors, stacks and logs of its attempts are gone, and so are its idempotency key and the
//     reasons of discards.
//   - dead letters are discarded, with the reason "erased". [File.Undiscard] and [File.Import] do
//     not bring them back.
//
// Events that operators have edited into it or made from it, and dead-letter notices, are
// erased with it. In all other texts of the bus, such as errors of other events, metadata,
// reasons and the audit, the values are replaced by [ErasedValue] where they stand as a word
// and have at least three characters. Idempotency keys that name the person are deleted. An
// address within a longer one stays, and in metadata and keys each value within a longer name;
// Erased.Parts counts them. Tables of the program are not touched.
//
// An event of a type without personal fields stays if only its partition key is one of the
// values, unless Types or Field says that it is about the person; Erased.Keyed counts these.
//
// Erase refuses, before it changes anything, an Erasure without values or with an empty one, a
// glob that is not valid, and, without Field, a chosen type whose stored schema it cannot read.
//
// An event with an open delivery is left as it is and counted as open, unless CancelOpen is
// set: a handler that has it would fail, and its error would name the person again. With
// CancelOpen, events whose handlers run at this moment stay open. Erase them with a second
// call, once the handlers are done. Other subscriptions and events do not notice anything.
//
// Erase works in small transactions. When ctx ends or the process dies, each event was erased
// with all that belongs to it, or not at all, and a second call does the rest. The counts are
// right with any error. An error of the last step says that all is erased. In the end it rewrites the file and empties the write-ahead log; until
// that is done, Erased.Clean is false. The audit has one entry, which does not name the person.
//
// The engine on JetStream returns an *[event.UnsupportedError].
func (f *File) Erase(ctx context.Context, e Erasure) (event.Erased, error) {
	spec, err := f.erasure(ctx, e)
	if err != nil {
		return event.Erased{}, fmt.Errorf("erase a person: %w", err)
	}
	if !e.CancelOpen || e.DryRun {
		return f.stored().Erase(ctx, spec)
	}
	spec.KeepSpace, spec.AllOpen = true, true
	all, err := f.stored().Erase(ctx, spec)
	for err == nil && all.Open > 0 {
		cancelled, wrong := f.cancelAll(ctx, all.OpenIDs)
		if wrong != nil || cancelled == 0 {
			err = wrong
			break
		}
		before := all
		var more event.Erased
		more, err = f.stored().Erase(ctx, spec)
		if all = bothErased(all, more); all.Events == before.Events && all.Open == before.Open && slices.Equal(all.OpenIDs, before.OpenIDs) {
			break // a further round would do the same
		}
	}
	if err == nil && !e.KeepSpace {
		spec.KeepSpace = false
		var last event.Erased
		last, err = f.stored().Erase(ctx, spec) // which rewrites the file
		all = bothErased(all, last)
	}
	all.OpenIDs = all.OpenIDs[:min(len(all.OpenIDs), engine.ErasedIDs)]
	return all, err
}

// bothErased returns what two rounds have erased, and what the second one has left.
func bothErased(first, second event.Erased) event.Erased {
	second.Events, second.DeadLetters = first.Events+second.Events, first.DeadLetters+second.DeadLetters
	second.Attempts, second.Texts = first.Attempts+second.Attempts, first.Texts+second.Texts
	for _, t := range first.Types {
		if t.Events > 0 {
			engine.CountErased(&second, t.Type).Events += t.Events
		}
	}
	return second
}

// cancelAll cancels events and returns how many it could cancel.
func (f *File) cancelAll(ctx context.Context, ids []uuid.UUID) (cancelled int, err error) {
	for _, id := range ids {
		_, err := f.stored().Cancel(ctx, engine.Cancellation{Event: id, Reason: engine.ReasonCancelled, Actor: f.actor})
		switch {
		case err == nil, errors.As(err, new(*event.NotOpenError)), errors.As(err, new(*event.NotFoundError)):
			cancelled++
		case errors.As(err, new(*event.BegunError)), errors.As(err, new(*event.UnansweredError)):
		default:
			return cancelled, err
		}
	}
	return cancelled, nil
}
