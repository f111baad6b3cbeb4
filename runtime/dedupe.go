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

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
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
	if err := b.bus.log.Recognise(ctx, b.records); err != nil {
		return public(err)
	}
	for i := range b.records {
		if r := &b.records[i]; r.Dedupe != nil && !r.Duplicate {
			r.Dedupe.Settled = b.bus.keySettled(b.attempt, r)
		}
	}
	return b.attempt.Stage(ctx, b.records)
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
	var conflict *engine.ConflictError
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
		var conflict *engine.ConflictError
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
