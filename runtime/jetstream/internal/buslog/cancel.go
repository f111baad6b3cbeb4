package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Cancel implements [engine.Canceller]. A delivery that is cancelled has a row that says
// so. The owner of the subscription does not begin it when it has read the row, and answers
// with another row: the delivery is discarded, or has begun.
func (l *Log) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	return l.cancel(ctx, spec, func(s *sub) string { return s.nameHere() })
}

// openDelivery is a delivery that is not settled.
type openDelivery struct {
	sub   *sub
	event *engine.Record
	row   *row // nil for none
}

// openTo returns the open deliveries of an event, to one subscription or to all for an empty name. Without one the
// error says why.
func (rd *reader) openTo(ctx context.Context, id uuid.UUID, name string) (open []openDelivery, err error) {
	only := rd.registry.known(name)
	if name != "" && only == nil {
		return nil, rd.registry.unknown(name)
	}
	one, err := rd.find(ctx, id)
	if err != nil {
		return nil, err
	}
	settled := &event.NotOpenError{Event: id}
	for _, s := range rd.inOrder() {
		if only != nil && s.ID != only.ID {
			continue
		}
		r := s.rows[one.Seq]
		switch {
		case r != nil && r.State.Open(), r == nil && s.pending(one):
			open = append(open, openDelivery{s, one, r})
		case r != nil || s.matches(one) && s.Start < one.Seq:
			settled.States = append(settled.States, s.Name+" "+rd.stateOf(s, one).State)
		}
	}
	if len(open) == 0 {
		return nil, settled
	}
	return open, nil
}

func (l *Log) cancel(ctx context.Context, spec engine.Cancellation, named func(*sub) string) (cancelled []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.Flush(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	open, err := l.discardOpen(ctx, spec.Event, spec.Subscription, spec.Reason, func(one openDelivery) *stream.Msg {
		if spec.Actor == "" || one.row != nil && one.row.Cancelled || one.sub.asks[one.event.Seq] != nil {
			return nil
		}
		return l.auditMsg(event.AuditEntry{Actor: spec.Actor, Action: "cancel", EventID: spec.Event, Subscription: one.sub.Name, Count: 1})
	})
	if err != nil {
		return nil, err
	}
	begun, settled := &event.BegunError{ID: spec.Event}, &event.NotOpenError{Event: spec.Event}
	for _, one := range open {
		what, err := l.answer(ctx, one, began)
		if err != nil {
			return cancelled, err
		}
		l.mu.Lock()
		switch name := named(one.sub); what {
		case running:
			begun.Running = append(begun.Running, name)
		case refused:
			cancelled = append(cancelled, name)
		default:
			settled.States = append(settled.States, one.sub.Name+" "+l.stateOf(one.sub, one.event).State)
		}
		l.mu.Unlock()
	}
	switch {
	case len(begun.Running) > 0:
		begun.Cancelled = cancelled
		return cancelled, begun
	case len(cancelled) == 0:
		return nil, settled
	}
	return cancelled, nil
}

// discardOpen discards the open deliveries of an event, and returns them. The owner of a
// subscription is asked to do so: it changes their rows all the time, and may have to hold
// back others until this one has come again. Where no owner is alive the rows are changed.
// note returns what is stored besides.
func (l *Log) discardOpen(ctx context.Context, id uuid.UUID, name, reason string, note func(openDelivery) *stream.Msg) (open []openDelivery, err error) {
	if err := l.sync(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	alive := map[string]bool{"": false, l.instance: true}
	for _, s := range l.subs {
		for owner := range s.owners() {
			if !alive[owner] {
				alive[owner] = false
			}
		}
	}
	l.mu.Unlock()
	for owner, known := range alive {
		if !known && owner != "" {
			alive[owner] = l.mayBeAlive(ctx, owner)
		}
	}
	err = l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		open, err = l.openTo(ctx, id, name)
		for _, one := range open {
			msgs = append(msgs, note(one))
			switch {
			case one.row != nil && one.row.Cancelled || one.sub.asks[one.event.Seq] != nil: // what was cancelled before keeps its reason
				continue
			case alive[one.sub.of(one.event).Owner]:
				msgs = append(msgs, l.askMsg(one.sub.ID, one.event.Seq, &ask{Reason: reason}, 0))
				continue
			}
			whole, err := l.wholeRow(one.sub, one.event.Seq)
			if err != nil {
				return nil, l.storage("read", err)
			}
			if whole == nil && one.row != nil || whole != nil && !whole.State.Open() { // it was settled meanwhile
				continue
			}
			r, rev := whole.orNew(one.event), one.sub.revOf(one.event.Seq)
			if one.sub.of(one.event).Owner != "" { // it is dead
				r.Row, r.Answer = r.Cancel(reason), refused
			} else {
				r.Row = r.Discard(reason, time.Now())
			}
			msgs = append(msgs, l.rowMsg(one.sub.ID, r, rev))
		}
		return msgs, err
	})
	return open, err
}

// mayBeAlive reports whether an owner answers, or is connected.
func (c *conn) mayBeAlive(ctx context.Context, instance string) bool {
	_, connected, err := c.stream.Ping(ctx, c.pingSubject(instance), pingTime)
	return connected || err != nil
}

