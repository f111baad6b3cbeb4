package memory

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// Outcome implements [engine.Waiter].
func (l *Log) Outcome(ctx context.Context, seq int64) (outcome []engine.Settlement, err error) {
	err = l.wait(ctx, func() bool {
		settled := true
		outcome = nil
		r := l.events[seq]
		for _, sub := range l.subscriptions {
			d := sub.deliveries[seq]
			if r == nil || !sub.routes[r.Type] || sub.start >= seq {
				continue
			}
			one := engine.Settlement{Subscription: l.nameHere(sub), State: engine.StateDone}
			if d != nil && len(d.attempts) > 0 {
				one.Failures, one.Error = len(d.attempts), d.attempts[len(d.attempts)-1].Error
			}
			switch {
			case d == nil:
				settled = settled && (seq < sub.next || !r.Due.IsZero())
			case d.Cancelled && d.Reason == engine.ReasonCancelled && d.started.IsZero():
				one.State, one.Reason = engine.StateDiscarded, d.Reason // as soon as a pause ends
			case d.State.Open():
				settled = false
			case d.State == ledger.Dead:
				one.State, one.Reason = engine.StateDead, d.Reason
			case d.State == ledger.Discarded:
				one.State, one.Reason = engine.StateDiscarded, d.Reason
			}
			outcome = append(outcome, one)
		}
		return settled
	})
	return outcome, err
}

// WaitSettled implements [engine.Waiter].
func (l *Log) WaitSettled(ctx context.Context, consumers []engine.Consumer) error {
	return l.wait(ctx, func() bool {
		for _, c := range consumers {
			sub := c.(*consumer).sub
			if sub.next <= l.last || len(l.openOf(sub)) > 0 {
				return false
			}
		}
		return true
	})
}

// AwaitSettled implements [engine.Waiter].
func (l *Log) AwaitSettled(ctx context.Context) error {
	asked := false
	return l.wait(ctx, func() bool {
		defer func() { asked = true }()
		return asked
	})
}

// wait calls settled, with the store locked, whenever a delivery was settled, until it
// returns true.
func (l *Log) wait(ctx context.Context, settled func() bool) error {
	for {
		if err := l.enter(); err != nil {
			return err
		}
		ok, news := settled(), l.settled
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-news:
		case <-l.done:
			return engine.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
