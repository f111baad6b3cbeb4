package buslog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// parker is a process that handles a subscription. What it stores arrives at once, in the views of all.
type parker struct {
	t       *testing.T
	servers *stream.Stream // that say how large a message may be
	log     *Log
	*consumer
	all *[]stream.Stored // that are stored
}

// farBehind is an event behind all of a test.
const farBehind = 1 << 20

func newParker(t *testing.T) *parker {
	all := []stream.Stored{}
	return (&parker{t: t, servers: newStoredLog(t).stream, all: &all}).successor()
}

// successor returns another process, which has read what was stored and has taken over the whole of the subscription.
func (p *parker) successor() *parker {
	p.t.Helper()
	next := p.reader()
	next.take(whole)
	return next
}

// reader returns another process, which has read what was stored.
func (p *parker) reader() *parker {
	p.t.Helper()
	l := newTestLog(p.t)
	l.stream = p.servers
	next := &parker{p.t, p.servers, l, &consumer{wake: func() {}}, p.all}
	next.unit = l.unitOf(l.sub("orders"))
	next.unit.consumer, next.unit.running = next.consumer, true // nothing is stored by itself
	for _, m := range *p.all {
		if err := l.apply(m); err != nil {
			p.t.Fatal(err)
		}
	}
	return next
}

func (p *parker) take(at int) {
	u := p.unit
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	u.sub.parts[at].Owner = u.in.instance
	if u.sub.parts[at].Next == 0 {
		u.sub.parts[at].Next = farBehind
	}
	u.acquire(at, 0)
	u.moved = false
}

func idOf(seq int64) uuid.UUID { return uuid.UUID{byte(seq), byte(seq >> 8)} }

// event hands out an event for the first time.
func (p *parker) event(seq int64) *engine.Delivery {
	p.unit.in.mu.Lock()
	defer p.unit.in.mu.Unlock()
	r := &engine.Record{
		Seq: seq, ID: idOf(seq), Type: "order.placed", Version: 1,
		CreatedAt: time.Now(), Payload: []byte("{}"),
	}
	return p.handOut(r, nil, slotOf(r))
}

// end settles a delivery.
func (p *parker) end(d *engine.Delivery, v engine.Disposition) {
	p.Settle(engine.Settled{Delivery: d, Disposition: v}, nil)
}

// park parks events that are new.
func (p *parker) park(waitlist string, seqs ...int64) {
	for _, seq := range seqs {
		p.end(p.event(seq), engine.Disposition{Kind: engine.Hold, Waitlist: waitlist})
	}
}

// plan returns the batch that is stored next.
func (p *parker) plan() *plan {
	p.t.Helper()
	u := p.unit
	u.shut()
	taken := u.takeEnded()
	rows, err := u.wholeRows(taken)
	if err != nil {
		p.t.Fatal(err)
	}
	u.whole = rows
	u.plan = u.makePlan(taken, nil, nil)
	return u.plan
}

// store stores a batch, or what is to be stored for nil.
func (p *parker) store(one *plan) {
	p.t.Helper()
	p.unit.in.mu.Lock()
	defer p.unit.in.mu.Unlock()
	if one == nil {
		one = p.plan()
	}
	for _, m := range one.msgs {
		p.arrive(m.Subject, m.Data)
	}
}

// arrive makes a record arrive that was stored. The caller holds mu.
func (p *parker) arrive(subject string, data []byte) {
	p.t.Helper()
	m := stream.Stored{Subject: subject, Seq: farBehind + int64(len(*p.all)) + 1, Data: data}
	*p.all = append(*p.all, m)
	if err := p.unit.in.apply(m); err != nil {
		p.t.Fatal(err)
	}
}

