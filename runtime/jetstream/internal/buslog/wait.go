package buslog

import (
	"context"
	"errors"
	"slices"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Outcome implements [engine.Waiter].
func (l *Log) Outcome(ctx context.Context, seq int64) (outcome []engine.Settlement, err error) {
	if err := l.followAll(ctx); err != nil {
		return nil, err
	}
	if err := l.reach(ctx, seq); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	e, err := l.event(ctx, seq)
	l.mu.Unlock()
	if err != nil && !errors.Is(err, stream.ErrNotFound) {
		return nil, l.storage("read", err)
	}
	err = l.wait(ctx, func() (bool, error) {
		settled := true
		outcome = nil
		for _, entry := range l.registry.Subs {
			s := l.subs[entry.ID]
			r := s.rows[seq]
			if r == nil && (e == nil || seq <= s.Start || !s.matches(e)) {
				continue
			}
			one := engine.Settlement{Subscription: s.nameHere(), State: event.StateDone}
			if r != nil && !r.State.Open() && (r.Tries > 0 || r.State == ledger.Discarded) {
				if r, err = l.wholeRow(s, seq); err != nil {
					return false, err
				}
			}
			if r != nil && len(r.Attempts) > 0 {
				one.Failures, one.Error = len(r.Attempts), r.Attempts[len(r.Attempts)-1].Error
			}
			if s.neverBegins(e, r) { // it is settled as soon as a pause ends
				one.State, one.Reason = event.StateDiscarded, engine.ReasonCancelled
				outcome = append(outcome, one)
				continue
			}
			switch {
			case r == nil:
				settled = settled && !s.pending(e)
			case r.State.Open():
				settled = false
			case r.State == ledger.Dead:
				one.State, one.Reason = event.StateDead, r.Reason
			case r.State == ledger.Discarded:
				one.State, one.Reason = event.StateDiscarded, r.Reason
			}
			// What this process has not stored yet, is not settled.
			if u := l.units[s.ID]; u != nil && u.flights.of(seq) != nil {
				settled = false
			}
			outcome = append(outcome, one)
		}
		return settled, nil
	})
	return outcome, err
}

// neverBegins tells whether it is known that no handler is called any more for an open delivery that was cancelled.
func (s *sub) neverBegins(one *engine.Record, r *row) bool {
	if r != nil {
		one = r.record()
	}
	if s.listener != nil && s.listener.has(slotOf(one)) {
		return s.listener.neverBegins(one.Seq)
	}
	return r != nil && r.State.Open() && r.Cancelled && r.Answer == refused && r.Reason == engine.ReasonCancelled
}

// endsCancelled tells whether a delivery that was cancelled has ended so in this process, which is yet to be stored.
func (s *sub) endsCancelled(seq int64) bool {
	return s.listener != nil && s.listener.endsCancelled(seq)
}

// neverBegins implements [listener].
func (rd *reading) neverBegins(seq int64) bool {
	reason, cancelled := rd.cancelled(seq)
	f := rd.flights.of(seq)
	return cancelled && reason == engine.ReasonCancelled && (f == nil || !f.begun && !f.ended)
}

// endsCancelled implements [listener].
func (rd *reading) endsCancelled(seq int64) bool {
	f := rd.flights.of(seq)
	return f != nil && f.ended && f.how.Cancelled
}

// WaitSettled implements [engine.Waiter].
func (l *Log) WaitSettled(ctx context.Context, consumers []engine.Consumer) error {
	if err := l.sync(ctx); err != nil {
		return err
	}
	return l.wait(ctx, func() (bool, error) {
		for _, c := range consumers {
			s := c.(*consumer).unit.sub
			if slices.ContainsFunc(mapsValues(s.rows), func(r *row) bool { return r.State.Open() }) || len(s.open()) > 0 {
				return false, nil
			}
			open := false
			_, err := l.eachPending(ctx, s, 0, func(*engine.Record) bool { open = true; return false })
			if open || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

func mapsValues[K comparable, V any](m map[K]V) (all []V) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// AwaitSettled implements [engine.Waiter].
func (l *Log) AwaitSettled(ctx context.Context) error {
	asked := false
	return l.wait(ctx, func() (bool, error) {
		defer func() { asked = true }()
		return asked, nil
	})
}

// wait calls settled, with mu held, whenever something was settled, until it returns true.
func (v *logView) wait(ctx context.Context, settled func() (bool, error)) error {
	for {
		if err := v.enter(); err != nil {
			return err
		}
		news, before := v.settlement(), v.applied
		ok, err := settled()
		again := v.applied != before // something came while the server was asked
		v.mu.Unlock()
		if again && err == nil {
			continue
		}
		if ok || err != nil {
			return err
		}
		select {
		case <-news:
		case <-v.stopped:
			return v.ended()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
