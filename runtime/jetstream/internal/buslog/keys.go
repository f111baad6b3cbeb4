package buslog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// An atomic batch costs a server that has no others several syncs of its disk, whatever is in it. So the next
// batch stores together what several callers append with idempotency keys meanwhile.

// joined has what waits for the next batch.
type joined struct {
	mu      sync.Mutex
	storing bool // a goroutine is at it, and comes to what waits
	waiting []*joining
}

// joining is what one caller appends.
type joining struct {
	msgs  []*stream.Msg
	first int64 // the sequence number of the first message
	err   error
	done  chan struct{} // closed when the others are known
}

// store appends messages together with those of others. The context ends the waiting until they are sent.
func (j *joined) store(ctx context.Context, p *publisher, msgs []*stream.Msg) (first int64, err error) {
	mine := &joining{msgs: msgs, done: make(chan struct{})}
	j.mu.Lock()
	j.waiting = append(j.waiting, mine)
	if !j.storing {
		j.storing = true
		go j.run(p)
	}
	j.mu.Unlock()
	select {
	case <-mine.done:
		return mine.first, mine.err
	case <-ctx.Done():
	}
	j.mu.Lock()
	before := len(j.waiting)
	j.waiting = slices.DeleteFunc(j.waiting, func(one *joining) bool { return one == mine })
	withdrawn := len(j.waiting) < before
	j.mu.Unlock()
	if withdrawn {
		return 0, ctx.Err()
	}
	<-mine.done
	return mine.first, mine.err
}

// run stores what waits, until nothing does.
func (j *joined) run(p *publisher) {
	for all := j.next(); len(all) > 0; all = j.next() {
		// If a key was used meanwhile all look their keys up again. An event may be stored, but which is unknown.
		if err := storeTogether(p, all); len(all) > 1 && errors.Is(err, stream.ErrStored) {
			for i := range all {
				storeTogether(p, all[i:i+1])
			}
		}
		for _, one := range all {
			close(one.done)
		}
	}
}

// next takes what fits into one batch. No key comes twice in it: the servers would refuse all.
func (j *joined) next() (all []*joining) {
	j.mu.Lock()
	defer j.mu.Unlock()
	keys, messages, bytes := map[string]bool{}, 0, 0
	left := j.waiting[:0:0]
	for _, one := range j.waiting {
		size, twice := 0, false
		for _, m := range one.msgs {
			size += len(m.Data) + overhead
			twice = twice || m.Expect != nil && keys[m.Subject]
		}
		if full := messages+len(one.msgs) > batchRoom || bytes+size > batchBytes; len(all) > 0 && (full || twice || len(left) > 0) {
			left = append(left, one)
			continue
		}
		for _, m := range one.msgs {
			if m.Expect != nil {
				keys[m.Subject] = true
			}
		}
		all, messages, bytes = append(all, one), messages+len(one.msgs), bytes+size
	}
	j.waiting, j.storing = left, len(all) > 0
	return all
}

// storeTogether stores what several callers append.
func storeTogether(p *publisher, all []*joining) error {
	var msgs []*stream.Msg
	for _, one := range all {
		msgs = append(msgs, one.msgs...)
	}
	until, before := time.Now().Add(patience-lookTimeout), p.known()
	t := p.try(tryTime, msgs)
	first, err := t.first, t.err
	if len(all) == 1 || !errors.Is(err, stream.ErrStored) {
		first, err = p.storeOn(msgs, until, before, t)
	}
	for _, one := range all {
		one.first, one.err = first, err
		first += int64(len(one.msgs))
	}
	return err
}

// Recognise implements [engine.Appender].
func (p *publisher) Recognise(ctx context.Context, records []engine.Record) error {
	if p.isClosed() {
		return p.ended()
	}
	for i := range records {
		if err := p.recognise(ctx, &records[i]); err != nil {
			return err
		}
	}
	return nil
}

// recognise makes a record a duplicate if its idempotency key is remembered.
func (p *publisher) recognise(ctx context.Context, r *engine.Record) error {
	if r.Dedupe == nil || r.Duplicate {
		return nil
	}
	p.mu.Lock()
	names := p.registry.namesOf(r.KeyType())
	p.mu.Unlock()
	for _, name := range names {
		known, seq, err := p.lookUp(ctx, name, r.Dedupe.Key)
		if err != nil {
			return p.storage("append", err)
		}
		if known.ID == uuid.Nil {
			continue
		}
		if known.Version == r.KeyVersion() { // payloads of different versions cannot be compared
			same, err := r.SameAs(known.ID, known.Digest, func() ([]byte, error) { return p.payloadOf(ctx, known.ID, seq) })
			if err != nil {
				return p.storage("append", err)
			}
			if !same {
				return &event.ConflictError{EventType: r.Type, Key: r.Dedupe.Key, First: known.ID}
			}
		}
		r.ID, r.Seq, r.Duplicate = known.ID, seq, true
	}
	return nil
}

