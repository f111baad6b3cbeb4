package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/plainjson"
	"github.com/busgen/busgen/runtime/gen/checks"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Publish stores one event and returns when it is on disk. Generated code has
// a typed function for each event type, which calls this one.
//
// When the error is nil, the event survives the death of the process and a power cut.
// Otherwise it is not stored, unless a *[event.StorageError] is InDoubt. The errors are:
//
//   - *[InvalidPayloadError], *[PayloadTooLargeError]: the payload is refused
//   - *[HeaderError]: the metadata lacks a header that is required, or has one of another type ([WithHeader])
//   - *[OptionError]: an option is not valid
//   - *[RefusedError]: a [PublishMiddleware] has refused the event
//   - *[event.ConflictError]: the dedupe key was used for another payload ([WithDedupeKey], or DedupeBy of [Spec])
//   - *[UnknownTypeError]: the catalogue of the bus does not have the type
//   - *[PendingError]: too much is pending ([WithMaxPending])
//   - *[event.StorageError]: the file cannot be written
//   - [ErrShutdown]: the bus is shut down
//   - [ErrAttemptOver], *[HopLimitError]: ctx is the one of a handler
//   - the error of ctx, if it ends before the transaction begins
//
// Once the transaction has begun, ctx no longer matters, because only the commit can
// tell whether the event is stored.
//
// With a [Tx], or with [In], the event becomes part of a transaction: it is stored with the
// rows that the transaction writes, or not at all.
//
// With the ctx of a handler the event becomes part of the handler's success: it
// is stored in the same transaction, and not at all if the handler fails. With
// [Immediately] it is stored at once, whatever becomes of the handler.
func Publish[T Payload](ctx context.Context, to Publisher, t *EventType[T], payload T, opts ...PublishOption) (*Receipt, error) {
	return publishOne(ctx, to, t.of, boxed(t.of, payload), opts)
}

// boxed returns a payload that [eventType.give] takes back.
func boxed[T any](of AnyEventType, payload T) any {
	p := take(of)
	*p.(*T) = payload
	return p
}

// publishOne publishes a payload.
func publishOne(ctx context.Context, to Publisher, of AnyEventType, payload any, opts []PublishOption) (*Receipt, error) {
	receipt, err := storeOne(ctx, to, of.(*eventType), payload, opts)
	return receipt, refused(to, 1, err)
}

// storeOne stores an event, and takes its payload back.
func storeOne(ctx context.Context, to Publisher, t *eventType, payload any, opts []PublishOption) (*Receipt, error) {
	batch, err := newBatchTo(ctx, to, t.spec.Name, t.spec.Version, 1, opts)
	if err != nil {
		return nil, err
	}
	defer batch.free()
	if err := encode(ctx, batch, t, 0, payload); err != nil {
		return nil, batch.over(err)
	}
	t.give(payload)
	if err := batch.append(ctx); err != nil {
		return nil, batch.over(err)
	}
	batch.over(nil)
	receipt := batch.receipt(0)
	return &receipt, nil
}

// PublishBatch stores events in one transaction, in order: all of them or, on
// an error, none. It returns a receipt for each. In all else it is [Publish].
func PublishBatch[T Payload](ctx context.Context, to Publisher, t *EventType[T], payloads []T, opts ...PublishOption) ([]*Receipt, error) {
	return publishAll(ctx, to, t.of, len(payloads), func(i int) any { return &payloads[i] }, opts)
}

// publishAll publishes n payloads, to each of which at returns a pointer.
func publishAll(ctx context.Context, to Publisher, of AnyEventType, n int, at func(i int) any, opts []PublishOption) ([]*Receipt, error) {
	receipts, err := storeAll(ctx, to, of, n, at, opts)
	return receipts, refused(to, n, err)
}

func storeAll(ctx context.Context, to Publisher, of AnyEventType, n int, at func(i int) any, opts []PublishOption) ([]*Receipt, error) {
	t := of.(*eventType)
	if n == 0 {
		bus, _, err := targetOf(to)
		if err == nil {
			err = bus.acceptsFrom(ctx)
		}
		return nil, err
	}
	batch, err := newBatchTo(ctx, to, t.spec.Name, t.spec.Version, n, opts)
	if err != nil {
		return nil, err
	}
	defer batch.free()
	for i := range n {
		if err := encode(ctx, batch, t, i, t.lasting(at(i))); err != nil {
			return nil, batch.over(err)
		}
	}
	if err := batch.append(ctx); err != nil {
		return nil, batch.over(err)
	}
	batch.over(nil)
	all := make([]Receipt, n)
	receipts := make([]*Receipt, n)
	for i := range receipts {
		all[i] = batch.receipt(i)
		receipts[i] = &all[i]
	}
	return receipts, nil
}

