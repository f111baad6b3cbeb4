package buslog

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The server is asked for one record after the other, and there may be thousands that are gone.
func TestOnlyTheRowsOfARefusedBatchAreLookedUp(t *testing.T) {
	l := newTestLog(t)
	s := l.sub("orders")
	for n := range int64(1000) {
		s.noteGone(n, 10*n+1)
	}
	msgs := []*stream.Msg{{Subject: "bus.d.orders.7"}, {Subject: "bus.d.orders.7000"}, {Subject: "bus.d.other.8"}, {Subject: "bus.c.orders"}, {Subject: "bus.d.orders.9"}}
	if all := l.goneOf(msgs); len(all) != 2 || all[0].seq != 7 || all[1].seq != 9 {
		t.Errorf("%+v are looked up, want 7 and 9", all)
	}
}

// A row that waits is queued by the process that handles it. Others would never take it out.
func TestOnlyTheOwnerQueuesRows(t *testing.T) {
	l := newTestLog(t)
	s := l.sub("orders")
	r := newRow(&engine.Record{Seq: 1})
	s.queueRow(r)
	u := l.unitOf(s)
	s.queueRow(r)
	if len(s.due) != 0 {
		t.Errorf("%d rows are queued where nobody takes them out", len(s.due))
	}
	u.parts[whole].owned = true
	if s.queueRow(r); len(s.due) != 1 {
		t.Errorf("%d rows are queued where they are handled, want 1", len(s.due))
	}
}

// The server deletes the record of a row that is gone after goneTime.
func TestRowsThatAreGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestLog(t).sub("orders")
		for n := range int64(1000) {
			s.noteGone(n, 10*n)
			time.Sleep(time.Second)
		}
		if most := int(2 * goneTime / time.Second); len(s.gone) > most+1 || len(s.goneRows) > most+1 {
			t.Errorf("%d rows that are gone are known, and %d are to be forgotten, want %d", len(s.gone), len(s.goneRows), most)
		}
		if s.gone[999] != 9990 {
			t.Error("the last one is forgotten")
		}
	})
}

// The record of names must fit into a message, however often somebody changes a pattern.
func TestAPatternThatChangesAgainAndAgainKeepsTheRecordSmall(t *testing.T) {
	r := registry{Subs: []subscription{{ID: "s", Pattern: "a.*"}}, Types: []typenames.Row{{ID: 1, Name: "a.x", Written: "a.x"}, {ID: 2, Name: "b.x", Written: "b.x"}}}
	for n := range int64(1001) {
		before := r.clone()
		r.Subs[0].Pattern = []string{"b.*", "a.*"}[n%2]
		r.keepLost(&before)
		r.resolve(10 * n)
	}
	s := &sub{subscription: r.Subs[0], routes: map[string]bool{"b.x": true}}
	if len(s.Also) != 1 || !s.matches(&engine.Record{Type: "a.x", Seq: 10_000}) || s.matches(&engine.Record{Type: "a.x", Seq: 10_001}) || !s.matches(&engine.Record{Type: "b.x", Seq: 10_001}) {
		t.Errorf("the subscription keeps %d former patterns: %+v", len(s.Also), s.Also[:min(len(s.Also), 3)])
	}
}

// A rate for each customer has a bucket for each of them.
func TestRatesOfManyKeysFitIntoMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := openEmpty(t), context.Background()
		tick := func(at engine.LimitTime) engine.LimitTime { at.Now = time.Now().UTC(); return at }
		var leases []engine.LimitLease
		for n := range 20_000 {
			leases = append(leases, engine.LimitLease{Limit: "mails", Key: fmt.Sprint("customer ", n), Rate: engine.LimitRate{Span: time.Hour, Step: time.Minute}})
		}
		must(t, in.LeaseLimits(ctx, tick, leases))
		again := []engine.LimitLease{leases[7]}
		again[0].Full, again[0].Until = time.Time{}, time.Time{}
		must(t, in.LeaseLimits(ctx, tick, again))
		if !again[0].Full.After(leases[7].Full) {
			t.Errorf("the second lease of a key is %+v, want one behind %+v", again[0], leases[7])
		}
	})
}
