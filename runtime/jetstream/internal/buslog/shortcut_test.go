package buslog

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// newBusyUnit returns a unit whose shortcut is open, with deliveries of the events 1 to n.
func newBusyUnit(t *testing.T, n int64) (c *consumer, all []*engine.Delivery) {
	u := newTestUnit(t, 1, n+1)
	c = &consumer{unit: u, wake: func() {}}
	u.consumer = c
	u.setBusy(true)
	u.parts[whole].busy = true
	for seq := range n {
		all = append(all, c.handOut(&engine.Record{Seq: seq + 1, ID: uuid.New()}, nil, 0))
	}
	if u.openShortcut(); !u.shortcut.isFree() {
		t.Fatal("the shortcut is not open")
	}
	return c, all
}

func (c *consumer) run(d *engine.Delivery) (quickly bool) {
	return c.beginQuickly(d, time.Now()) && c.endQuickly(d) && c.settleQuickly(d, &engine.Disposition{Kind: engine.Done})
}

// What workers have said on the shortcut counts for whoever looks afterwards.
func TestWhatWorkersSayOnTheShortcutIsCarriedOver(t *testing.T) {
	c, all := newBusyUnit(t, 6)
	u := c.unit
	if !c.run(all[0]) || !c.run(all[2]) || !c.beginQuickly(all[1], time.Now()) || !c.beginQuickly(all[4], time.Now()) {
		t.Fatal("the shortcut is closed")
	}
	u.shut()
	p := u.makePlan(u.takeEnded(), nil, nil)
	stored := p.cursors[whole]
	if stored == nil || stored.Next != 4 || !slices.Equal(stored.Open, []int64{2}) || len(stored.Ran) != 2 || stored.Ran[0].Seq != 2 || stored.Ran[1].Seq != 5 {
		t.Errorf("the cursor is %+v, want the next event 4, 2 open, and 2 and 5 at work", stored)
	}
	if len(p.flights) != 2 {
		t.Errorf("%d deliveries are stored, want 2", len(p.flights))
	}
}

// The memory of the notes is used again as soon as they are carried over.
func TestNotesOfTheShortcutAreCarriedOverOnceEach(t *testing.T) {
	c, all := newBusyUnit(t, 9)
	u := c.unit
	for i, d := range all {
		if !c.run(d) {
			t.Fatal("the shortcut is closed")
		}
		if i%3 == 2 {
			u.openShortcut() // those who poll open it without shutting it
		}
		if i%3 == 1 {
			u.shut()
			u.openShortcut()
		}
	}
	u.shut()
	for name, flights := range map[string][]*flight{"ended": u.queue, "at work": u.atWork} {
		var seqs []int64
		for _, f := range flights {
			if f == nil {
				t.Fatalf("a delivery that has %s is forgotten", name)
			}
			seqs = append(seqs, f.record.Seq)
		}
		if !slices.Equal(seqs, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
			t.Errorf("%s: %v", name, seqs)
		}
	}
	for _, notes := range [][]*flight{u.shortcut.begun[:cap(u.shortcut.begun)], u.shortcut.ended[:cap(u.shortcut.ended)]} {
		if slices.ContainsFunc(notes, func(f *flight) bool { return f != nil }) {
			t.Error("the shortcut keeps deliveries in memory that were carried over")
		}
	}
}

// A worker that has gone on for long enough lets the others have their turn, which begins anew.
func TestATurnEndsAfterItsTime(t *testing.T) {
	c, all := newBusyUnit(t, 5)
	w, began := &c.unit.shortcut, time.Now()
	for i, step := range []struct {
		after time.Duration
		goes  bool // the turn goes on
	}{{0, true}, {turn - 1, true}, {turn, false}, {turn + 1, true}, {2*turn + 1, false}} {
		c.beginQuickly(all[i], began.Add(step.after))
		if goes := !w.turn.IsZero(); goes != step.goes {
			t.Errorf("the turn goes on after %v: %v", step.after, goes)
		}
	}
}

// There is a flight for each delivery: see flightsAtOnce.
func TestTheFlightsThatAreAllocatedTogetherFillFourKiB(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("it is smaller here")
	}
	const room, header = 4 << 10, 8 // what the allocator adds
	one := int(unsafe.Sizeof(flight{}))
	if all := one*flightsAtOnce + header; all > room || all+one <= room {
		t.Errorf("%d flights of %d bytes need %d bytes", flightsAtOnce, one, all)
	}
}