// lookUp returns what is known of an idempotency key, and the sequence number of the event;
// zero if nothing is. Expired keys are deleted.
func (p *publisher) lookUp(ctx context.Context, eventType, name string) (key, int64, error) {
	m, err := p.stream.LastOf(ctx, p.keySubject(eventType, name))
	if errors.Is(err, stream.ErrNotFound) {
		return key{}, 0, nil
	}
	if err != nil {
		return key{}, 0, err
	}
	var known key
	if err := json.Unmarshal(m.Data, &known); err != nil {
		return key{}, 0, err
	}
	seq := m.Seq + 1
	if known.Seq != 0 {
		seq = known.Seq
	}
	over := !known.Expires.After(time.Now())
	if !over {
		over, err = p.freed(ctx, seq)
	}
	if err != nil {
		return key{}, 0, err
	}
	if over {
		return key{}, 0, p.stream.Delete(ctx, m.Seq)
	}
	return known, seq, nil
}

// freed reports whether an event does not have its idempotency key any more: no handler is called for a delivery of it
// that was cancelled, or a dead letter of it was discarded or edited.
func (p *publisher) freed(ctx context.Context, seq int64) (bool, error) {
	if err := p.sync(ctx); err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	one, err := p.event(ctx, seq)
	if err != nil && !errors.Is(err, stream.ErrNotFound) {
		return false, err
	}
	for _, s := range p.inOrder() {
		switch r := s.rows[seq]; {
		case r != nil && r.State == ledger.Discarded:
			if r.Reason == engine.ReasonCancelled {
				return true, nil
			}
			whole, err := p.wholeRow(s, seq)
			if err != nil {
				return false, err
			}
			if whole != nil && whole.Was != nil {
				return true, nil
			}
		case r != nil && r.State.Open() || r == nil && one != nil && s.pending(one):
			if s.neverBegins(one, r) || s.endsCancelled(seq) {
				return true, nil
			}
		}
	}
	return false, nil
}

// payloadOf returns the payload of the event at seq, or nil if that was pruned.
func (p *publisher) payloadOf(ctx context.Context, id uuid.UUID, seq int64) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, err := p.event(ctx, seq)
	switch {
	case errors.Is(err, stream.ErrNotFound) || err == nil && one.ID != id:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return one.Payload, nil
}

// keySubject returns the subject of an idempotency key.
func (c *conn) keySubject(eventType, name string) string {
	sum := sha256.Sum256([]byte(eventType + "\x00" + name))
	return c.subject(keyToken, hex.EncodeToString(sum[:16]))
}

// keyMsg returns the message that keeps the idempotency key of a record. The record has
// been looked up: what is known of the key is expired.
func (c *conn) keyMsg(r *engine.Record) (*stream.Msg, error) {
	digest := r.KeyDigest()
	data, err := json.Marshal(key{ID: r.ID, Version: r.KeyVersion(), Digest: digest[:], Expires: r.Dedupe.Expires})
	if err != nil {
		return nil, err
	}
	return &stream.Msg{
		Subject: c.keySubject(r.KeyType(), r.Dedupe.Key), Data: data, Only: true, Expect: stream.Expecting(0), TTL: max(time.Until(r.Dedupe.Expires), time.Second),
	}, nil
}

// onceKey stands for a type in the subject of the key that a record has by its Once.
const onceKey = string(engine.OwnType) + "once"

// onceMsg returns the message by which a record with Once is known later.
func (c *conn) onceMsg(r *engine.Record) (*stream.Msg, error) {
	data, err := json.Marshal(key{ID: *r.Once, Version: 1, Expires: time.Now().Add(engine.OnceTime)})
	return &stream.Msg{Subject: c.keySubject(onceKey, r.Once.String()), Data: data, Only: true, Expect: stream.Expecting(0), TTL: engine.OnceTime}, err
}

// recogniseOnce makes records duplicates that are known by their Once. Nearly all are new, and the servers refuse those
// that are not: so they are looked up again only.
func (p *publisher) recogniseOnce(ctx context.Context, records []engine.Record, again bool) error {
	for i := range records {
		r := &records[i]
		if r.Once == nil || r.Duplicate || !again {
			continue
		}
		m, err := p.stream.LastOf(ctx, p.keySubject(onceKey, r.Once.String()))
		if errors.Is(err, stream.ErrNotFound) {
			continue
		}
		if err != nil {
			return p.storage("append", err)
		}
		r.Seq, r.Duplicate = m.Seq+1, true
		if r.Dedupe != nil {
			r.Seq++ // its other key is stored before it
		}
	}
	return nil
}

// recogniseAmong makes records duplicates that have the idempotency key of an earlier one, or are the same.
func recogniseAmong(records []engine.Record) error {
	if !slices.ContainsFunc(records, func(r engine.Record) bool { return r.Dedupe != nil || r.Once != nil }) {
		return nil
	}
	keys := engine.Keys{}
	for i := range records {
		if err := keys.Recognise(&records[i]); err != nil {
			return err
		}
	}
	return nil
}
