package buslog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Cancel implements [engine.Canceller]. A delivery that is cancelled has a row that says
// so. The owner of the subscription does not begin it when it has read the row, and answers
// with another row: the delivery is discarded, or has begun.
func (l *Log) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	return l.cancel(ctx, spec, func(s *sub) string { return l.nameHere(s.ID, s.Name) })
}

// openDelivery is a delivery that is not settled.
type openDelivery struct {
	sub   *sub
	event *engine.Record
	row   *row // nil for none
}

// openTo returns the open deliveries of an event, to one subscription or to all for an empty
// name. Without one the error says why. The caller holds mu.
func (l *Log) openTo(id uuid.UUID, name string) (open []openDelivery, err error) {
	only := l.registry.known(name)
	if name != "" && only == nil {
		missing := &engine.NotFoundError{Thing: "subscription", Name: name}
		for _, s := range l.registry.Subs {
			missing.Known = append(missing.Known, s.Name)
		}
		return nil, missing
	}
	event, err := l.find(id)
	if err != nil {
		return nil, err
	}
	settled := &engine.NotOpenError{Event: id}
	for _, s := range l.inOrder() {
		if only != nil && s.ID != only.ID {
			continue
		}
		r := s.rows[event.Seq]
		switch {
		case r != nil && r.open(), r == nil && s.pending(event):
			open = append(open, openDelivery{s, event, r})
		case r != nil || s.matches(event) && s.Start < event.Seq:
			settled.States = append(settled.States, s.Name+" "+l.stateOf(s, event).State)
		}
	}
	if len(open) == 0 {
		return nil, settled
	}
	return open, nil
}

// find returns the event of an id, or a *NotFoundError. The caller holds mu.
func (l *Log) find(id uuid.UUID) (found *engine.Record, err error) {
	err = l.each(1, func(r *engine.Record) bool {
		if r.ID == id {
			found = r
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = &engine.NotFoundError{Thing: "event", Name: id.String()}
	}
	return found, err
}

func (l *Log) cancel(ctx context.Context, spec engine.Cancellation, named func(*sub) string) (cancelled []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.Flush(ctx); err != nil {
		return nil, err
	}
	var open []openDelivery
	began := time.Now()
	err = l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		open, err = l.openTo(spec.Event, spec.Subscription)
		for _, one := range open {
			before := one.row
			if spec.Actor != "" && (before == nil || !before.Cancelled) {
				msgs = append(msgs, l.auditMsg(engine.AuditEntry{Actor: spec.Actor, Action: "cancel", EventID: spec.Event, Subscription: one.sub.Name, Count: 1}))
			}
			msgs = append(msgs, l.discardMsg(one, spec.Reason)...)
		}
		return msgs, err
	})
	if err != nil {
		return nil, err
	}
	begun := &engine.BegunError{ID: spec.Event}
	for _, one := range open {
		runs, err := l.answer(ctx, one, began)
		if err != nil {
			return cancelled, err
		}
		l.mu.Lock()
		name := named(one.sub)
		l.mu.Unlock()
		if runs {
			begun.Running = append(begun.Running, name)
		} else {
			cancelled = append(cancelled, name)
		}
	}
	if len(begun.Running) > 0 {
		begun.Cancelled = cancelled
		return cancelled, begun
	}
	return cancelled, nil
}

// discardMsg returns the messages that discard an open delivery, or have the owner do so: it
// may hold back others until this one has come again. What was cancelled before keeps its
// reason. The caller holds mu.
func (l *Log) discardMsg(one openDelivery, reason string) []*stream.Msg {
	rev, r := one.sub.revOf(one.event.Seq), one.row
	switch {
	case r == nil:
		r = newRow(one.event)
	case r.Cancelled:
		return nil
	default:
		r = r.clone()
	}
	r.Reason = reason
	if one.sub.cursor.Owner != "" {
		r.State, r.Due, r.Cancelled, r.Answer = waiting, time.Time{}, true, ""
	} else {
		r.State, r.Died = discarded, time.Now()
	}
	return []*stream.Msg{l.rowMsg(one.sub.ID, r, rev)}
}

// answer waits until the owner of a subscription has said whether a delivery that was
// cancelled runs.
func (l *Log) answer(ctx context.Context, one openDelivery, began time.Time) (runs bool, err error) {
	patience, cancel := context.WithTimeout(ctx, engine.CancelPatience)
	defer cancel()
	l.mu.Lock()
	other := one.sub.cursor.Owner
	l.mu.Unlock()
	if connected, err := l.stream.Ping(patience, l.pingSubject(other), engine.CancelPatience); other != l.instance && err == nil && !connected {
		return false, nil // it is dead, and who takes over reads the row first
	}
	owner := 0
	err = l.wait(patience, func() (bool, error) {
		r := one.sub.rows[one.event.Seq]
		owner = one.sub.cursor.PID
		if u := l.units[one.sub.ID]; u != nil && u.owned {
			f := u.flights[one.event.Seq]
			runs = f != nil && f.begun && !f.ended
			return true, nil
		}
		if r == nil || !r.open() || r.Answer != "" {
			runs = r != nil && r.Answer == running
			return true, nil
		}
		return false, nil
	})
	if err != nil && !errors.Is(err, engine.ErrClosed) {
		return false, &engine.UnansweredError{ID: one.event.ID, PID: owner, Waited: time.Since(began), Err: ctx.Err()}
	}
	return runs, err
}

// edit stores the messages that change returns, all or nothing. change is called again, with
// mu held, if somebody else has changed one of the records meanwhile.
func (l *Log) edit(ctx context.Context, change func() ([]*stream.Msg, error)) error {
	for {
		if err := l.sync(ctx); err != nil {
			return err
		}
		if err := l.enter(); err != nil {
			return err
		}
		msgs, err := change()
		l.mu.Unlock()
		msgs = slices.DeleteFunc(msgs, func(m *stream.Msg) bool { return m == nil })
		if err != nil || len(msgs) == 0 {
			return err
		}
		first, _, err := l.stream.Append(ctx, msgs...)
		if errors.Is(err, stream.ErrConflict) {
			l.lookForGone(ctx)
			continue
		}
		if err != nil {
			return l.storage("change", err)
		}
		return l.reach(ctx, first+int64(len(msgs))-1)
	}
}