// targetOf returns what events are published to.
func targetOf(to Publisher) (*innerBus, within, error) {
	if to != nil {
		if bus, run := to.target(); bus != nil {
			tx, _ := run.(within)
			return bus.(*innerBus), tx, nil
		}
	}
	return nil, nil, fmt.Errorf("publish: there is no bus: %#v is not from Open, Tx or In", to)
}

// batch holds the events of one call.
type batch struct {
	bus     *innerBus
	tx      within // that they are part of; nil for one of their own
	typ     string
	of      *eventType
	records []engine.Record
	attempt *dispatch.Attempt // whose handler publishes; nil outside of handlers
	config  publishConfig
	ended   []publishEnded // what observers have left with the call
}

// staged tells whether the events wait for the success of a handler.
func (b *batch) staged() bool { return b.attempt != nil && !b.config.immediately && b.tx == nil }

// batches are used again: code that keeps records copies them.
var batches = sync.Pool{New: func() any { return new(batch) }}

// free gives the batch back, without what it refers to and unless it is large.
func (b *batch) free() {
	if cap(b.records) > 1024 {
		return
	}
	clear(b.records)
	*b = batch{records: b.records[:0]}
	batches.Put(b)
}

// newBatchTo is newBatch for what the program publishes to.
func newBatchTo(ctx context.Context, to Publisher, eventType string, version, size int, opts []PublishOption) (*batch, error) {
	bus, run, err := targetOf(to)
	if err != nil {
		return nil, err
	}
	return newBatch(ctx, bus, run, eventType, version, size, opts)
}

func newBatch(ctx context.Context, bus *innerBus, tx within, eventType string, version, size int, opts []PublishOption) (*batch, error) {
	t := bus.catalogue.Lookup(eventType)
	if t == nil {
		return nil, &UnknownTypeError{EventType: eventType}
	}
	b := batches.Get().(*batch)
	b.bus, b.tx, b.typ, b.of, b.records = bus, tx, eventType, typeOf(t), slices.Grow(b.records, size)[:size]
	c := &b.config
	for i, opt := range opts {
		if opt == nil {
			c.refuse(nilOption(i))
			break
		}
		opt(c)
	}
	if attempt := bus.attemptOf(ctx); attempt != nil {
		b.attempt = attempt
	}
	if c.problem != nil {
		if bad, ok := errors.AsType[*HeaderError](c.problem); ok {
			return nil, b.of.headerError(bad)
		}
		return nil, c.problem
	}
	given := c.metadata
	b.begin(ctx)
	metadata, err := b.encodeMetadata()
	if err != nil && len(c.metadata) > len(given) { // an observer cannot fail an event
		c.metadata = given
		metadata, err = b.encodeMetadata()
	}
	if err != nil {
		return nil, b.over(err)
	}
	now, express := engine.Now(), expressOf(t, c.own)
	for i := range b.records {
		b.records[i] = engine.Record{ID: engine.NewID(), Type: eventType, Version: version, Metadata: metadata, CreatedAt: now, Express: express}
		addTo(&b.records[i], c, i, size, bus.config.dedupeWindow)
		if b.attempt != nil && c.immediately && c.due.IsZero() {
			b.records[i].Due = now // so that its deliveries can be taken out of turn
		}
	}
	return b, nil
}

// expressOf returns how far an event of a type goes ahead of a backlog. One with a partition key has its place behind the
// others of the key.
func expressOf(t AnyEventType, own queue.Own) engine.Express {
	if typeOf(t).partitioned() {
		return 0
	}
	return own.PriorityOver(queue.Priority(t.Priority())).Express()
}

// attemptOf returns the attempt of this bus whose handler was given ctx, or nil.
func (b *innerBus) attemptOf(ctx context.Context) *dispatch.Attempt {
	if attempt := dispatch.FromContext(ctx); attempt != nil && attempt.Owner() == any(b) {
		return attempt
	}
	return nil
}

// acceptsFrom returns why nothing may be published with ctx, or nil.
func (b *innerBus) acceptsFrom(ctx context.Context) error {
	if attempt := b.attemptOf(ctx); attempt != nil {
		return attempt.Stage(ctx, nil)
	}
	return b.accepts()
}

