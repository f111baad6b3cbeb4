package buslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// patience is how long an append waits for the servers, through all of its tries. Then it fails,
// and if a try was sent and not answered, its outcome is in doubt. Servers elect another leader
// in that time: it takes them 4 to 9 seconds.
const patience = 15 * time.Second

// lookTimeout is the last part of patience, in which a server that has not acknowledged an event may answer something else.
const lookTimeout = time.Second

// tryTime is how long one try waits. The answer of a server that was killed never comes.
const tryTime = 2 * time.Second

// publisher appends events, and recognises those that were published before by their idempotency keys.
type publisher struct {
	editor
	joined joined
	inbox  inbox
}

// Append implements [engine.Appender]. One record is one message. Several, or one with an
// idempotency key, are an atomic batch. The client sends together what all callers append
// at a time, so no code has to collect it.
func (p *publisher) Append(ctx context.Context, records []engine.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.declareTypesOf(ctx, records); err != nil {
		return err
	}
	for began, again := time.Now(), false; ; {
		if err := p.recogniseOnce(ctx, records, again); err != nil {
			return err
		}
		if err := p.Recognise(ctx, records); err != nil {
			if time.Since(began) <= patience && p.waits(ctx, began, err) {
				continue
			}
			return err
		}
		if err := recogniseAmong(records); err != nil {
			return err
		}
		if p.isClosed() {
			return p.ended()
		}
		err := p.store(ctx, records)
		if errors.Is(err, stream.ErrConflict) {
			again = true
			continue // another publisher has used a key meanwhile, or records are not new
		}
		err = p.unacknowledged(ctx, p.storage("append", err))
		if p.noteWrite(err, records); err != nil {
			return err
		}
		for i := range records {
			if r := &records[i]; r.Duplicate && r.Seq == 0 { // of an earlier one of the records
				for j := range records {
					if records[j].ID == r.ID && !records[j].Duplicate {
						r.Seq = records[j].Seq
					}
				}
			}
		}
		return nil
	}
}