// poll returns what is due.
func (p *parker) poll() []*engine.Delivery {
	p.t.Helper()
	all, _, err := p.Poll(nil, farBehind)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func seqsOf(all []*engine.Delivery) []int64 {
	seqs := make([]int64, 0, len(all))
	for _, d := range all {
		seqs = append(seqs, d.Seq)
	}
	return seqs
}

// polls looks which deliveries are due, and returns them.
func (p *parker) polls(when string, want ...int64) []*engine.Delivery {
	p.t.Helper()
	all := p.poll()
	if seqs := seqsOf(all); !slices.Equal(seqs, want) && len(seqs)+len(want) > 0 {
		p.t.Errorf("%s: %d are due, want %d", when, seqs, want)
	}
	return all
}

// behind looks which of the waitlists is the first that has others.
func (p *parker) behind(when string, want int, waitlists ...string) {
	p.t.Helper()
	if at, err := p.Behind(waitlists, farBehind); at != want || err != nil {
		p.t.Errorf("%s: the waitlist %d has others, %v, want %d", when, at, err, want)
	}
}

var done = engine.Disposition{Kind: engine.Done}

func TestWhatIsParkedComesInItsPlaceWhenItsWaitlistIsFreed(t *testing.T) {
	p := newParker(t)
	p.park("a", 8, 1, 3)
	p.park("b", 2)
	p.store(nil)
	p.polls("nothing was freed")
	p.Free("b", 1)
	p.Free("a", 2)
	p.Free("c", 5)
	all := p.polls("b was freed, and a", 2, 1, 3)
	for i, waitlist := range []string{"b", "a", "a"} {
		if all[i].Waitlist != waitlist {
			t.Errorf("event %d is in waitlist %q, want %q", all[i].Seq, all[i].Waitlist, waitlist)
		}
	}
	p.end(all[1], engine.Disposition{Kind: engine.Release})
	p.polls("one was given back", 1)
	p.end(all[2], engine.Disposition{Kind: engine.Hold, Waitlist: "a"})
	p.store(nil)
	p.polls("one is parked again")
	p.Free("a", 1)
	p.polls("the next one was freed", 3)
	p.end(all[0], done)
	p.store(nil)
	if len(p.unit.parking.waitlists) != 1 {
		t.Errorf("there are %d waitlists, want that of what is parked", len(p.unit.parking.waitlists))
	}
}

func TestWhatIsInHandOutOfTurnIsNotFreed(t *testing.T) {
	p := newParker(t)
	p.park("a", 1, 2)
	p.store(nil)
	d, _, err := p.PollEvent(1)
	if d == nil || err != nil {
		t.Fatal(d, err)
	}
	p.Free("a", 1)
	p.polls("the first one is in hand", 2)
	p.end(d, engine.Disposition{Kind: engine.Release})
	p.polls("it is parked as before")
	p.behind("it is parked as before", 0, "a")
}

func TestWhatWasFreedIsDueAlthoughTheClockIsSetBack(t *testing.T) {
	p := newParker(t)
	p.park("a", 1)
	p.store(nil)
	p.Free("a", 1)
	l := p.unit.in
	l.mu.Lock()
	l.clock.wall = func() time.Time { return time.Now().Add(-time.Hour) }
	l.setBack(time.Hour)
	l.mu.Unlock()
	p.polls("the clock was set back", 1)
}

func TestWhatIsParkedUntilATimeComesThenByItself(t *testing.T) {
	p := newParker(t)
	p.end(p.event(1), engine.Disposition{Kind: engine.Hold, Waitlist: "a", Due: time.Now().Add(-time.Second)})
	p.end(p.event(2), engine.Disposition{Kind: engine.Hold, Waitlist: "a", Due: time.Now().Add(time.Hour)})
	p.store(nil)
	p.behind("both wait", 0, "a")
	p.Free("a", 5)
	if all := p.polls("one is due", 1); all[0].Waitlist != "a" {
		t.Errorf("it is in waitlist %q", all[0].Waitlist)
	}
	p.behind("the other waits", 0, "a")
}

func TestAWaitlistIsFreedBeforeItsDeliveryIsStored(t *testing.T) {
	p := newParker(t)
	p.park("a", 1, 2, 3)
	p.Free("a", 1)
	before := p.plan()
	p.Free("a", 1) // while that is on its way
	p.store(before)
	p.polls("two were freed", 1, 2)
	p.successor().polls("the second was freed after what is stored", 1)
	p.store(nil)
	p.successor().polls("all is stored", 1, 2)
}

// The predecessor of a waitlist ends, and has freed it: whoever goes on sees both or neither.
func TestAWaitlistIsFreedNoLaterThanWhatEndsAfterThatIsStored(t *testing.T) {
	p := newParker(t)
	p.park("a", 2)
	p.park("b", 1, 3)
	p.store(nil)
	first := p.event(5)
	p.Free("b", 1)
	p.Free("a", 1)
	p.end(first, done)
	p.store(nil)
	next := p.successor()
	if next.unit.sub.parts[whole].Freed == nil {
		t.Fatal("the cursor names nothing that was freed")
	}
	all := next.polls("a process has gone on", 1, 2)
	for _, d := range all {
		next.end(d, done)
	}
	next.store(nil)
	if left := next.unit.sub.parts[whole].Freed; len(left) > 0 {
		t.Errorf("the cursor names %d, which are handled", left)
	}
	next.successor().polls("it is parked still")
}

// If what has ended does not fit into the next batch, neither who goes on nor the order of a key may know that it is
// over.
func TestWhatAnEndHasFreedIsStoredWithThatEnd(t *testing.T) {
	for _, early := range []bool{false, true} {
		p := newParker(t)
		if p.park("a", 2); !early {
			p.store(nil)
		}
		first, other := p.event(1), p.event(3)
		p.end(other, done)
		p.end(first, engine.Disposition{Kind: engine.Done, Frees: []string{"a", "b"}})
		p.polls("it was freed", map[bool][]int64{false: {2}}[early]...) // else its row is stored first
		for len(p.unit.queue) > 1 {
			p.unit.alone = true // a batch has the end of one
			p.store(nil)
			next := p.successor()
			next.polls("its predecessor has not ended")
			if next.unit.sub.rows[2].State != ledger.Held {
				t.Error("it is stored as one that was freed")
			}
		}
		p.store(nil)
		p.successor().polls("both are stored", 2)
		if early {
			p.polls("its row is stored", 2)
		}
	}
}

func TestAnEndOfWhatHasMovedFreesItsWaitlistsHere(t *testing.T) {
	p := newParker(t)
	p.park("a", 2)
	p.store(nil)
	gone := p.event(1)
	p.unit.in.mu.Lock()
	p.unit.flights.forget(gone.Token.(*flight))
	p.unit.in.mu.Unlock()
	p.end(gone, engine.Disposition{Kind: engine.Done, Frees: []string{"a"}})
	p.polls("its part has moved", 2)
}

func TestOthersAreBehindWhatHoldsUpTheirWaitlist(t *testing.T) {
	p := newParker(t)
	p.end(p.event(3), engine.Disposition{Kind: engine.Hold, Waitlist: "limit", Key: "key"})
	p.store(nil)
	p.Free("key", 5)
	p.polls("it is parked in another waitlist")
	for seq, want := range map[int64]int{3: -1, 4: 0} {
		if at, err := p.Behind([]string{"key"}, seq); at != want || err != nil {
			t.Errorf("event %d: the waitlist %d has others before it, %v, want %d", seq, at, err, want)
		}
	}
	p.Free("limit", 1)
	p.polls("its own waitlist was freed", 3)
	p.behind("it is in hand", -1, "key", "limit")
}

func TestOnOneReplicaAFreedWaitlistIsStoredWithWhatEndsInAnotherPart(t *testing.T) {
	u := dividedUnit(t)
	if !u.storesApart(nil) {
		t.Fatal("the parts are not stored apart")
	}
	r := &row{rowEvent: rowEvent{Seq: 1}, Row: ledger.Row{State: ledger.Held, Delivery: ledger.Delivery{Waitlist: "a"}}}
	u.sub.rows[1] = r
	u.queueRow(r)
	(&consumer{unit: u}).Free("a", 1)
	if u.storesApart(nil) {
		t.Error("the parts are stored apart")
	}
	if u.stored = u.changes; !u.storesApart(nil) {
		t.Error("the parts are not stored apart after that")
	}
	if u.parking.freed[0].by = (&flight{}); u.storesApart(nil) {
		t.Error("the parts are stored apart, and the end that has freed the waitlist is not stored")
	}
}

func TestAWaitlistHasOthersUntilTheyAreInHandOrSettled(t *testing.T) {
	p := newParker(t)
	p.behind("nothing is parked", -1, "a", "key")
	first := p.event(1)
	p.end(first, engine.Disposition{Kind: engine.Hold, Waitlist: "a", Key: "key"})
	if !p.Parked() {
		t.Error("nothing is parked")
	}
	for _, when := range []string{"it is not stored", "it is stored"} {
		p.behind(when, 0, "a", "key")
		p.behind(when, 1, "b", "key", "a")
		p.behind(when, -1, "b")
		p.store(nil)
	}
	p.Free("a", 1)
	p.behind("it was freed", 0, "key")
	d := p.polls("it was freed", 1)[0]
	p.behind("it is in hand", -1, "a", "key")
	p.end(d, engine.Disposition{Kind: engine.Hold, Waitlist: "b"})
	p.behind("it is in another waitlist", 2, "a", "key", "b")
	p.store(nil)
	p.behind("it is in another waitlist", 2, "a", "key", "b")
	p.Free("b", 1)
	p.end(p.polls("it was freed", 1)[0], done)
	p.behind("it is settled", -1, "a", "key", "b")
	if p.store(nil); p.Parked() || len(p.unit.parking.waitlists) > 0 {
		t.Errorf("%d waitlists are left", len(p.unit.parking.waitlists))
	}
}

func TestEachWaitlistHasItsTurn(t *testing.T) {
	p := newParker(t)
	for waitlist := range int64(5) {
		p.park(fmt.Sprint(waitlist), 2*waitlist+1, 2*waitlist+2)
	}
	p.store(nil)
	seen := map[string]int{}
	for _, n := range []int{2, 2, 1} {
		p.Free("", n)
		for _, d := range p.poll() {
			seen[d.Waitlist]++
		}
	}
	for waitlist := range 5 {
		if seen[fmt.Sprint(waitlist)] != 1 {
			t.Errorf("the waitlists have had %v turns, want one each", seen)
			break
		}
	}
	p.Free("", 5)
	p.polls("they have had one turn", 2, 4, 6, 8, 10)
}

func TestWhatIsParkedGoesWithItsPart(t *testing.T) {
	all := []stream.Stored{}
	p := (&parker{t: t, servers: newStoredLog(t).stream, all: &all}).reader()
	p.unit.sub.parts[whole].Divided = true
	for _, at := range allParts {
		p.take(at)
	}
	for seq := range int64(100) {
		p.park("a", seq+1)
	}
	p.store(nil)
	slot := func(seq int64) int { return p.unit.sub.rows[seq].slot() }
	at := partAt(slot(1))
	var moved, stay []int64
	for seq := range int64(100) {
		if partAt(slot(seq+1)) == at {
			moved = append(moved, seq+1)
		} else {
			stay = append(stay, seq+1)
		}
	}
	p.Free("a", 1)
	p.store(nil)
	late := int64(101)
	for partAt(slotFor("", false, idOf(late))) != at {
		late++
	}
	d := p.event(late)
	d.Token.(*flight).begun = true // its handler is at work
	p.unit.in.mu.Lock()
	p.unit.leave(at)
	p.unit.in.mu.Unlock()
	p.check("a handler is at work in a part that is left")
	p.end(d, engine.Disposition{Kind: engine.Hold, Waitlist: "b"})
	p.check("it has ended")
	p.store(nil)
	p.check("the part is left")
	p.unit.moved = false
	next := p.reader()
	next.unit.sub.parts[whole].Divided = true
	next.take(at)
	next.polls("it was freed by the last owner", 1)
	next.Free("a", 100)
	next.polls("the new owner frees them", moved[1:]...)
	next.behind("a handler of the last owner has parked it", 1, "a", "b")
	p.Free("a", 100)
	p.polls("the others have stayed", stay...)
	p.behind("the others are of another process", -1, "a")

	// It comes back, and nothing that was freed there was stored.
	p.take(at)
	p.polls("what was freed in time is due", 1)
	p.behind("the part is back", 0, "a")
	p.Free("a", 1)
	p.polls("the part is back", moved[1])
	p.store(nil)
	if freed := p.unit.sub.parts[at].Freed; !slices.Equal(freed, moved[:2]) {
		t.Errorf("the cursor names %d, want %d", freed, moved[:2])
	}
}

func TestASubscriptionThatIsDividedAndUnitedKeepsWhatIsFreed(t *testing.T) {
	p := newParker(t)
	for seq := range int64(50) {
		p.park("a", seq+1)
	}
	p.store(nil)
	p.Free("a", 20)
	p.store(nil)
	one := p.unit.sub.parts[whole].cursor
	c := &claimed{cursors: map[int]*cursor{whole: &one}}
	if err := p.log.divide(p.unit, c); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, at := range allParts {
		for _, seq := range c.cursors[at].Freed {
			if n++; partAt(p.unit.sub.rows[seq].slot()) != at {
				t.Errorf("event %d is named in part %d", seq, at)
			}
		}
	}
	c.unite()
	if all := slices.Sorted(slices.Values(c.cursors[whole].Freed)); n != 20 || len(slices.Compact(all)) != 20 {
		t.Errorf("of 20 that were freed %d are named in the parts, and %d in the whole", n, len(all))
	}
}

func TestTheEndOfAPauseFreesNothing(t *testing.T) {
	p := newParker(t)
	p.park("a", 1)
	p.store(nil)
	l := p.unit.in
	l.mu.Lock()
	l.registry = registry{
		Format: 2, Types: []typenames.Row{{Name: "order.placed", Written: "order.placed", Version: 1}},
		Subs:   []subscription{{ID: "orders", Name: "orders", Pattern: "*"}},
		Pauses: []engine.Pause{{Kind: engine.PauseType, Target: "order.placed"}},
	}
	l.registryChanged()
	one := l.stateOf(p.unit.sub, p.unit.sub.rows[1].record())
	lag, err := p.log.lagOf(t.Context(), p.unit.sub, 100)
	if err != nil || lag.Waiting != 1 || lag.Held != 0 {
		t.Errorf("%d wait and %d are held while the type is paused, %v, want 1 and 0", lag.Waiting, lag.Held, err)
	}
	l.mu.Unlock()
	if d, _, err := p.PollEvent(1); d == nil || err != nil {
		t.Errorf("it cannot be polled out of turn while its type is paused: %v", err)
	} else {
		p.end(d, engine.Disposition{Kind: engine.Release})
	}
	l.mu.Lock()
	l.registry.Pauses = nil
	l.registryChanged()
	l.mu.Unlock()
	if one.State != "waiting" || one.WaitsFor != "a" {
		t.Errorf("it is %s while its type is paused, want waiting", one.State)
	}
	p.polls("a pause has ended")
	p.behind("a pause has ended", 0, "a")
}

func TestWhatIsParkedIsCancelledAtOnce(t *testing.T) {
	p := newParker(t)
	p.park("a", 1, 2)
	p.store(nil)
	p.cancel(1)
	if d := p.polls("it is cancelled, and held up the next one", 1, 2)[0]; d.Waitlist != "" {
		t.Errorf("it is in waitlist %q", d.Waitlist)
	}
	p.behind("both are in hand", -1, "a")
}

func TestNothingFurtherOfTheLogComesWhileMuchIsUnwritten(t *testing.T) {
	p := newParker(t)
	u, woken := p.unit, 0
	p.wake = func() { woken++ }
	u.next, u.sub.routes["order.placed"] = 100_000, true
	u.in.mu.Lock()
	for seq := range int64(10) {
		u.in.ring.add(&engine.Record{Seq: 100_000 + seq, ID: uuid.New(), Type: "order.placed", CreatedAt: time.Now()})
	}
	u.in.applied, u.in.lastEvent = 100_010, 100_009
	u.in.mu.Unlock()
	for seq := range int64(starved) {
		p.park("a", seq+1)
	}
	if all, more, err := p.Poll(nil, 10); len(all) > 0 || more || err != nil {
		t.Errorf("%d are polled, more: %v, %v; want none", len(all), more, err)
	}
	for len(u.queue) >= starved/2 {
		if all, _, _ := p.Poll(nil, 10); len(all) > 0 {
			t.Fatalf("%d are polled while %d are unwritten", len(all), len(u.queue))
		}
		woken = 0
		p.store(nil)
		u.in.applied = 100_010
	}
	if woken == 0 {
		t.Error("nobody is woken")
	}
	if all, _, err := p.Poll(nil, 10); len(all) != 10 || err != nil {
		t.Errorf("%d are polled, %v, want 10", len(all), err)
	}
}

// A cursor does not name all of very many. If the process dies then, the others are parked, and nothing waits for ever.
func TestOfVeryManyThatWereFreedTheOthersAreParkedAfterACrash(t *testing.T) {
	const n = mostFreed + 500
	p := newParker(t)
	for seq := range int64(n) {
		p.park([]string{"a", "b"}[seq%2], seq+1)
	}
	for len(p.unit.queue) > 0 {
		p.store(nil)
	}
	p.Free("a", n)
	p.Free("b", n)
	p.store(nil)
	next := p.successor()
	all := next.poll()
	if len(all) != mostFreed {
		t.Fatalf("%d are due, want %d", len(all), mostFreed)
	}
	for _, d := range all { // whoever ends one of a waitlist frees the next one
		next.Free(d.Waitlist, 1)
		next.end(d, done)
	}
	for len(next.unit.queue) > 0 {
		next.store(nil)
	}
	next.Free("", 2)
	for left := next.poll(); len(left) > 0; left = next.poll() {
		for _, d := range left {
			all = append(all, d)
			next.Free(d.Waitlist, 1)
			next.end(d, done)
		}
		for len(next.unit.queue) > 0 {
			next.store(nil)
		}
	}
	if next.Parked() || len(all) != n {
		t.Errorf("%d of %d have come", len(all), n)
	}
}

// cancel cancels a delivery, as another process does.
func (p *parker) cancel(seq int64) {
	p.t.Helper()
	u := p.unit
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	whole, err := u.in.wholeRow(u.sub, seq)
	if err != nil {
		p.t.Fatal(err)
	}
	r := whole.clone()
	r.Row = r.Cancel("not needed")
	p.arrive(u.in.rowSubject(u.sub.ID, seq), u.in.rowData(r))
}

// waitlistsOf returns the waitlists as they follow from the rows and from what has ended.
func (p *parker) waitlistsOf() map[string]*lined {
	u, want := p.unit, parking{}
	for _, r := range u.sub.rows {
		if f := u.flights.of(r.Seq); u.hands(r.slot()) && r.State.Open() && (f == nil || !f.ended) {
			want.put(r.Seq, r.Waitlist, r.Delivery.Key, r.parked())
		}
	}
	for _, f := range u.flights.all {
		if f.ended && u.hands(f.slot()) {
			_, freed := u.parking.early[f.record.Seq]
			want.put(f.record.Seq, f.how.Waitlist, f.how.Key, f.how.Due.IsZero() && !freed)
		}
	}
	return want.waitlists
}

func (p *parker) check(step string) {
	p.t.Helper()
	want, got := p.waitlistsOf(), p.unit.parking.waitlists
	for name, l := range want {
		one := got[name]
		if one == nil || !slices.Equal(one.parked, l.parked) || !slices.Equal(one.others, l.others) {
			p.t.Fatalf("%s: the waitlist %s has %+v, want %+v", step, name, one, l)
		}
	}
	if len(got) != len(want) || p.Parked() != (len(want) > 0) {
		p.t.Fatalf("%s: there are %d waitlists, want %d", step, len(got), len(want))
	}
}

// The index of the waitlists is always that of the rows, and everything comes in the end.
func TestTheWaitlistsAreAsTheRowsSay(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		p := newParker(t)
		var hand []*engine.Delivery
		next := int64(1)
		waitlist := func() string { return []string{"", "a", "b", "c"}[random.IntN(4)] }
		for step := range 300 {
			what := ""
			switch n := random.IntN(12); {
			case n < 3:
				what = "new"
				hand = append(hand, p.event(next))
				next++
			case n < 7 && len(hand) > 0:
				at := random.IntN(len(hand))
				d := hand[at]
				hand = slices.Delete(hand, at, at+1)
				v := engine.Disposition{Kind: engine.Hold, Waitlist: waitlist(), Key: waitlist()}
				switch {
				case v.Waitlist == "":
					v = done
				case random.IntN(4) == 0:
					v.Due = time.Now()
				case random.IntN(6) == 0:
					v = engine.Disposition{Kind: engine.Release}
				}
				if v.Kind != engine.Release {
					v.Frees = []string{waitlist(), waitlist()}
				}
				what = fmt.Sprintf("settle %d %+v", d.Seq, v)
				p.end(d, v)
			case n == 7 && random.IntN(8) == 0:
				what = "cancel"
				for _, r := range p.unit.sub.rows {
					if r.State.Open() {
						p.cancel(r.Seq)
						break
					}
				}
			case n == 7:
				what = "free"
				p.Free(waitlist(), random.IntN(3))
			case n == 8:
				what = "store"
				p.store(nil)
			case n == 9:
				what = "store late"
				p.unit.in.mu.Lock()
				one := p.plan()
				p.unit.in.mu.Unlock()
				p.Free(waitlist(), 1)
				p.store(one)
			case n == 10:
				what = "poll"
				hand = append(hand, p.poll()...)
			case random.IntN(4) == 0:
				what = "die"
				p.unit.in.mu.Lock()
				p.unit.lose(whole)
				p.unit.in.mu.Unlock()
				p.check(what)
				p = p.successor()
				hand = hand[:0]
			}
			p.check(fmt.Sprintf("seed %d, step %d: %s", seed, step, what))
		}
		for range 10_000 {
			for _, d := range hand {
				p.end(d, done)
			}
			p.store(nil)
			p.Free("", 2)
			hand = p.poll()
			if len(hand) == 0 && !p.Parked() {
				break
			}
		}
		open := 0
		for _, r := range p.unit.sub.rows {
			if r.State.Open() {
				open++
			}
		}
		if open > 0 {
			t.Errorf("seed %d: %d deliveries have not come", seed, open)
		}
	}
}

// Nobody frees what is parked in a part that nobody has.
func TestAPartWithWhatIsParkedStandsStillWhenNobodyHasIt(t *testing.T) {
	p := newParker(t)
	p.park("a", 1)
	p.store(nil)
	l := p.log
	l.mu.Lock()
	defer l.mu.Unlock()
	ready, err := l.readyBefore(t.Context(), p.unit.sub, onlyWhole, time.Now())
	if since, ok := ready[whole]; err != nil || !ok || !since.Equal(p.unit.sub.rows[1].CreatedAt) {
		t.Errorf("the parts %v stand still, %v, want the whole", ready, err)
	}
}
