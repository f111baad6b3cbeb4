package buslog

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// newTestLog returns a log without a server, which is closed when the test ends: what it does some seconds later would ask one.
func newTestLog(t *testing.T) *Log {
	l := &Log{}
	l.init(&stream.Stream{}, "", engine.Options{})
	l.instance = "me"
	t.Cleanup(func() { close(l.stopped) })
	return l
}

// newStoredLog returns a log with a server, whose view is the test's.
func newStoredLog(t *testing.T) *Log {
	t.Helper()
	l := newTestLog(t)
	nc, err := servertest.Start(t, t.TempDir()).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if l.stream, err = stream.Open(context.Background(), nc, "bus", stream.Settings{InMemory: true}); err != nil {
		t.Fatal(err)
	}
	return l
}

// A cursor says from when it is made on what it will say when it is stored: if that is that no
// handlers run without a claim, none may begin without one meanwhile.
func TestHandlersAreClaimedWhileAQuietCursorIsOnItsWay(t *testing.T) {
	l := newTestLog(t)
	s := l.sub("orders")
	u := l.unitOf(s)
	s.parts[whole] = part{cursor{N: 1, Owner: "me", Busy: true, Next: 1}, 1}
	u.parts[whole] = share{owned: true, busy: true, n: 1}
	u.busyMode = true // and nothing has begun since the last cursor
	if p := u.makePlan(nil, nil, nil); p.cursors[whole] == nil || p.cursors[whole].Busy {
		t.Fatal("the cursor is not quiet")
	}
	for n := range 3 * burst {
		if !u.claim(0, false, time.Now()) {
			t.Fatalf("handler %d begins without a claim", n)
		}
	}
}

// Each subscription of a process that has died is taken over by itself. Until the last one is,
// the others may have had owners that died, too.
func TestWhatRanBesideIsKnownAfterTwoOwnersHaveDied(t *testing.T) {
	l := newTestLog(t)
	c := cursor{Owner: "first", Ran: []claim{{Seq: 1, ID: uuid.New()}}}
	c.died()
	c.Owner, c.Ran = "second", []claim{{Seq: 1, ID: uuid.New()}}
	c.died()
	c.Owner, c.Ran = "third", nil
	l.sub("a").parts[whole] = part{c, 7}
	other := cursor{Owner: "first", Ran: []claim{{Seq: 2, ID: uuid.New()}}}
	l.sub("b").parts[whole] = part{other, 8}
	if others, _, beside := l.ranBeside(l.sub("b"), &other, called{}); others != (ledger.Others{AtWork: 1, Counting: 1}) || len(beside) != 2 {
		t.Errorf("%+v ran beside it, and %d are named, want one that counts, and 2", others, len(beside))
	}
}

// The record of a cursor must fit into a message, however many handlers its owners had.
func TestFormerOwnersNameAFewOfManyHandlers(t *testing.T) {
	l := newTestLog(t)
	c := cursor{Owner: "first"}
	for seq := range int64(20_000) {
		c.Ran = append(c.Ran, claim{Seq: seq, ID: uuid.New()})
	}
	other := c
	c.died()
	other.died()
	other.Owner = ""
	other.addFormers(c.Formers)
	l.sub("a").parts[whole] = part{other, 7}
	one := cursor{Owner: "first"}
	others, _, beside := l.ranBeside(l.sub("a"), &one, called{})
	if others != (ledger.Others{AtWork: 40_000, Counting: 40_000}) || len(beside) > mostBeside {
		t.Errorf("%+v ran beside it, and %d are named, want 40,000 that count, and at most %d", others, len(beside), mostBeside)
	}
}

// What was not stored for sure may be stored later: a takeover must not be taken for it.
func TestATakeoverHasANumberOfItsOwn(t *testing.T) {
	l := newTestLog(t)
	s := l.sub("orders")
	s.parts[whole] = part{cursor{N: 6, Next: 1}, 1}
	u := l.unitOf(s)
	u.consumer, u.parts[whole].n = &consumer{unit: u}, 9
	c, err := l.claimsOf(u, onlyWhole, batchRoom)
	if err != nil || c.cursors[whole].N != 10 {
		t.Errorf("the cursor is %+v, %v, want the number 10", c.cursors[whole], err)
	}
}

func TestWhatRanInPartsIsAddedUp(t *testing.T) {
	one, other := cursor{Owner: "first", Ran: []claim{{Seq: 1}}}, cursor{Owner: "first", Busy: true, Ran: []claim{{Seq: 2}, {Seq: 3, Waits: true}}}
	one.died()
	other.died()
	one.addFormers(other.Formers)
	if len(one.Formers) != 1 || len(one.Formers[0].Ran) != 3 || one.Formers[0].Counting != 2 || !one.Formers[0].Busy {
		t.Errorf("the former owners are %+v", one.Formers)
	}
}

