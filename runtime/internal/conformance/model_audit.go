package conformance

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// auditLog compares everything in the log with the model, once all is settled.
func (w *world) auditLog() {
	file := w.file()
	defer file.Close()
	stored, _, err := file.Events(w.Context(), event.Filter{}, event.Page{Limit: 100_000})
	Must(w.T, err)
	byID := map[uuid.UUID]*modelEvent{}
	for _, e := range w.model.events {
		byID[e.id] = e
	}
	place := map[*modelEvent]int64{}
	for _, one := range stored {
		e := byID[one.ID]
		if e == nil || e.number != NumberOf(runtime.Raw(one.Payload)) {
			w.Errorf("event %v with %s is stored, and it was not published", one.ID, one.Payload)
			continue
		}
		delete(byID, one.ID)
		place[e] = one.Seq
		want := event.StatusDone
		for _, p := range e.pairs {
			if p.state == pairDead {
				want = event.StatusDLQ
			}
		}
		if one.Status != want {
			w.Errorf("event %d is %s, want %s", e.number, one.Status, want)
		}
		history, err := file.Event(w.Context(), one.ID)
		Must(w.T, err)
		w.auditDeliveries(e, history.Deliveries)
	}
	for id, e := range byID {
		w.Errorf("event %d (%v) was published, and it is not stored", e.number, id)
	}
	w.counts["events"] += len(place)
	for _, s := range w.model.subscriptions {
		w.auditOrder(s, place)
	}
}

// auditDeliveries compares the deliveries of an event, with the failed attempts on record.
func (w *world) auditDeliveries(e *modelEvent, deliveries []event.DeliveryState) {
	states := map[string]event.DeliveryState{}
	for _, d := range deliveries {
		states[d.Subscription] = d
	}
	for _, p := range e.pairs {
		w.counts["executions"] += p.runs
		d, ok := states[p.sub.name]
		delete(states, p.sub.name)
		if !ok && p.state != pairPurged {
			w.Errorf("%v is %v, and the log does not have it", p, p.state)
			continue
		}
		want := map[pairState]string{
			pairOpen: "settled", pairDone: event.StateDone, pairDead: event.StateDead, pairDiscarded: event.StateDiscarded, pairPurged: d.State,
		}[p.state]
		if d.State != want || d.Reason != p.reason && p.state != pairPurged {
			w.Errorf("%v is %s (%s), want %s (%s)", p, d.State, d.Reason, want, p.reason)
		}
		if got := kinds(d.Attempts); !slices.Equal(got, p.attempts) {
			w.Errorf("the attempts of %v are %v, want %v", p, got, p.attempts)
		}
	}
	if len(states) > 0 {
		w.Errorf("event %d has deliveries to others: %v", e.number, states)
	}
}

func kinds(attempts []event.FailedAttempt) (kinds []string) {
	for _, a := range attempts {
		kinds = append(kinds, a.Kind)
	}
	return kinds
}

// auditOrder checks the order of first executions: all of them with a concurrency of 1, else those of each key.
// Delayed events, and events whose type was paused or that began anew, are exempt from this order. With
// priorities others may come first, but not within a key. In strict order, an event is settled before the next of its key begins.
func (w *world) auditOrder(s *modelSubscription, place map[*modelEvent]int64) {
	var last []*pair
	for _, p := range s.firsts {
		if !p.event.due.IsZero() || p.held {
			continue
		}
		for _, earlier := range last {
			sameKey := p.event.key != "" && p.event.key == earlier.event.key && p.event.typ == earlier.event.typ
			if !sameKey && (s.concurrency > 1 || w.model.priorities) {
				continue
			}
			if sameKey && s.concurrency > 1 && !s.keyed {
				continue
			}
			if place[earlier.event] > place[p.event] {
				w.Errorf("%v ran before %v, which is earlier in the log", earlier, p)
			}
			if s.strict && (earlier.settled.IsZero() || earlier.settled.After(p.ran)) {
				w.Errorf("%v began at %v, before the earlier %v was settled at %v", p, w.model.since(p.ran), earlier, w.model.since(earlier.settled))
			}
		}
		last = append(last, p)
	}
}

// auditLetters compares the dead letters with the model, at any time.
func (w *world) auditLetters() {
	file, letters := w.letters()
	defer file.Close()
	dead := map[*pair]bool{}
	for _, l := range letters {
		p := w.model.pair(l.EventID, l.Subscription)
		dead[p] = true
		w.model.mu.Lock()
		p.lookedAt()
		if p.state != pairDead || l.Reason != p.reason || l.Type != p.event.typ || l.Failures != p.failures {
			w.Errorf("%v is a dead letter (%s, %d failures) after %v; want %v, %s, %d", p, l.Reason, l.Failures, p.attempts, p.state, p.reason, p.failures)
		}
		for _, a := range l.Attempts {
			if a.Error == "" || a.Ended.IsZero() || a.Started.IsZero() != (a.Kind == "crash") || a.Stack == "" == (a.Kind == "panic" || a.Kind == "goexit") {
				w.Errorf("an attempt of %v is %+v", p, a)
			}
		}
		if got := kinds(l.Attempts); !slices.Equal(got, p.attempts) {
			w.Errorf("the attempts of the dead %v are %v, want %v", p, got, p.attempts)
		}
		if members := strings.Count(l.Progress, `"`) / 2; members != p.progress {
			w.Errorf("of the dead %v %d members have handled it (%s), want %d", p, members, l.Progress, p.progress)
		}
		w.model.mu.Unlock()
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	w.model.each(func(p *pair) {
		if p.state == pairDead && !dead[p] {
			w.Errorf("%v has failed by %v and is not a dead letter", p, p.attempts)
		}
	})
}

// lookedAt makes a delivery that is doomed a dead letter: the bus has looked at it.
func (p *pair) lookedAt() {
	if p.doomed() {
		p.state, p.reason = pairDead, "crash"
	}
}
