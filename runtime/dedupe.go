package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/gen/deep"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// A dedupe key comes from the publisher (WithDedupeKey) or from the payload (Spec.DedupeBy). The
// engines look it up and store it with the event. What this file adds is for handlers, whose
// events are stored later than they are published.

// dedupeKey returns the key that the event type gives a payload, or "" for none. The error
// wraps a *[PanicError] if DedupeBy panics.
func (t *eventType) dedupeKey(payload any) (key string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the dedupe key of this %s event cannot be computed: %w", t.spec.Name, newPanicError(cause))
		}
	}()
	key = t.dedupe(payload)
	switch {
	case key == noUUID:
		return "", nil
	case len(key) > keyLimit || !utf8.ValidString(key):
		sum := sha256.Sum256([]byte(key))
		return "sha256:" + hex.EncodeToString(sum[:]), nil
	}
	return key, nil
}

// noUUID is the value of a field of type uuid that nobody has set.
var noUUID = uuid.Nil.String()

// keyLimit is how many bytes a dedupe key has at most.
const keyLimit = 200

// keyByField gives the i-th event of the batch the key of its type, unless the caller has
// given one.
func keyByField(b *batch, t *eventType, i int, payload any) error {
	if b.config.dedupeKey != "" || b.config.unkeyed {
		return nil
	}
	key, err := t.dedupeKey(payload)
	if err != nil {
		return &InvalidPayloadError{EventType: b.typ, Index: i, Err: err}
	}
	if r := &b.records[i]; key != "" {
		r.Dedupe = &engine.Dedupe{Key: key, Expires: r.CreatedAt.Add(b.bus.config.dedupeWindow)}
	}
	return nil
}

// stage keeps the batch for the success of the handler that publishes it.
func (b *batch) stage(ctx context.Context) error {
	keyed := false
	for i := range b.records {
		keyed = keyed || b.records[i].Dedupe != nil
	}
	if !keyed {
		return b.attempt.Stage(ctx, b.records)
	}
	if err := b.attempt.Stage(ctx, nil); err != nil { // before the file is read
		return err
	}
	if err := b.unlessSame(ctx, func() error { return b.bus.log.Recognise(ctx, b.records) }); err != nil {
		return public(err)
	}
	for i := range b.records {
		if r := &b.records[i]; r.Dedupe != nil && !r.Duplicate {
			r.Dedupe.Settled = b.bus.keySettled(b.attempt, r)
		}
	}
	return b.attempt.Stage(ctx, b.records)
}

// unlessSame stores the batch, or looks its keys up. The log compares JSON; an event that is refused for other JSON may
// still be the same to its type, such as one with a set, which writes itself in another order each time. Its code is the
// program's, and not for the transaction of a log: so it is called here, and the batch comes again.
func (b *batch) unlessSame(ctx context.Context, store func() error) error {
	for {
		err := store()
		conflict, ok := errors.AsType[*event.ConflictError](err)
		if !ok || !b.sameAsFirst(ctx, conflict) {
			return err
		}
	}
}

// sameAsFirst tells whether an event that was refused is the same as the one with its key, and notes that.
func (b *batch) sameAsFirst(ctx context.Context, conflict *event.ConflictError) bool {
	i := slices.IndexFunc(b.records, func(r engine.Record) bool {
		d := r.Dedupe
		return r.Type == conflict.EventType && d != nil && d.Scope == "" && d.Key == conflict.Key && d.Same != conflict.First && r.ID != conflict.First
	})
	if i < 0 {
		return false
	}
	r := &b.records[i]
	first, err := b.event(ctx, conflict.First)
	if err != nil || first.Version != max(r.Version, 1) {
		return false
	}
	t := typeOf(b.bus.catalogue.Lookup(r.Type))
	same, _ := guard.Apart(func() (same bool) {
		defer func() { recover() }() // what cannot be compared is not the same
		own, err := t.decode(r)
		if err != nil {
			return false
		}
		stored, err := t.decode(first)
		return err == nil && deep.Equal(own, stored)
	})
	if same {
		r.Dedupe.Same = conflict.First
	}
	return same
}

// event returns one of the batch, or one that is stored.
func (b *batch) event(ctx context.Context, id uuid.UUID) (*engine.Record, error) {
	for i := range b.records {
		if b.records[i].ID == id {
			return &b.records[i], nil
		}
	}
	history, err := b.bus.history(ctx)
	if err != nil {
		return nil, err
	}
	found, err := history.Event(ctx, id)
	return &engine.Record{ID: found.ID, Version: found.Version, Payload: found.Payload}, err
}

// keySettled returns what is called when an event that a handler has published with a key is
// stored, or dropped for another one. It counts the event, which nobody could before.
func (b *innerBus) keySettled(a *dispatch.Attempt, r *engine.Record) func(first uuid.UUID, err error) {
	counts, id, parent, publisher := b.counters.of(r.Type), r.ID, a.ID, a.HandlerName()
	return func(first uuid.UUID, err error) {
		switch {
		case err != nil:
			b.keyConflict(id, parent, publisher, err)
		case first == id:
			counts.published.Add(1)
		default:
			counts.duplicates.Add(1)
		}
	}
}

// keyConflict logs that an event of a handler was dropped for another one with its key.
func (b *innerBus) keyConflict(id, parent uuid.UUID, publisher string, err error) {
	var conflict *event.ConflictError
	if !errors.As(err, &conflict) {
		return
	}
	b.config.logger.Error("an event that a handler has published is not stored: another one with its dedupe key and another payload was stored before the handler succeeded",
		"event_id", id, "event_type", conflict.EventType, "dedupe_key", conflict.Key, "first_event_id", conflict.First,
		"parent_id", parent, "published_by", publisher)
}

// appendStaged stores what the handler of an attempt has published, in a transaction of its
// own. Events whose key was used for another payload meanwhile are dropped. It returns those
// that are stored, and duplicates.
func (b *innerBus) appendStaged(a *dispatch.Attempt, staged []engine.Record) ([]engine.Record, error) {
	for {
		records := slices.Clone(staged)
		err := b.log.Append(a, records)
		var conflict *event.ConflictError
		if !errors.As(err, &conflict) {
			return records, err
		}
		dropped := slices.IndexFunc(staged, func(r engine.Record) bool {
			return r.Type == conflict.EventType && r.Dedupe != nil && r.Dedupe.Key == conflict.Key
		})
		if dropped < 0 {
			return nil, err
		}
		b.keyConflict(staged[dropped].ID, a.ID, a.HandlerName(), err)
		staged = slices.Delete(staged, dropped, dropped+1)
	}
}