// encodeMetadata checks the metadata that an event of a type is given, and encodes it. Before
// publish middleware has seen the event, the metadata is not complete.
func encodeMetadata(bus *innerBus, of *eventType, metadata map[string]string, complete bool) ([]byte, error) {
	if err := of.checkHeaders(metadata, complete); err != nil {
		return nil, err
	}
	if len(metadata) == 0 {
		return nil, nil
	}
	var problems checks.Problems
	for key, value := range metadata {
		problems.Key("metadata", key)
		problems.TextEntry("metadata", key, value)
	}
	if err := problems.Err(); err != nil {
		return nil, &InvalidPayloadError{EventType: of.spec.Name, Err: err}
	}
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return nil, &InvalidPayloadError{EventType: of.spec.Name, Err: err}
	}
	if limit := bus.config.metadataLimit; len(encoded) > limit {
		return nil, &PayloadTooLargeError{EventType: of.spec.Name, What: "metadata", Size: len(encoded), Limit: limit}
	}
	return encoded, nil
}

// encode checks a payload and puts it into the batch at i.
func encode(ctx context.Context, b *batch, t *eventType, i int, payload any) error {
	encoded, err := t.validJSON(payload)
	if err != nil {
		return &InvalidPayloadError{EventType: b.typ, Index: i, Err: err}
	}
	if !utf8.Valid(encoded) { // Validate has seen its texts, but not what JSON of others holds
		return &InvalidPayloadError{EventType: b.typ, Index: i, Err: notText(encoded)}
	}
	if limit := b.bus.config.payloadLimit; len(encoded) > limit {
		return &PayloadTooLargeError{EventType: b.typ, What: "payload", Size: len(encoded), Limit: limit}
	}
	b.records[i].Payload = encoded
	if b.bus.storesKeys && t.partitioned() {
		b.records[i].Keyed = true
		// A key that cannot be computed is left to the attempt, which says why.
		b.records[i].Key, _ = t.partitionKey(payload)
	}
	if t.dedupe != nil {
		if err := keyByField(b, t, i, payload); err != nil {
			return err
		}
	}
	if len(b.bus.config.publishing) > 0 {
		return b.pass(ctx, i, t.value(payload))
	}
	return nil
}

// notText says where JSON is not valid UTF-8.
func notText(encoded []byte) error {
	var problems checks.Problems
	for _, p := range plainjson.Check(encoded) {
		if strings.HasSuffix(p.Message, "is not valid UTF-8") {
			problems.Add(p.Path, p.Message)
		}
	}
	return problems.Err()
}

// validJSON returns the JSON of a payload that is valid. A panic in its Validate, or in
// a method that writes its JSON, means that it is not.
func (t *eventType) validJSON(payload any) (encoded []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicError(cause)
		}
	}()
	if err := payload.(Payload).Validate(); err != nil {
		return nil, err
	}
	return t.codec.Encode(payload)
}

// tooLarge returns an error if the events of the batch are too many bytes together for one transaction.
func (b *batch) tooLarge() error {
	size := 0
	for i := range b.records {
		size += len(b.records[i].Payload)
	}
	if size <= engine.MaxBatch {
		return nil
	}
	return &PayloadTooLargeError{EventType: b.records[0].Type, What: "batch", Size: size, Limit: engine.MaxBatch}
}

// append stores the batch, or keeps it for the success of the handler that
// publishes it.
func (b *batch) append(ctx context.Context) error {
	if err := b.tooLarge(); err != nil {
		return err
	}
	if b.staged() {
		return b.stage(ctx)
	}
	if b.tx != nil {
		return b.unlessSame(ctx, func() error { return b.tx.append(ctx, b.attempt, b.records) })
	}
	if err := b.bus.accepts(); err != nil {
		return err
	}
	if b.attempt == nil {
		if err := b.bus.admission.pass(ctx, len(b.records)); err != nil {
			return public(err)
		}
	} else if err := b.attempt.Stage(ctx, nil); err != nil { // the attempt is over
		return err
	}
	if err := b.unlessSame(ctx, func() error { return b.bus.log.Append(ctx, b.records) }); err != nil {
		return public(err)
	}
	b.bus.published(b.records)
	if b.attempt != nil {
		b.bus.storedBy(b.attempt, b.records)
	}
	return nil
}

func (b *batch) receipt(i int) Receipt {
	r := &b.records[i]
	stored := !b.staged() || r.Duplicate && r.Seq > 0
	return Receipt{ID: r.ID, Duplicate: r.Duplicate, bus: b.bus, seq: r.Seq, staged: !stored, tx: b.tx}
}