// answer waits until the owner of a subscription has said what becomes of a delivery that
// was cancelled. It is empty if the delivery was settled before.
func (l *Log) answer(ctx context.Context, one openDelivery, began time.Time) (what answer, err error) {
	patience, cancel := context.WithTimeout(ctx, engine.CancelPatience)
	defer cancel()
	owner, seq := 0, one.event.Seq
	err = l.wait(patience, func() (bool, error) {
		r := one.sub.rows[seq]
		owner = one.sub.of(one.event).PID
		u := l.units[one.sub.ID]
		switch {
		case u != nil && u.has(slotOf(one.event)):
			what = u.answer(one.event)
		case one.sub.asks[seq] != nil:
			return false, nil
		case r != nil && r.State.Open():
			what = r.Answer
		case r != nil && r.State == ledger.Discarded && r.Reason != "" || r == nil && one.sub.pending(one.event):
			what = refused
		default:
			what = ""
		}
		return true, nil
	})
	if err != nil && !errors.Is(err, engine.ErrClosed) {
		return "", &event.UnansweredError{ID: one.event.ID, PID: owner, Waited: time.Since(began), Err: ctx.Err()}
	}
	return what, err
}

// answer says what becomes of a delivery that was cancelled.
func (u *unit) answer(one *engine.Record) answer {
	u.shut()
	r := u.sub.rows[one.Seq]
	switch f := u.flights.of(one.Seq); {
	case f != nil && !f.ended && f.begun:
		return running
	case f != nil && !f.ended, f != nil && f.delayed:
		return refused
	case f != nil:
		// A dead letter that is not on its way yet is none.
		if n, e := f.after(f.how, true); f.how.Cancelled || n.State.Open() || e.NoNotice && f.plan == nil {
			return refused
		}
	case r != nil && r.State.Open(), r == nil && u.sub.pending(one), r != nil && r.State == ledger.Discarded:
		return refused
	}
	return ""
}

// ask is the record of a wish to have a delivery cancelled, until the owner of the
// subscription has answered with a row.
type ask struct {
	Reason   string `json:"reason"`
	Answered bool   `json:"answered,omitempty"`

	rev int64 // the sequence number of the record
}

// askMsg returns the message of a wish. For nil it says that the wish is answered, and is
// refused if the record has changed since rev.
func (c *conn) askMsg(sub string, seq int64, a *ask, rev int64) *stream.Msg {
	m := &stream.Msg{Subject: c.subject(askToken, sub, strconv.FormatInt(seq, 10)), Only: true}
	if a == nil {
		a, m.TTL, m.Expect = &ask{Answered: true}, goneTime, stream.Expecting(rev)
	}
	m.Data, _ = json.Marshal(a)
	return m
}

// applyAsk notes a wish.
func (v *logView) applyAsk(rest string, m stream.Stored) error {
	id, text, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	var a ask
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return err
	}
	s := v.sub(id)
	if delete(s.asks, seq); !a.Answered {
		a.rev = m.Seq
		s.asks[seq] = &a
	}
	if s.listener != nil {
		s.listener.askChanged(a.Answered)
	}
	v.noteSettled()
	return nil
}

// askChanged implements [listener].
func (u *unit) askChanged(answered bool) {
	if u.shut(); u.owns() && !answered {
		u.changed(true)
		u.wake()
	}
}

// askedEvents returns the events that a caller wishes to have cancelled and that have no row.
func (st *storing) askedEvents() map[int64]*engine.Record {
	h := st.in
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(st.sub.asks) == 0 {
		return nil
	}
	events := map[int64]*engine.Record{}
	for _, seq := range slices.Collect(maps.Keys(st.sub.asks)) {
		if st.sub.rows[seq] == nil {
			if r, err := h.event(context.Background(), seq); err == nil && st.has(slotOf(r)) {
				events[seq] = r
			}
		}
	}
	return events
}

// answers returns the answers to wishes to have deliveries cancelled, but for those that the plan settles.
func (u *unit) answers(p *plan, events map[int64]*engine.Record, parts map[int]bool) (msgs []*stream.Msg) {
	room := batchRoom
	if u.alone {
		room = 1 - min(len(p.flights), 1)
	}
	for seq, a := range u.sub.asks {
		r := u.wholeOf(seq)
		if f := u.flights.of(seq); f != nil && f.plan == p || len(msgs) >= room || r == nil && events[seq] == nil || r != nil && !u.has(r.slot()) {
			continue
		}
		one := events[seq]
		if r != nil {
			one = r.record()
		}
		parts[u.sub.at(slotOf(one))] = true
		what := u.answer(one)
		if what != "" && (r == nil || r.State.Open()) {
			r = r.orNew(one)
			r.Row, r.Answer = r.Cancel(a.Reason), what
			msgs = append(msgs, u.in.rowMsg(u.sub.ID, r, u.sub.revOf(seq)))
		}
		msgs = append(msgs, u.in.askMsg(u.sub.ID, seq, nil, a.rev))
	}
	return msgs
}
