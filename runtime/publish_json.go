package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// JSONEvent is an event of any type with the JSON of its payload, as it comes from outside of
// the program.
type JSONEvent struct {
	Type string // the wire name, also one that the type had before
	// Version is that of the payload; 0 for the newest. A payload of an older version is
	// converted by the upcasts of the type, and stored as one of the newest.
	Version   int
	Payload   []byte
	Metadata  map[string]string // as with [WithMetadata]
	DedupeKey string            // as with [WithDedupeKey]; without one, DedupeBy of [Spec] holds
	// DedupeScope makes DedupeKey a key of events of all types: within a scope a key stands for one event,
	// whatever its type. It is the same event if Type and Payload are the same as they are here, but for
	// spaces and the order of keys. So it does not matter if the type has got another name or version
	// since. It is for events of others, who number them: 1 to 100 bytes of UTF-8, or empty for none.
	DedupeScope string
}

// PublishJSON stores events of any types in one transaction, in order: all of them or, on an
// error, none. It returns a receipt for each. Each event has metadata and a dedupe key of its
// own. In all else it is [PublishBatch].
//
// Each payload is checked as [Catalogue.Check] does, which is stricter than the bus: it has
// every required field and no unknown one. It is stored in the form in which the program itself
// would have published it. So the same event is a duplicate, and no conflict, if its JSON has
// only other spaces or another order of keys.
//
// An error about one of the events is an *[ItemError] with its index, and wraps what
// [Publish] would have returned.
func PublishJSON(ctx context.Context, to Publisher, events []JSONEvent) ([]*Receipt, error) {
	receipts, err := storeJSON(ctx, to, events)
	return receipts, refused(to, len(events), err)
}

func storeJSON(ctx context.Context, to Publisher, events []JSONEvent) ([]*Receipt, error) {
	bus, run, err := targetOf(to)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, bus.acceptsFrom(ctx)
	}
	all := batch{bus: bus, tx: run, attempt: bus.attemptOf(ctx), records: make([]engine.Record, 0, len(events))}
	ones := make([]*batch, 0, len(events)) // which the observers see one by one
	defer func() {
		for _, one := range ones {
			one.free()
		}
	}()
	over := func(err error) error {
		for i, one := range ones {
			if err == nil {
				one.records[0] = all.records[i]
			}
			one.over(err)
		}
		return err
	}
	for i := range events {
		one, err := events[i].encode(ctx, bus, run)
		if err != nil {
			return nil, over(&ItemError{Index: i, Of: len(events), Err: err})
		}
		ones, all.records = append(ones, one), append(all.records, one.records[0])
	}
	if err := all.append(ctx); err != nil {
		return nil, over(all.itemError(err))
	}
	over(nil)
	receipts := make([]*Receipt, len(events))
	for i := range receipts {
		receipt := all.receipt(i)
		receipts[i] = &receipt
	}
	return receipts, nil
}

// encode returns a batch of the event alone.
func (e *JSONEvent) encode(ctx context.Context, bus *innerBus, run within) (*batch, error) {
	t := bus.catalogue.Lookup(e.Type)
	if t == nil {
		return nil, &UnknownTypeError{EventType: e.Type}
	}
	if limit := bus.config.payloadLimit; len(e.Payload) > limit {
		return nil, &PayloadTooLargeError{EventType: t.Name(), What: "payload", Size: len(e.Payload), Limit: limit}
	}
	version := e.Version
	if version == 0 {
		version = t.Version()
	}
	value, err := checked(t, version, e.Payload)
	if err != nil {
		return nil, &InvalidPayloadError{EventType: t.Name(), Err: err}
	}
	var opts []PublishOption
	if len(e.Metadata) > 0 {
		opts = append(opts, WithMetadata(e.Metadata))
	}
	if e.DedupeKey != "" {
		opts = append(opts, WithDedupeKey(e.DedupeKey))
	}
	if len(e.DedupeScope) > scopeLimit || !utf8.ValidString(e.DedupeScope) || e.DedupeScope != "" && e.DedupeKey == "" {
		return nil, &OptionError{"DedupeScope", fmt.Sprintf("the scope %.40q is not 1 to %d bytes of UTF-8 with a DedupeKey", e.DedupeScope, scopeLimit)}
	}
	one, err := newBatch(ctx, bus, run, t.Name(), t.Version(), 1, opts)
	if err != nil {
		return nil, err
	}
	if d := one.records[0].Dedupe; d != nil && e.DedupeScope != "" {
		d.Scope, d.Digest = e.DedupeScope, e.digest()
	}
	if err := typeOf(t).encodeAny(ctx, one, value); err != nil {
		defer one.free()
		return nil, one.over(err)
	}
	return one, nil
}

// scopeLimit is how many bytes a scope has at most.
const scopeLimit = 100

// digest stands for the type and the payload of an event as they were given. The payload is valid.
func (e *JSONEvent) digest() [sha256.Size]byte {
	var value any
	d := json.NewDecoder(bytes.NewReader(e.Payload))
	d.UseNumber()
	d.Decode(&value)
	plain, _ := json.Marshal(value) // sorts the keys
	return sha256.Sum256(append([]byte(e.Type+"\x00"), plain...))
}

// encodeAny is [encode] for the only event of a batch.
func (t *eventType) encodeAny(ctx context.Context, b *batch, payload any) error {
	return encode(ctx, b, t, 0, payload)
}

// itemError names the event that an error of the log is about, if it is about one.
func (b *batch) itemError(err error) error {
	var conflict *event.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	i := slices.IndexFunc(b.records, func(r engine.Record) bool {
		// The first event of the key may be one of these, too.
		return r.Type == conflict.EventType && r.Dedupe != nil && r.Dedupe.Key == conflict.Key && r.ID != conflict.First
	})
	if i < 0 {
		return err
	}
	return &ItemError{Index: i, Of: len(b.records), Err: err}
}

// ItemError says which of several events was refused, and why. Nothing was stored.
type ItemError struct {
	Index int // from 0
	Of    int // how many events there were
	Err   error
}

// Error names the event by its index, if there are several.
func (e *ItemError) Error() string {
	if e.Of == 1 {
		return e.Err.Error()
	}
	return fmt.Sprintf("event %d of %d: %v", e.Index, e.Of, e.Err)
}

// Unwrap returns the cause.
func (e *ItemError) Unwrap() error { return e.Err }