func TestTheShortcutIsClosed(t *testing.T) {
	deliver := func(c *consumer, kind string, seq int64, record any) error {
		data, _ := json.Marshal(record)
		l := c.unit.in
		return l.apply(stream.Stored{Subject: l.subject(kind, c.unit.sub.ID, fmt.Sprint(seq)), Seq: 1000, Data: data})
	}
	for _, test := range []struct {
		when   string
		itself bool // without being asked whether it may stay open
		do     func(c *consumer, all []*engine.Delivery)
	}{
		{"when somebody wishes to have a delivery cancelled", true, func(c *consumer, _ []*engine.Delivery) {
			if err := deliver(c, askToken, 2, ask{Reason: "not needed"}); err != nil {
				t.Error(err)
			}
		}},
		{"when a delivery is cancelled", true, func(c *consumer, _ []*engine.Delivery) {
			if err := deliver(c, rowToken, 2, storedRow{rowEvent: rowEvent{Seq: 2}, State: "waiting", Cancelled: true}); err != nil {
				t.Error(err)
			}
		}},
		{"when another process has taken the subscription over", true, func(c *consumer, _ []*engine.Delivery) { c.unit.lose(whole) }},
		{"when the consumer has ended", true, func(c *consumer, _ []*engine.Delivery) { c.end() }},
		{"when the unit is busy no more", false, func(c *consumer, _ []*engine.Delivery) { c.unit.setBusy(false) }},
		{"while claims are exact after a crash", false, func(c *consumer, _ []*engine.Delivery) { c.unit.wary = 1 }},
		{"while the stored cursor does not say that the unit is busy", false, func(c *consumer, _ []*engine.Delivery) { c.unit.parts[whole].busy = false }},
		{"for what was polled and is given up", true, func(c *consumer, _ []*engine.Delivery) { c.unit.leave(whole) }},
		{"for a delivery that comes again", false, func(c *consumer, all []*engine.Delivery) {
			c.Settle(engine.Settled{Delivery: all[1], Disposition: engine.Disposition{Kind: engine.Release}}, nil)
		}},
		{"for a delivery that has ended", false, func(c *consumer, all []*engine.Delivery) { c.run(all[1]) }},
		{"for a delivery that has failed before", false, func(c *consumer, all []*engine.Delivery) { all[1].Token.(*flight).row = &row{} }},
		{"for a delivery of another consumer", false, func(c *consumer, all []*engine.Delivery) { all[1].Token.(*flight).consumer = &consumer{} }},
		{"when too much is unstored", false, func(c *consumer, all []*engine.Delivery) {
			for _, d := range all[2:] {
				c.run(d)
			}
		}},
	} {
		t.Run(test.when, func(t *testing.T) {
			c, all := newBusyUnit(t, mostUnstored+2)
			test.do(c, all)
			if test.itself && c.unit.shortcut.isFree() {
				t.Error("the shortcut is open")
			}
			c.unit.openShortcut()
			before := all[1].Token.(*flight).begun
			if c.beginQuickly(all[1], time.Now()) || all[1].Token.(*flight).begun != before {
				t.Error("a handler begins on the shortcut")
			}
		})
	}
}

// Who lets go of a subscription waits for the handlers that have begun on the shortcut.
func TestAHandlerThatHasBegunOnTheShortcutIsNotGivenUp(t *testing.T) {
	c, all := newBusyUnit(t, 2)
	c.beginQuickly(all[0], time.Now())
	c.unit.leave(whole)
	if c.unit.shortcut.isFree() {
		t.Error("the shortcut is open")
	}
	if c.unit.quiet(whole, &plan{}) {
		t.Error("nothing is at work, but a handler has begun")
	}
	if known := c.unit.flights.of(1) != nil; !known || c.unit.flights.of(2) != nil {
		t.Errorf("the delivery that has begun is known: %v, and the other must not be", known)
	}
}

// Who takes a delivery back by a row hears that its handler runs.
func TestWhoCancelsHearsOfAHandlerThatHasBegunOnTheShortcut(t *testing.T) {
	c, all := newBusyUnit(t, 1)
	c.beginQuickly(all[0], time.Now())
	if what := c.unit.answer(all[0].Record); what != running || c.unit.shortcut.isFree() {
		t.Errorf("the answer is %q, want %q; the shortcut is open: %v", what, running, c.unit.shortcut.isFree())
	}
}

