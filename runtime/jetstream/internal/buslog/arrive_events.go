package buslog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// How much a batch has, but for a single event. Servers allow 1,000 messages.
const (
	batchMessages = 500
	batchBytes    = 2 << 20
	batchRows     = 900 // of one event
)

// Add moves events, which follow those up to After in the order of the other log.
func (a *Arrival) Add(ctx context.Context, events []engine.MovedEvent) error {
	return a.storage("move to", a.add(ctx, events))
}

func (a *Arrival) add(ctx context.Context, events []engine.MovedEvent) error {
	var msgs []*stream.Msg
	next, bytes := a.state, 0
	flush := func() error {
		if len(msgs) == 0 {
			return nil
		}
		err := a.send(ctx, next, msgs)
		msgs, next, bytes = nil, a.state, 0
		return err
	}
	for i := range events {
		e := &events[i]
		if e.Seq <= a.state.After {
			continue
		}
		if len(msgs) > 0 && (len(msgs)+len(e.Keys)+len(e.Deliveries) >= batchMessages || bytes+(1+len(e.Deliveries))*len(e.Payload) > batchBytes) {
			if err := flush(); err != nil {
				return err
			}
		}
		at := a.state.Last + 2 + int64(len(msgs))
		if a.state.Part > 0 { // a part of it has moved
			at = a.state.PartSeq - int64(len(e.Keys))
		}
		own, seq, err := a.messages(e, &next, at)
		if err != nil {
			return err
		}
		for len(own)-a.state.Part > batchRows {
			if err := flush(); err != nil {
				return err
			}
			part := a.state
			part.PartSeq, part.Part = seq, part.Part+batchRows
			if err := a.send(ctx, part, own[a.state.Part:part.Part]); err != nil {
				return err
			}
		}
		for _, m := range own[a.state.Part:] {
			msgs, bytes = append(msgs, m), bytes+len(m.Data)
		}
		next.After, next.PartSeq, next.Part = e.Seq, 0, 0
	}
	return flush()
}

// messages returns what is stored of an event, of which the first message has a sequence
// number, and that of the event.
func (a *Arrival) messages(e *engine.MovedEvent, next *arrivalRecord, at int64) (msgs []*stream.Msg, seq int64, err error) {
	seq = at + int64(len(e.Keys))
	for i, k := range e.Keys {
		one := key{ID: k.ID, Seq: seq, Version: max(k.Version, 1), Digest: k.Digest, Expires: k.Expires}
		if !e.Open {
			one.Seq = at + int64(i)
		}
		data, err := json.Marshal(one)
		if err != nil {
			return nil, 0, err
		}
		msgs = append(msgs, &stream.Msg{Subject: a.keySubject(k.Type, k.Key), Data: data, Only: true, TTL: max(time.Until(k.Expires), time.Second)})
		next.Moved.Keys++
	}
	if !e.Open {
		return msgs, seq, nil
	}
	next.Moved.Events++
	record := e.Record
	record.Seq = seq
	if e.Only >= 0 {
		record.Origin = &engine.Origin{Consumer: a.subs[e.Only].ID, Parent: e.Parent}
	}
	m := a.eventMsg(&record)
	if err := a.fits(m, &record); err != nil {
		return nil, 0, err
	}
	msgs = append(msgs, m)
	a.reached(next, e.Seq, seq)
	for i := range e.Deliveries {
		one := &e.Deliveries[i]
		m, err := a.rowMsg(&record, one)
		if err != nil {
			return nil, 0, err
		}
		if msgs = append(msgs, m); one.State == engine.MovedDead {
			next.Moved.Dead++
		} else if one.State != engine.MovedCancelled && one.State != engine.MovedDone {
			next.Moved.Waiting++
		}
	}
	return msgs, seq, nil
}

// overhead is what the headers of a message need, beside those of an event.
const overhead = 4 << 10

// fits returns an error if an event is too large for the servers.
func (a *Arrival) fits(m *stream.Msg, r *engine.Record) error {
	if size := len(m.Data) + len(r.Metadata) + overhead; size > a.stream.MaxPayload() {
		return &event.StorageError{
			Fault: event.IO, Op: "move to", Path: a.target, Err: fmt.Errorf("event %s (%s) has %d bytes, and the servers allow %d", r.ID, r.Type, size, a.stream.MaxPayload()),
			Hint: "raise max_payload of the servers, and move again: what has moved stays",
		}
	}
	return nil
}

// movedStates are the states of deliveries that are moved.
var movedStates = map[engine.MovedState]ledger.State{
	engine.MovedWaiting: ledger.Waiting, engine.MovedHeld: ledger.Held, engine.MovedDead: ledger.Dead, engine.MovedCancelled: ledger.Discarded,
	engine.MovedDone: ledger.Done,
}

// rowMsg returns the message of a delivery. If it is too large, it loses the stacks and logs
// of its attempts, oldest first, and then the attempts.
func (a *Arrival) rowMsg(record *engine.Record, d *engine.MovedDelivery) (*stream.Msg, error) {
	r := newRow(record)
	var known bool
	if r.State, known = movedStates[d.State]; !known {
		return nil, fmt.Errorf("event %s has a delivery in the unknown state %q", record.ID, d.State)
	}
	if r.Due, r.Since, r.HeldSince = d.Due, d.Since, d.Held; !r.Due.Equal(r.EventDue) {
		r.Set = time.Now().UTC()
	}
	r.Failures, r.Uncounted, r.MaxAttempts, r.Snoozes, r.Redriven = d.Failures, d.Uncounted, d.MaxAttempts, d.Snoozes, d.Redriven
	r.Crashed, r.Replayed, r.PutOff, r.Retried = d.Crashed, d.Replayed, d.PutOff, d.Retried
	r.Progress, r.Attempts, r.History, r.Crashes = d.Progress, d.Attempts, d.History, d.Crashes
	r.Reason, r.Fingerprint, r.Ended = d.Reason, d.Fingerprint, d.Died
	if d.Suspect {
		r.Together = 1
	}
	m := a.conn.rowMsg(a.subs[d.Subscription].ID, r, 0)
	for i := 0; len(m.Data)+overhead > a.stream.MaxPayload(); i++ {
		switch {
		case i < len(r.Attempts):
			r.Attempts[i].Stack, r.Attempts[i].Log = "", ""
		case len(r.Attempts) > 1:
			r.Attempts = r.Attempts[1:]
		default:
			return nil, a.fits(m, record)
		}
		m = a.conn.rowMsg(a.subs[d.Subscription].ID, r, 0)
	}
	return m, nil
}