// A handler that was left behind has stored a row with its attempt. If there is none any more, a
// later attempt has succeeded, and nothing comes again when the process dies.
func TestWhatWasLeftBehindAndHasSucceededSinceThenDoesNotComeAgain(t *testing.T) {
	l := newStoredLog(t)
	s := l.sub("orders")
	u := l.unitOf(s)
	l.ring.add(&engine.Record{Seq: 3, ID: uuid.New(), Type: "order.placed"})
	s.noteGone(3, 6)
	c := cursor{N: 1, Owner: "old", Next: 4, Ran: []claim{{Seq: 3, Left: true}}}
	s.parts[whole] = part{c, 7}
	if msgs, crashes, all, err := l.recover(u, &c, called{}, 10); err != nil || !all || len(msgs)+len(crashes) != 0 {
		t.Errorf("recover returns %d rows, %d crashes, %v, %v, want none", len(msgs), len(crashes), all, err)
	}
}

// A delivery that has ended its process five times, alone, ends another one, of which nobody
// knows what ran beside it. When it does so alone again, that is the sixth failed attempt.
func TestACrashOfASuspectCountsOnceAtMost(t *testing.T) {
	l := newStoredLog(t)
	s := l.sub("orders")
	u := l.unitOf(s)
	r := newRow(&engine.Record{Seq: 3, ID: uuid.New()})
	r.Failures, r.Together, r.Crashed, r.rev = 5, 1, true, 5
	crash := func(busy bool) *row {
		t.Helper()
		s.rows[3] = r
		c := cursor{N: 1, Owner: "old", Busy: busy, Next: 4, Ran: []claim{{Seq: 3, ID: r.ID}}}
		s.parts[whole] = part{c, 7}
		msgs, _, _, err := l.recover(u, &c, called{}, 10)
		if err != nil || len(msgs) != 1 {
			t.Fatal(len(msgs), err)
		}
		next, err := decodeRow(msgs[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	if r = crash(true); r.Failures != 5 || r.Uncounted != 1 {
		t.Errorf("it has %d failures, and %d that do not count, want 5 and 1", r.Failures, r.Uncounted)
	}
	if r = crash(false); r.Failures != 6 {
		t.Errorf("it has %d failures, want 6", r.Failures)
	}
}

// One of the handlers of a batch has ended the process in another goroutine, while all of them waited: all are suspects,
// in halves.
func TestABatchWhoseHandlersAllWaitedIsHalved(t *testing.T) {
	l := newStoredLog(t)
	u := l.unitOf(l.sub("orders"))
	c := cursor{N: 1, Owner: "old", Next: 5}
	for seq := range int64(4) {
		l.ring.add(&engine.Record{Seq: seq + 1, ID: uuid.New(), Type: "order.placed"})
		c.Ran = append(c.Ran, claim{Seq: seq + 1, Waits: true, Batch: true})
	}
	u.sub.parts[whole] = part{c, 7}
	msgs, crashes, _, err := l.recover(u, &c, called{}, 10)
	if err != nil || len(crashes) != 4 {
		t.Fatalf("%d crashes are reported, %v, want 4", len(crashes), err)
	}
	for seq, r := range recordsOf(t, msgs) {
		if r["together"] != 2.0 {
			t.Errorf("event %d is in a batch with %v suspects, want 2", seq, r["together"])
		}
	}
}

// A handler that waits for others did not run, left behind or not.
func TestAHandlerThatWasLeftBehindAndWaitsIsNoSuspect(t *testing.T) {
	l := newStoredLog(t)
	u := l.unitOf(l.sub("orders"))
	r := newRow(&engine.Record{Seq: 1, ID: uuid.New(), Type: "order.placed"})
	r.rev = 5
	l.whole.add(r)
	u.sub.rows[1] = r
	l.ring.add(&engine.Record{Seq: 2, ID: uuid.New(), Type: "order.placed"})
	c := cursor{N: 1, Owner: "old", Next: 5, Ran: []claim{{Seq: 1, Waits: true, Left: true}, {Seq: 2}}}
	u.sub.parts[whole] = part{c, 7}
	msgs, _, _, err := l.recover(u, &c, called{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if r := recordsOf(t, msgs)[1]; r != nil {
		t.Errorf("the row of what waited is stored again: %v", r)
	}
}