// Deliveries are allocated together. If what is stored kept its plan, each plan would keep the
// one before in memory, and a busy process would grow for ever.
func TestWhatIsStoredDoesNotStayInMemory(t *testing.T) {
	c, all := newBusyUnit(t, 3*flightsAtOnce/2)
	var plans []weak.Pointer[plan]
	for len(all) > 2 {
		c.run(all[0])
		c.run(all[1])
		c.unit.shut()
		p := c.unit.makePlan(c.unit.takeEnded(), nil, nil)
		c.unit.plan = p
		c.unit.complete(p, whole)
		plans, all = append(plans, weak.Make(p)), all[2:]
	}
	runtime.GC()
	for i, p := range plans {
		if p.Value() != nil {
			t.Fatalf("plan %d of %d is still in memory", i+1, len(plans))
		}
	}
	runtime.KeepAlive(all)
}

func TestFlightsAreInTheOrderOfTheirEvents(t *testing.T) {
	var fs flights
	made := map[int64]*flight{}
	for _, seq := range []int64{5, 9, 2, 7, 11, 3} {
		made[seq] = &flight{record: &engine.Record{Seq: seq}}
		fs.add(made[seq])
	}
	fs.forget(made[7])
	made[2].known, made[11].known = false, false
	fs.sweep()
	fs.forget(made[7]) // a second time
	var left []int64
	for _, f := range fs.all {
		left = append(left, f.record.Seq)
	}
	if !slices.Equal(left, []int64{3, 5, 9}) {
		t.Errorf("%v are left, want 3, 5, 9", left)
	}
	if fs.of(9) != made[9] || fs.of(4) != nil || fs.of(11) != nil {
		t.Error("an event has another flight than its own")
	}
}

// The timer that finds a unit calm looks again: a handler that begins before that is stored
// keeps the unit busy.
func TestAUnitThatWasFoundCalmIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := newBusyUnit(t, 2)
		u := c.unit
		u.calm.Reset(exactWindow)
		time.Sleep(exactWindow + time.Millisecond) // it is calm, and nothing is stored yet
		c.run(all[0])
		u.in.mu.Lock()
		u.shut()
		p := u.makePlan(u.takeEnded(), nil, nil)
		u.plan = p
		u.complete(p, whole)
		u.in.mu.Unlock()
		if !u.busyMode {
			t.Fatal("the unit is calm although a handler has just begun")
		}
		for range 2 { // the signals of what was stored
			select {
			case <-u.now:
			case <-u.soon:
			default:
			}
		}
		time.Sleep(3 * exactWindow)
		select {
		case <-u.soon:
		default:
			t.Fatal("nobody looks whether the unit is calm")
		}
		u.in.mu.Lock()
		defer u.in.mu.Unlock()
		if u.makePlan(nil, nil, nil); u.busyMode {
			t.Error("the unit is busy, although nothing begins")
		}
	})
}

// The claim of a handler that never returns is stored, so that a crash is blamed on it.
func TestAHandlerThatBeginsOnTheShortcutIsToBeStored(t *testing.T) {
	c, all := newBusyUnit(t, 1)
	c.beginQuickly(all[0], time.Now())
	select {
	case <-c.unit.soon:
	default:
		t.Error("nothing is to be stored")
	}
}

// The members of a group begin one after the other with the same delivery. One that is left
// behind keeps its claim, although another has returned before.
func TestAMemberThatIsLeftBehindKeepsItsClaim(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed shortcut ", closed), func(t *testing.T) {
			c, all := newBusyUnit(t, 1)
			d := all[0]
			if closed {
				c.unit.busyMode = false
				c.unit.begin(c.flight(d), time.Now())
				c.End([]*engine.Delivery{d})
				c.unit.begin(c.flight(d), time.Now())
			} else {
				c.beginQuickly(d, time.Now())
				c.endQuickly(d)
				c.beginQuickly(d, time.Now())
			}
			c.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Snooze}}, nil)
			if len(c.unit.left) != 1 {
				t.Errorf("%d handlers are left behind, want 1", len(c.unit.left))
			}
		})
	}
}
