package runtimetest

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// Published returns the events with payloads of type T that are stored by now,
// in the order of the log: those of the test, of the program, and of handlers
// that have succeeded; also those of a bus before a crash. Their Subscription and
// Attempt are not set.
func Published[T runtime.Payload](k *Kit) []runtime.Event[T] {
	k.t.Helper()
	events := []runtime.Event[T]{}
	for _, e := range k.stored(typeOf[T](k)) {
		payload, err := decode[T](k, e.Type, e.Version, e.Payload)
		k.must("Published", err)
		head := runtime.Head{
			ID: e.ID, Type: e.Type, Version: e.Version, Metadata: metadataOf(e.Metadata),
			CorrelationID: e.CorrelationID, ParentID: e.ParentID, PublishedBy: e.PublishedBy, Hops: e.Hops, PublishedAt: e.PublishedAt,
		}
		events = append(events, runtime.Event[T]{Head: head, Payload: payload})
	}
	return events
}

// DeadLetters returns the dead letters of events with payloads of type T, in
// the order in which they died.
func DeadLetters[T runtime.Payload](k *Kit) []runtime.DeadLetter[T] {
	k.t.Helper()
	letters := []runtime.DeadLetter[T]{}
	for _, l := range k.letters(event.Filter{Types: []string{typeOf[T](k)}}) {
		letter := runtime.DeadLetter[T]{
			Raw: l.Payload, Reason: l.Reason, LastError: l.LastAttempt().Error, DeadAt: l.DeadAt,
		}
		letter.Event.Head = runtime.Head{
			ID: l.EventID, Type: l.Type, Version: l.Version, PublishedAt: l.PublishedAt, Metadata: metadataOf(l.Metadata),
			Subscription: l.Subscription, Attempt: l.Failures, MaxAttempts: l.Failures,
		}
		lineage := engine.LineageOf(l.Metadata)
		letter.Event.CorrelationID, letter.Event.ParentID = lineage.CorrelationID, lineage.ParentID
		letter.Event.PublishedBy, letter.Event.Hops = lineage.PublishedBy, lineage.Hops
		if n := len(l.Attempts); n > 0 {
			letter.Kind = l.Attempts[n-1].Kind
		}
		letter.Event.Payload, letter.Undecodable = decode[T](k, l.Type, l.Version, l.Payload)
		letters = append(letters, letter)
	}
	return letters
}

// AllDeadLetters returns the dead letters of all events with everything that is
// known about them, in the order in which they died.
func (k *Kit) AllDeadLetters() []event.DeadLetter {
	k.t.Helper()
	return k.letters(event.Filter{})
}

// typeOf returns the name of the event type with such payloads.
func typeOf[T runtime.Payload](k *Kit) string {
	k.t.Helper()
	for _, t := range k.catalogue.Types() {
		if testhook.PayloadType(t) == reflect.TypeFor[T]() {
			return t.Name()
		}
	}
	k.t.Fatalf("runtimetest: no event of the catalogue has a %T for its payload", *new(T))
	return ""
}

func decode[T runtime.Payload](k *Kit, eventType string, version int, payload []byte) (T, error) {
	value, err := testhook.Decode(k.catalogue, eventType, version, payload)
	typed, _ := value.(T)
	return typed, err
}

func metadataOf(stored json.RawMessage) (metadata map[string]string) {
	if len(stored) > 0 {
		json.Unmarshal(stored, &metadata) // written by the bus
	}
	for _, key := range engine.OwnKeys() { // as handlers see them
		delete(metadata, key)
	}
	return metadata
}

// pageSize is how many rows are read at once.
const pageSize = 1000

// stored returns the events of a type, oldest first.
func (k *Kit) stored(eventType string) (events []event.Event) {
	k.t.Helper()
	file, err := inspect.Open(context.Background(), k.path)
	k.must("read the events", err)
	defer file.Close()
	page := event.Page{Limit: pageSize}
	for {
		found, next, err := file.Events(context.Background(), event.Filter{Types: []string{eventType}}, page)
		k.must("read the events", err)
		events = append(events, found...)
		if page.After = next; next == "" {
			break
		}
	}
	slices.Reverse(events)
	return events
}

// letters returns dead letters, the oldest death first.
func (k *Kit) letters(filter event.Filter) (letters []event.DeadLetter) {
	k.t.Helper()
	file, err := inspect.Open(context.Background(), k.path)
	k.must("read the dead letters", err)
	defer file.Close()
	page := event.Page{Limit: pageSize}
	for {
		found, next, err := file.DeadLetters(context.Background(), filter, page)
		k.must("read the dead letters", err)
		letters = append(letters, found...)
		if page.After = next; next == "" {
			break
		}
	}
	slices.Reverse(letters)
	return letters
}