// unacknowledged says that the disk of the server may be the cause of an error, if that server answers everything but
// what it is to store: this is what servers do whose disk is full.
func (c *conn) unacknowledged(ctx context.Context, err error) error {
	var storage *event.StorageError
	if !errors.As(err, &storage) || !storage.InDoubt || storage.Fault != event.Unreachable {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	if _, silent := c.stream.Last(ctx); silent != nil {
		return err
	}
	storage.Fault = event.IO
	storage.Hint = "the server that leads the stream answers, but not to this: its disk may be full or failing, which its log says; restart it when there is room, or let another one lead: nats stream cluster step-down " + c.stream.Name()
	return storage
}

// store appends the records that are no duplicates, with the records of their keys.
func (p *publisher) store(ctx context.Context, records []engine.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	msgs, stored := make([]*stream.Msg, 0, len(records)), make([]*engine.Record, 0, len(records))
	at := make([]int, 0, len(records)) // of those that are stored
	events := make([]stream.Msg, len(records))
	var created time.Time // of all that were published together
	text := ""
	for i := range records {
		r := &records[i]
		if r.Duplicate || r.IfWanted && !p.isWanted(r.Type) {
			continue
		}
		if r.Once != nil { // before its event, so that the servers say that this is not new, and not that the event is known
			msg, err := p.onceMsg(r)
			if err != nil {
				return err
			}
			msgs = append(msgs, msg)
		}
		if r.Dedupe != nil {
			msg, err := p.keyMsg(r)
			if err != nil {
				return err
			}
			msgs = append(msgs, msg)
		}
		if text == "" || !r.CreatedAt.Equal(created) {
			created, text = r.CreatedAt, timeText(r.CreatedAt)
		}
		p.fillEvent(&events[i], r, text)
		at = append(at, len(msgs))
		msgs, stored = append(msgs, &events[i]), append(stored, r)
	}
	if len(msgs) == 0 {
		return nil
	}
	if err := p.hasRoom(ctx, msgs); err != nil {
		return err
	}
	storeAll := p.storeWithin
	if len(msgs) > len(stored) && p.stream.IsAlone() { // some have keys
		storeAll = func(msgs []*stream.Msg) (int64, error) { return p.joined.store(ctx, p, msgs) }
	}
	first, err := storeAll(msgs)
	if err != nil {
		return err
	}
	for i, r := range stored {
		r.Seq = first + int64(at[i])
	}
	p.noteStored(first + int64(len(msgs)) - 1)
	return nil
}

// storeWithin stores events, and tries again while the servers have no leader, or do not
// answer: the server knows the ids of the events for two minutes, and does not store them
// again. Their outcome is in doubt if patience ends before the server has answered. They may be
// stored as soon as they are sent, so no context of the caller ends that.
func (p *publisher) storeWithin(msgs []*stream.Msg) (first int64, err error) {
	until, before := time.Now().Add(patience-lookTimeout), p.known()
	return p.storeOn(msgs, until, before, p.try(tryTime, msgs))
}

// try is how one try to store messages has ended.
type try struct {
	first int64 // the sequence number of the first message
	known bool  // it was stored before
	err   error
}

func (c *conn) try(d time.Duration, msgs []*stream.Msg) (t try) {
	t.first, t.known, t.err = c.stream.AppendWithin(d, msgs...)
	return t
}

// storeOn goes on after a first try; before it there was a message.
func (p *publisher) storeOn(msgs []*stream.Msg, until time.Time, before int64, t try) (first int64, err error) {
	if t.err == nil && t.first > before { // nearly always
		return t.first, nil
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	began := time.Now()
	for doubt := error(nil); ; t = p.try(min(tryTime, time.Until(until)), msgs) {
		switch err := t.err; {
		case err == nil:
			if !t.known {
				p.acknowledged(t.first, before)
			}
			return t.first, nil
		case errors.Is(err, stream.ErrStored), doubt != nil && errors.Is(err, stream.ErrConflict):
			// This was stored by a former try, or another publisher has used a key.
			first, found, wrong := p.findStored(ctx, msgs, before)
			switch {
			case found:
				return first, nil
			case wrong == nil && errors.Is(err, stream.ErrConflict):
				return 0, err
			}
			doubt = orElse(doubt, fmt.Errorf("%w: %w", stream.ErrInDoubt, err))
		case errors.Is(err, stream.ErrInDoubt):
			doubt = orElse(doubt, err)
		case !stream.Passes(err) || p.isClosed():
			return 0, orElse(doubt, err)
		}
		if time.Since(began) >= leaderTime {
			p.askMissed(began)
		}
		select {
		case <-time.After(retryPause):
		case <-p.stopped:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || p.isClosed() {
			return 0, orElse(doubt, t.err)
		}
	}
}

// retryPause is how long to wait while the servers have no leader.
const retryPause = 100 * time.Millisecond

// findStored finds a batch that a former try has stored, behind a message that was there
// before. If there is no error and it is not found, it is not stored.
func (p *publisher) findStored(ctx context.Context, msgs []*stream.Msg, before int64) (first int64, found bool, err error) {
	if err := p.sync(ctx); err != nil {
		return 0, false, err
	}
	one := msgs[len(msgs)-1] // the last message of a batch is an event
	p.mu.Lock()
	defer p.mu.Unlock()
	err = p.each(ctx, before+1, func(r *engine.Record) bool {
		if found = r.ID.String() == one.ID; found {
			first = r.Seq - int64(len(msgs)) + 1
		}
		return !found
	})
	return first, found, err
}

// noteStored notes that the servers have stored a message.
func (p *publisher) noteStored(seq int64) {
	p.lookSoon()
	p.expect(seq)
	for known := p.stored.Load(); known < seq && !p.stored.CompareAndSwap(known, seq); known = p.stored.Load() {
	}
}
