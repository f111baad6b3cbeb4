package buslog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// mark is where a log stood when its status was read, for the next status to measure from.
type mark struct {
	at            time.Time
	log           uuid.UUID
	head          int64     // the newest message
	died          time.Time // when the newest dead letter died
	subscriptions map[string]stand
}

// stand is where a subscription stood.
type stand struct {
	at reach // what its owners had looked at
	// left is how many of these events were not settled, or dead, without others that were
	// settled.
	left int
	lag  event.SubscriptionState
}

// markOf returns where the log stands.
func (in *Inspection) markOf(states []event.SubscriptionState) mark {
	now := mark{at: time.Now(), log: in.registry.Log, head: in.applied, subscriptions: map[string]stand{}}
	lags := map[string]event.SubscriptionState{}
	for _, one := range states {
		lags[one.Name] = one
	}
	for _, s := range in.inOrder() {
		if _, known := lags[s.Name]; !known {
			continue // it is made just now
		}
		at := stand{at: s.reach(), left: len(s.open()), lag: lags[s.Name]}
		for seq, r := range s.rows {
			switch looked, left := at.at.looked(seq, r.slot()), r.State.Open() || r.State == ledger.Dead; {
			case looked && left:
				at.left++
			case !looked && !left:
				at.left--
			}
			// A dead letter may come from a clock that is ahead; later ones count all the same.
			if r.State == ledger.Dead && r.Ended.After(now.died) && !r.Ended.After(now.at) {
				now.died = r.Ended
			}
		}
		now.subscriptions[s.ID] = at
	}
	return now
}

// rates adds to a status how fast the bus has worked since an earlier mark, unless that was of another log, or of a
// later state of this one. It gives mu back while the server is asked.
func (in *Inspection) rates(ctx context.Context, now, before mark, status *event.Status) error {
	seconds := now.at.Sub(before.at).Seconds()
	if seconds <= 0 || before.log != now.log || now.head < before.head {
		return nil
	}
	type counts struct{ published, passed, dead int }
	all, events := map[string]*counts{}, 0
	from := before.head + 1
	for id, then := range before.subscriptions {
		if at, known := now.subscriptions[id]; known {
			all[id] = &counts{}
			if at.at != then.at {
				from = min(from, then.at.first())
			}
		}
	}
	err := in.each(ctx, from, func(r *engine.Record) bool {
		if r.Seq > now.head {
			return false
		}
		if r.Seq > before.head && in.shown(r) {
			events++
		}
		for id, c := range all {
			s := in.subs[id]
			if s == nil || !s.matches(r) || r.Seq <= s.Start {
				continue
			}
			if r.Seq > before.head {
				c.published++
			}
			if slot := slotOf(r); !before.subscriptions[id].at.looked(r.Seq, slot) && now.subscriptions[id].at.looked(r.Seq, slot) {
				c.passed++
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	status.Rates = &event.Rates{Seconds: seconds, Published: float64(events) / seconds}
	for i := range status.Subscriptions {
		one := &status.Subscriptions[i]
		entry := in.registry.known(one.Name)
		if entry == nil || all[entry.ID] == nil {
			continue
		}
		c, then, at := all[entry.ID], before.subscriptions[entry.ID], now.subscriptions[entry.ID]
		for _, r := range in.subs[entry.ID].rows {
			if r.State == ledger.Dead && r.Ended.After(before.died) && !r.Ended.After(now.at) {
				c.dead++
			}
		}
		one.Rates = ratesOf(seconds, c.published, max(0, c.passed-(at.left-then.left)), c.dead, then.lag, at.lag)
	}
	return nil
}

// ratesOf returns the rates of what was counted between two states of a subscription.
func ratesOf(seconds float64, published, handled, died int, before, now event.SubscriptionState) *event.SubscriptionRates {
	rates := &event.SubscriptionRates{
		Published: float64(published) / seconds, Handled: float64(handled) / seconds, Dead: float64(died) / seconds,
	}
	shrunk := 0
	if counted := now.BacklogAtMost == now.Backlog; counted == (before.BacklogAtMost == before.Backlog) {
		shrunk = before.BacklogAtMost - now.BacklogAtMost
	}
	if left := now.BacklogAtMost; left == 0 || shrunk > 0 {
		drained := 0.0
		if left > 0 {
			drained = float64(left) * seconds / float64(shrunk)
		}
		rates.DrainedIn = &drained
	}
	return rates
}

// Hour implements [engine.StatusReader]. It reads the newest events only; minutes before
// the oldest of them are not counted.
func (in *Inspection) Hour(ctx context.Context) (event.Hour, error) {
	hour := engine.CountHour(time.Now())
	if err := in.look(ctx); err != nil {
		return hour.Hour, err
	}
	defer in.mu.Unlock()
	read, oldest, more := 0, hour.At, false
	err := in.eachBack(ctx, in.applied, func(r *engine.Record) bool {
		if !in.shown(r) {
			return true
		}
		if read == engine.HourEvents {
			more = true
			return false
		}
		read++
		oldest = r.CreatedAt
		hour.Publish(r.CreatedAt)
		return true
	})
	if more {
		hour.CountedFrom(oldest)
	}
	byName := slices.SortedFunc(slices.Values(in.inOrder()), func(a, b *sub) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range byName {
		for _, r := range s.rows {
			if r.State == ledger.Dead {
				hour.Died(s.Name, hour.Minute(r.Ended), 1)
			}
		}
	}
	return hour.Hour, err
}

// Deliveries are shown as put off too often from so many snoozes on, or from one on when
// they are that old.
const (
	manySnoozes  = 100
	longSnoozed  = 24 * time.Hour
	snoozedShown = 10
)

// snoozed returns what was put off too often, the most often first.
func (in *Inspection) snoozed() []event.Snoozed {
	type candidate struct {
		*row
		sub *sub
	}
	var all []candidate
	for _, s := range in.inOrder() {
		for _, r := range s.rows {
			if r.State.Open() && (r.Snoozes >= manySnoozes || r.Snoozes > 0 && time.Since(r.Since) >= longSnoozed) {
				all = append(all, candidate{r, s})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.Snoozes, a.Snoozes), cmp.Compare(a.Seq, b.Seq)) })
	var found []event.Snoozed
	for _, one := range all[:min(snoozedShown, len(all))] {
		found = append(found, event.Snoozed{
			Event: one.ID, Type: in.registry.nameOf(one.Type), Subscription: one.sub.Name, Snoozes: one.Snoozes, Since: one.Since.UTC(),
		})
	}
	return found
}
