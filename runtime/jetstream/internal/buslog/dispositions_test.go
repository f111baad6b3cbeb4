package buslog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// recordsOf returns the records of rows among messages, by the sequence numbers of their events.
func recordsOf(t *testing.T, msgs []*stream.Msg) map[int64]map[string]any {
	t.Helper()
	found := map[int64]map[string]any{}
	for _, m := range msgs {
		if kind, _ := split(m.Subject); kind != rowToken {
			continue
		}
		r := map[string]any{}
		if err := json.Unmarshal(m.Data, &r); err != nil {
			t.Fatal(err)
		}
		found[int64(r["seq"].(float64))] = r
	}
	return found
}

// newEnded returns a unit with a delivery that has ended, and that somebody has cancelled since.
func newEnded(t *testing.T, v engine.Disposition) (*unit, *flight) {
	t.Helper()
	l := newStoredLog(t)
	s := l.sub("orders")
	s.parts[whole] = part{cursor{N: 1, Owner: "me", Next: 4}, 1}
	u := l.unitOf(s)
	u.parts[whole].owned = true
	c := &consumer{unit: u, wake: func() {}}
	d := c.handOut(&engine.Record{Seq: 3, ID: uuid.New(), Type: "order.placed", CreatedAt: time.Now()}, nil, 0)
	f := d.Token.(*flight)
	f.begun, f.returned = true, true
	c.Settle(engine.Settled{Delivery: d, Disposition: v}, nil)
	s.asks = map[int64]*ask{3: {Reason: "not needed"}}
	return u, f
}

func TestWhatIsCancelledAfterItsTurnHasEndedIsDueAtOnce(t *testing.T) {
	u, f := newEnded(t, engine.Disposition{Kind: engine.Retry, Attempt: &event.FailedAttempt{Kind: event.KindError}, Due: time.Now().Add(time.Hour)})
	p := u.makePlan([]*flight{f}, nil, nil)
	if r := recordsOf(t, p.msgs)[3]; r == nil || r["state"] != "waiting" || r["due"] != nil {
		t.Errorf("the row is %v, want one that waits and is due at once", r)
	}
}

func TestWhatIsCancelledAfterItsLastAttemptIsDiscardedAndNoDeadLetter(t *testing.T) {
	notice := engine.Record{ID: uuid.New(), Type: "bus.dead", CreatedAt: time.Now(), IfWanted: true}
	u, f := newEnded(t, engine.Disposition{
		Kind: engine.Dead, Reason: event.ReasonPermanent, Attempt: &event.FailedAttempt{Kind: event.KindError}, Staged: []engine.Record{notice},
	})
	u.sub.routes = map[string]bool{"bus.dead": true}
	u.in.registry.Subs, u.in.registry.Types = []subscription{u.sub.subscription}, []typenames.Row{{Name: "bus.dead", Written: "bus.dead"}}
	if what := u.answer(f.record); what != refused {
		t.Errorf("the answer is %q, want %q", what, refused)
	}
	p := u.makePlan([]*flight{f}, nil, nil)
	if r := recordsOf(t, p.msgs)[3]; r == nil || r["state"] != "discarded" || r["reason"] != "not needed" {
		t.Errorf("the row is %v, want a discarded one", r)
	}
	for _, m := range p.msgs {
		if strings.HasPrefix(m.Subject, u.in.subject(eventToken)) {
			t.Errorf("the notice of a dead letter is stored: %s", m.Data)
		}
	}
}
