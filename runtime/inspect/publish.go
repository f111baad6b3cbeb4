package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// NewEvent is an event that [File.Publish] publishes.
type NewEvent struct {
	Type      string            // what the file calls it, or called it before
	Payload   []byte            // JSON, as the newest version of the type has it
	Metadata  map[string]string // texts beside the payload; nil for none
	DedupeKey string            // 1 to 200 bytes of UTF-8, remembered for 24 hours; empty for none
	Delay     time.Duration     // it is delivered no earlier; 0 for at once
}

// Published is what became of a [NewEvent].
type Published struct {
	ID        uuid.UUID // of the event
	Duplicate bool      // nothing was stored: this event of the type has the key
}

// InvalidEventError says that [File.Publish] has refused an event. None was published.
type InvalidEventError struct {
	Index int // of the event, from 0
	Type  string
	Err   error // of the check that the file was opened with, or what else is wrong
}

// Error says what is wrong with the event.
func (e *InvalidEventError) Error() string {
	return fmt.Sprintf("event %d, of type %s, cannot be published: %v", e.Index+1, e.Type, e.Err)
}

// Unwrap returns the cause.
func (e *InvalidEventError) Unwrap() error { return e.Err }

// maxKey is how many bytes a dedupe key has at most, and keyWindow is for how long it is remembered.
const (
	maxKey    = 200
	keyWindow = 24 * time.Hour
)

// Publish publishes events in their order: all of them or, on an error, none. They are delivered as those of a program
// are. A process that dispatches notices them within 200 ms; while none does, they wait. The audit has one entry for all
// of them.
//
// Each payload must pass the check of [WithEditing]. What only a program can do is not done: middleware, custom
// validation, and dedupe_by of the catalogue. The errors are [ErrEditingDisabled], an *[InvalidEventError] for the first
// event that is not valid, and, within one, an *[event.NotFoundError] for a type that the file does not have and an
// *[event.ConflictError] for a key that stands for another payload.
func (f *File) Publish(ctx context.Context, events []NewEvent) ([]Published, error) {
	if f.check == nil {
		return nil, ErrEditingDisabled
	}
	known, err := f.Names(ctx)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	records, versions := make([]engine.Record, len(events)), map[string]int{}
	for i := range events {
		if err := events[i].known(known.Types); err != nil {
			return nil, &InvalidEventError{i, events[i].Type, err}
		}
		version, asked := versions[events[i].Type]
		if !asked {
			schema, err := f.stored().Schema(ctx, events[i].Type)
			if err != nil {
				return nil, err
			}
			version = max(schema.Version, 1)
			versions[events[i].Type] = version
		}
		if records[i], err = f.record(&events[i], version); err != nil {
			return nil, &InvalidEventError{i, events[i].Type, err}
		}
	}
	if err := f.log.Publish(ctx, records); err != nil {
		if conflict, ok := errors.AsType[*event.ConflictError](err); ok {
			i := slices.IndexFunc(events, func(e NewEvent) bool { return e.DedupeKey == conflict.Key })
			return nil, &InvalidEventError{max(i, 0), events[max(i, 0)].Type, err}
		}
		return nil, err
	}
	all := make([]Published, len(records))
	for i := range records {
		all[i] = Published{records[i].ID, records[i].Duplicate}
	}
	return all, nil
}

// known returns an error unless the type of an event is one of the file, and not the bus's own.
func (e *NewEvent) known(types []string) error {
	types = slices.DeleteFunc(slices.Clone(types), func(name string) bool { return engine.IsOwn(name) })
	if slices.Contains(types, e.Type) {
		return nil
	}
	return &event.NotFoundError{Thing: "event type", Name: e.Type, Known: types}
}

// record checks an event, whose payload has a version, and returns how the log keeps it.
func (f *File) record(e *NewEvent, version int) (r engine.Record, err error) {
	r = engine.Record{ID: engine.NewID(), Type: e.Type, Version: version, CreatedAt: engine.Now()}
	var payload bytes.Buffer
	switch {
	case bytes.Contains(e.Payload, []byte(HiddenValue)):
		return r, errHidden
	case len(e.Payload) > engine.MaxPayload:
		return r, fmt.Errorf("its payload has %d bytes, and may have %d", len(e.Payload), engine.MaxPayload)
	case len(e.DedupeKey) > maxKey || !utf8.ValidString(e.DedupeKey):
		return r, fmt.Errorf("its dedupe key is not a text of 1 to %d bytes", maxKey)
	case e.Delay < 0:
		return r, fmt.Errorf("its delay is %v: it must not be negative", e.Delay)
	}
	if err := f.check(e.Type, version, e.Payload); err != nil {
		return r, err
	}
	if err := json.Compact(&payload, e.Payload); err != nil {
		return r, fmt.Errorf("its payload is not JSON: %w", err)
	}
	r.Payload = payload.Bytes()
	if e.DedupeKey != "" {
		r.Dedupe = &engine.Dedupe{Key: e.DedupeKey, Expires: r.CreatedAt.Add(keyWindow)}
	}
	if e.Delay > 0 {
		r.Due = r.CreatedAt.Add(e.Delay)
	}
	if len(e.Metadata) == 0 {
		return r, nil
	}
	for key, value := range e.Metadata {
		switch {
		case format.OwnHeader(key):
			return r, fmt.Errorf("the key %q of its metadata is written by the bus itself: use another one", key)
		case !utf8.ValidString(key) || !utf8.ValidString(value):
			return r, fmt.Errorf("its metadata is not UTF-8 at the key %q", key)
		}
	}
	r.Metadata, err = json.Marshal(e.Metadata)
	return r, err
}
