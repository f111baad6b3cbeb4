package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// A parcelLog has a subscription to orders, whose deliveries wait for parcels by the id of their order.
type parcelLog struct {
	*Log
	t      *testing.T
	orders engine.Consumer
}

var parcelTypes = []engine.TypeSpec{
	{Name: "order.placed"}, {Name: "parcel.scanned", AwaitBy: []string{"order"}}, {Name: "parcel.lost", AwaitBy: []string{"order"}},
}

func openParcels(t *testing.T, path string) *parcelLog {
	t.Helper()
	g := &parcelLog{t: t}
	g.open(path, parcelTypes)
	t.Cleanup(func() { g.Close() })
	g.dispatch()
	return g
}

func (g *parcelLog) open(path string, types []engine.TypeSpec) {
	g.t.Helper()
	log, err := Open(path, Options{Unsynced: true})
	must(g.t, err)
	g.Log = log
	must(g.t, log.Declare(g.t.Context(), types, nil))
}

func (g *parcelLog) dispatch() {
	g.t.Helper()
	_, err := g.TakeOver(g.t.Context())
	must(g.t, err)
	g.orders, err = g.Consumer(g.t.Context(), engine.ConsumerSpec{Name: "fulfil", Pattern: "order.placed"})
	must(g.t, err)
}

func parcel(order any) []byte { return fmt.Appendf(nil, `{"code":"x","order":%q}`, fmt.Sprint(order)) }

func events(eventType string, payloads ...[]byte) (records []engine.Record) {
	for _, payload := range payloads {
		records = append(records, engine.Record{ID: uuid.Must(uuid.NewV7()), Type: eventType, Payload: payload, CreatedAt: engine.Now()})
	}
	return records
}

// publish appends one event and returns its place.
func (g *parcelLog) publish(eventType string, payload []byte) int64 {
	g.t.Helper()
	records := events(eventType, payload)
	must(g.t, g.Append(g.t.Context(), records))
	return records[0].Seq
}

// poll returns the deliveries that are due.
func (g *parcelLog) poll() (due []*engine.Delivery) {
	g.t.Helper()
	for more := true; more; {
		var page []*engine.Delivery
		var err error
		page, more, err = g.orders.Poll(nil, 100)
		must(g.t, err)
		due = append(due, page...)
	}
	return due
}

// order publishes an order and returns its delivery.
func (g *parcelLog) order(id string) *engine.Delivery {
	g.t.Helper()
	seq := g.publish("order.placed", fmt.Appendf(nil, `{"id":%q}`, id))
	for _, d := range g.poll() {
		if d.Seq == seq {
			return d
		}
		g.orders.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Release}}, nil)
	}
	g.t.Fatalf("order %s is not delivered", id)
	return nil
}

// store stores a step of a delivery.
func (g *parcelLog) store(d *engine.Delivery, step engine.Step) {
	g.t.Helper()
	must(g.t, g.StoreStep(g.t.Context(), &engine.Stepping{Consumer: g.orders, Delivery: d, Step: step}))
}

// suspend lets a delivery wait for events for three minutes.
func (g *parcelLog) suspend(d *engine.Delivery, of ...engine.Awaited) {
	g.t.Helper()
	g.orders.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{
		Kind: engine.Suspend, Due: time.Now().Add(3 * time.Minute), Awaits: []engine.Await{{Name: "parcel", Of: of}},
	}}, nil)
	must(g.t, g.Flush(g.t.Context()))
}

func seqsOf(all []*engine.Delivery) (seqs []int64) {
	for _, d := range all {
		seqs = append(seqs, d.Seq)
	}
	slices.Sort(seqs)
	return seqs
}

// first is what First finds: a place in the log, 0 for none.
func (g *parcelLog) first(of ...engine.Awaited) int64 {
	g.t.Helper()
	found, err := g.First(g.t.Context(), of, nil)
	must(g.t, err)
	if found == nil {
		return 0
	}
	return found.Seq
}

func TestTheFirstEventOfAKeyIsFound(t *testing.T) {
	g := openParcels(t, filepath.Join(t.TempDir(), "events.db"))
	id := uuid.New()
	records := slices.Concat(
		events("parcel.scanned", parcel(7), parcel(8), []byte(`{"order":7}`), []byte(`{"order":true}`), []byte(`{"order":""}`), []byte(`{"order":null}`), []byte(`[]`)),
		events("parcel.lost", parcel(7), parcel(strings.ToUpper(id.String())), parcel(strings.Repeat("x", 300))), events("order.placed", parcel(7)),
	)
	must(t, g.Append(t.Context(), records))
	for name, test := range map[string]struct {
		of   []engine.Awaited
		want int64
	}{
		"of a type":          {[]engine.Awaited{{Type: "parcel.scanned", Key: "8"}}, 2},
		"a text":             {[]engine.Awaited{{Type: "parcel.scanned", Key: "7"}}, 1},
		"behind another":     {[]engine.Awaited{{Type: "parcel.scanned", Key: "7", After: 1}}, 3},
		"a flag":             {[]engine.Awaited{{Type: "parcel.scanned", Key: "true"}}, 4},
		"no key":             {[]engine.Awaited{{Type: "parcel.scanned", Key: ""}}, 0},
		"another key":        {[]engine.Awaited{{Type: "parcel.scanned", Key: "9"}}, 0},
		"behind all":         {[]engine.Awaited{{Type: "parcel.scanned", Key: "7", After: 3}}, 0},
		"one of several":     {[]engine.Awaited{{Type: "parcel.lost", Key: "7"}, {Type: "parcel.scanned", Key: "8"}}, 2},
		"the other":          {[]engine.Awaited{{Type: "parcel.lost", Key: "7"}, {Type: "parcel.scanned", Key: "9"}}, 8},
		"a UUID":             {[]engine.Awaited{{Type: "parcel.lost", Key: id.String()}}, 9},
		"a UUID in capitals": {[]engine.Awaited{{Type: "parcel.lost", Key: strings.ToUpper(id.String())}}, 9},
		"a long text":        {[]engine.Awaited{{Type: "parcel.lost", Key: strings.Repeat("x", 300)}}, 10},
		"another long text":  {[]engine.Awaited{{Type: "parcel.lost", Key: strings.Repeat("x", 301)}}, 0},
	} {
		if got := g.first(test.of...); got != test.want {
			t.Errorf("%s: found the event at %d, want %d", name, got, test.want)
		}
	}
	found, err := g.First(t.Context(), []engine.Awaited{{Type: "parcel.scanned", Key: "8"}}, nil)
	must(t, err)
	if found.ID != records[1].ID || found.Type != "parcel.scanned" || found.Version != 1 || string(found.Payload) != string(records[1].Payload) || !found.CreatedAt.Equal(records[1].CreatedAt) {
		t.Errorf("found %+v, want %+v", found, records[1])
	}
	if _, err := g.First(t.Context(), []engine.Awaited{{Type: "order.placed", Key: "7"}}, nil); err == nil || !strings.Contains(err.Error(), "await_by") {
		t.Errorf("a type without keys: %v", err)
	}
}

func TestAnEventWakesTheDeliveriesThatWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openParcels(t, filepath.Join(t.TempDir(), "events.db"))
		woken := make(chan struct{}, 100)
		seven, eight, either := g.order("7"), g.order("8"), g.order("9")
		g.suspend(seven, engine.Awaited{Type: "parcel.scanned", Key: "7", After: seven.Seq})
		g.suspend(eight, engine.Awaited{Type: "parcel.scanned", Key: "8", After: eight.Seq})
		g.suspend(either, engine.Awaited{Type: "parcel.scanned", Key: "9", After: either.Seq}, engine.Awaited{Type: "parcel.lost", Key: "7", After: either.Seq})
		g.orders.Notify(func() { woken <- struct{}{} }, nil)
		for range len(woken) {
			<-woken
		}
		if due := g.poll(); len(due) > 0 {
			t.Fatalf("%v are due before an event", seqsOf(due))
		}
		g.publish("parcel.scanned", parcel(7))
		must(t, g.Flush(t.Context()))
		if got, want := seqsOf(g.poll()), []int64{seven.Seq}; !slices.Equal(got, want) || len(woken) == 0 {
			t.Errorf("due: %v, want %v; the consumer was called %d times", got, want, len(woken))
		}
		g.publish("parcel.lost", parcel(7))
		must(t, g.Flush(t.Context()))
		if got, want := seqsOf(g.poll()), []int64{either.Seq}; !slices.Equal(got, want) {
			t.Errorf("due: %v, want %v", got, want)
		}
		left := must2(g.count("SELECT count(*) FROM busgen_waits"))(t)
		if left != 1 {
			t.Errorf("%d waits are left, want that of the order 8", left)
		}
		time.Sleep(4 * time.Minute)
		if got, want := seqsOf(g.poll()), []int64{eight.Seq}; !slices.Equal(got, want) {
			t.Errorf("due after the time: %v, want %v", got, want)
		}
	})
}

func must2[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

func (g *parcelLog) count(sql string) (int64, error) {
	return valueOf(g.ground, func(c *database.Conn) (int64, error) { return c.Int64(sql) })
}

// Between the look of an attempt and the transaction that writes what it waits for, the event can be stored in every way.
func TestNoEventFallsBetweenLookingAndWaiting(t *testing.T) {
	for name, store := range map[string]func(g *parcelLog, staged *[]engine.Record){
		"before it":     func(g *parcelLog, _ *[]engine.Record) { g.publish("parcel.scanned", parcel(7)) },
		"with it":       func(_ *parcelLog, staged *[]engine.Record) { *staged = events("parcel.scanned", parcel(7)) },
		"delayed":       func(g *parcelLog, _ *[]engine.Record) { g.delayed(7) },
		"by the outbox": func(g *parcelLog, _ *[]engine.Record) { g.outbox(7) },
		"by another process": func(g *parcelLog, _ *[]engine.Record) {
			other, err := Open(g.path, Options{Unsynced: true})
			must(g.t, err)
			must(g.t, other.Append(g.t.Context(), events("parcel.scanned", parcel(7))))
			must(g.t, other.Close())
		},
		"in a function of the program": func(g *parcelLog, _ *[]engine.Record) {
			must(g.t, g.Transact(g.t.Context(), engine.Transaction{Limit: time.Minute, Run: func(tx engine.Tx) error {
				_, err := tx.ExecContext(g.t.Context(), "INSERT INTO outbox (type, payload) VALUES ('parcel.scanned', ?)", string(parcel(7)))
				return err
			}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := openParcels(t, filepath.Join(t.TempDir(), "events.db"))
				d := g.order("7")
				of := engine.Awaited{Type: "parcel.scanned", Key: "7", After: d.Seq}
				if g.first(of) != 0 {
					t.Fatal("the event is there before it is")
				}
				var staged []engine.Record
				store(g, &staged)
				g.orders.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{
					Kind: engine.Suspend, Due: time.Now().Add(3 * time.Minute), Awaits: []engine.Await{{Name: "parcel", Of: []engine.Awaited{of}}}, Staged: staged,
				}}, nil)
				must(t, g.Flush(t.Context()))
				time.Sleep(time.Second) // others are noticed
				synctest.Wait()
				if due := seqsOf(g.poll()); !slices.Equal(due, []int64{d.Seq}) {
					t.Errorf("due: %v, want %d", due, d.Seq)
				}
				if g.first(of) == 0 {
					t.Error("it does not find the event")
				}
			})
		})
	}
}

func (g *parcelLog) delayed(order any) uuid.UUID {
	g.t.Helper()
	records := events("parcel.scanned", parcel(order))
	records[0].Due = time.Now().Add(time.Hour)
	must(g.t, g.Append(g.t.Context(), records))
	return records[0].ID
}

// outbox publishes as a program does that knows nothing of busgen.
func (g *parcelLog) outbox(order any) {
	g.t.Helper()
	c, err := database.Connect(g.path, "", sqlite3.OPEN_READWRITE)
	must(g.t, err)
	defer c.Close()
	must(g.t, c.Exec("INSERT INTO outbox (type, payload) VALUES ('parcel.scanned', ?)", string(parcel(order))))
}

func TestACancelledEventIsNotFound(t *testing.T) {
	g := openParcels(t, filepath.Join(t.TempDir(), "events.db"))
	_, err := g.Consumer(t.Context(), engine.ConsumerSpec{Name: "mail", Pattern: "parcel.scanned"})
	must(t, err)
	of := engine.Awaited{Type: "parcel.scanned", Key: "7"}
	id := g.delayed(7)
	if g.first(of) == 0 {
		t.Fatal("a delayed event is not found")
	}
	_, err = g.Cancel(t.Context(), engine.Cancellation{Event: id, Reason: engine.ReasonCancelled})
	must(t, err)
	if seq := g.first(of); seq != 0 {
		t.Errorf("found the cancelled event at %d", seq)
	}
	if later := g.publish("parcel.scanned", parcel(7)); g.first(of) != later {
		t.Errorf("found the event at %d, want the one behind it at %d", g.first(of), later)
	}
}

func TestAnEditedEventIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openParcels(t, filepath.Join(t.TempDir(), "events.db"))
		must(t, inspectFile(t, g.path).change(t.Context(), "edit", func(c *database.Conn) error {
			_, err := appendFor(c, specialEvent{
				id: uuid.New(), Key: typenames.Key{Name: "parcel.scanned", Version: 1}, payload: parcel(7), createdAt: time.Now(), subscription: 1, parent: uuid.New(),
			})
			return err
		}))
		later := g.publish("parcel.scanned", parcel(7))
		time.Sleep(time.Second)
		synctest.Wait()
		if got := g.first(engine.Awaited{Type: "parcel.scanned", Key: "7"}); got != later {
			t.Errorf("found the event at %d, want that at %d", got, later)
		}
	})
}

func TestEventsThatAreStoredGetTheirKeysWhenACatalogueNamesTheField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	synctest.Test(t, func(t *testing.T) {
		g := &parcelLog{t: t}
		g.open(path, []engine.TypeSpec{{Name: "order.placed"}, {Name: "parcel.scanned"}})
		const stored = 3*fillWindow + 17
		for from := 0; from < stored; from += 1000 {
			var records []engine.Record
			for i := from; i < min(stored, from+1000); i++ {
				records = append(records, events([]string{"parcel.scanned", "order.placed"}[i%2], parcel(i))...)
			}
			must(t, g.Append(t.Context(), records))
		}
		must(t, g.Close())

		g.open(path, parcelTypes)
		g.dispatch()
		largest := 0
		g.largest(&largest)
		synctest.Wait()
		for _, i := range []int{0, 2, stored/2 - stored/2%2, stored - 1 - (stored-1)%2} {
			if got := g.first(engine.Awaited{Type: "parcel.scanned", Key: fmt.Sprint(i)}); got != int64(i)+1 {
				t.Errorf("parcel %d: found the event at %d", i, got)
			}
		}
		if keys := must2(g.count("SELECT count(*) FROM busgen_event_keys"))(t); keys != (stored+1)/2 {
			t.Errorf("there are %d keys of %d events", keys, (stored+1)/2)
		}
		if largest == 0 || largest > fillKeys {
			t.Errorf("a transaction has written %d keys, want at most %d", largest, fillKeys)
		}
		must(t, g.Close())

		// The next process has nothing to do.
		g.open(path, parcelTypes)
		g.dispatch()
		largest = 0
		g.largest(&largest)
		synctest.Wait()
		if largest > 0 {
			t.Errorf("the next process has written %d keys again", largest)
		}

		// Another field has other keys; those of the former one are swept away.
		must(t, g.Close())
		g.open(path, []engine.TypeSpec{{Name: "order.placed"}, {Name: "parcel.scanned", AwaitBy: []string{"code"}}})
		g.dispatch()
		synctest.Wait()
		if g.first(engine.Awaited{Type: "parcel.scanned", Key: "0"}) != 0 || g.first(engine.Awaited{Type: "parcel.scanned", Key: "x"}) != 1 {
			t.Error("it is not found by another field")
		}
		_, err := g.Prune(t.Context(), time.Now().Add(-time.Hour))
		must(t, err)
		if keys := must2(g.count("SELECT count(*) FROM busgen_event_keys"))(t); keys != (stored+1)/2 {
			t.Errorf("there are %d keys of %d events after the keys of the former field are swept away", keys, (stored+1)/2)
		}
		// A field that is renamed has the same keys, of old events and of new ones.
		must(t, g.Close())
		g.open(path, []engine.TypeSpec{{Name: "order.placed"}, {Name: "parcel.seen", Aliases: []string{"parcel.scanned"}, AwaitBy: []string{"label", "code"}}})
		g.dispatch()
		synctest.Wait()
		late := g.publish("parcel.seen", []byte(`{"label":"x"}`))
		if first, last := g.first(engine.Awaited{Type: "parcel.seen", Key: "x"}), g.first(engine.Awaited{Type: "parcel.seen", Key: "x", After: late - 1}); first != 1 || last != late {
			t.Errorf("with a renamed type and field: found the events at %d and %d, want %d and %d", first, last, 1, late)
		}
		if problems, err := inspectFile(t, path).Check(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("check: %v, %v", problems, err)
		}
		must(t, g.Close())
	})
}

// largest notes how many keys a transaction of the writer has written.
func (g *parcelLog) largest(keys *int) {
	now := 0
	g.trace(func(sql string) {
		switch {
		case strings.HasPrefix(sql, "INSERT OR IGNORE INTO busgen_event_keys"):
			now++
			*keys = max(*keys, now)
		case sql == "COMMIT":
			now = 0
		}
	})
}

// trace calls f for each statement of the writer, or nothing if it is nil.
func (g *parcelLog) trace(f func(sql string)) {
	<-g.writer.turn
	defer func() { g.writer.turn <- struct{}{} }()
	if f == nil {
		must(g.t, g.writer.conn.Trace(0, nil))
		return
	}
	must(g.t, g.writer.conn.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, sql any) error {
		f(strings.Join(strings.Fields(fmt.Sprint(sql)), " "))
		return nil
	}))
}

func TestPublishersOfOtherTypesPayNothingForKeys(t *testing.T) {
	statements := func(types []engine.TypeSpec, eventType string) (all []string) {
		g := &parcelLog{t: t}
		g.open(filepath.Join(t.TempDir(), "events.db"), types)
		defer g.Close()
		g.dispatch()
		g.publish(eventType, parcel(6))
		g.trace(func(sql string) { all = append(all, sql) })
		g.publish(eventType, parcel(7))
		g.trace(nil)
		return all
	}
	plain := []engine.TypeSpec{{Name: "order.placed"}, {Name: "parcel.scanned"}}
	without, beside, with := statements(plain, "order.placed"), statements(parcelTypes, "order.placed"), statements(parcelTypes, "parcel.scanned")
	if len(without) == 0 || len(beside) != len(without) {
		t.Errorf("statements without a type with keys: %d; with one: %q", len(without), beside)
	}
	if len(with) != len(without)+2 {
		t.Errorf("an event with a key takes %d statements, want %d: an insert and a look-up. %q", len(with), len(without)+2, with)
	}
	g := openParcels(t, filepath.Join(t.TempDir(), "events.db"))
	must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
		others := []logged{{Record: engine.Record{Seq: 1 << 40, Type: "order.placed", Payload: parcel(7)}}}
		if n := testing.AllocsPerRun(100, func() { g.awaits.keep(c, others) }); n > 0 {
			t.Errorf("an event of another type allocates %v times", n)
		}
		return nil
	}))
}

func TestKeysAndWaitsGoWithTheirEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openParcels(t, filepath.Join(t.TempDir(), "events.db"))
		old := g.publish("parcel.scanned", parcel(1))
		d := g.order("7")
		got := g.publish("parcel.scanned", parcel(6))
		g.store(d, engine.Step{Name: "parcel", Kind: engine.StepAwait, Result: []byte("1")})
		g.suspend(d, engine.Awaited{Type: "parcel.scanned", Key: "7", After: d.Seq})
		kept := g.publish("parcel.scanned", parcel(8)) // the order may ask for it in a month
		g.publish("order.placed", []byte("{}"))
		later := g.poll()[0]
		g.orders.Settle(engine.Settled{Delivery: later, Disposition: engine.Disposition{Kind: engine.Done}}, nil)
		must(t, g.Flush(t.Context()))
		time.Sleep(time.Minute)
		prune := func() {
			t.Helper()
			_, err := g.Prune(t.Context(), time.Now())
			must(t, err)
		}
		prune()
		if g.first(engine.Awaited{Type: "parcel.scanned", Key: "1"}) != 0 || must2(g.count(fmt.Sprintf("SELECT count(*) FROM busgen_event_keys WHERE seq = %d", old)))(t) != 0 {
			t.Error("the key of a pruned event is left")
		}
		if g.first(engine.Awaited{Type: "parcel.scanned", Key: "8"}) != kept {
			t.Error("an event is pruned that a handler may ask for")
		}
		time.Sleep(4 * time.Minute)
		for _, d := range g.poll() {
			g.store(d, engine.Step{Name: "parcel", Kind: engine.StepEvent, Event: got})
			g.orders.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Dead, Reason: "x"}}, nil)
		}
		must(t, g.Flush(t.Context()))
		prune()
		if r, err := g.Event(t.Context(), got); err != nil || r == nil || r.Seq != got || g.first(engine.Awaited{Type: "parcel.scanned", Key: "8"}) != 0 {
			t.Errorf("the event that a step of a dead letter has got is %v, %v; want it to be kept, and no other", r, err)
		}
		must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
			return tables.Discard(c, tables.RowKey{Subscription: 1, Seq: d.Seq}, "x")
		}))
		prune()
		prune()
		for _, table := range []string{"busgen_event_keys", "busgen_waits"} {
			if n := must2(g.count("SELECT count(*) FROM " + table))(t); n != 0 {
				t.Errorf("%s has %d rows when all events but the newest are pruned", table, n)
			}
		}
		d = g.order("9")
		g.suspend(d, engine.Awaited{Type: "parcel.scanned", Key: "9"})
		_, err := g.RemoveConsumer(t.Context(), "fulfil", "test")
		must(t, err)
		if n := must2(g.count("SELECT count(*) FROM busgen_waits"))(t); n != 0 {
			t.Errorf("%d waits of a subscription that was removed are left", n)
		}
	})
}

// Whatever stores events, in any order with attempts that look and wait, and processes that die: First never skips an event of its
// key, and a delivery is due soon after its event is there.
func TestNoWaitMissesAnEvent(t *testing.T) {
	short.Visit(t, "many random programs")
	for seed := range uint64(awaitPrograms) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runAwaits(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

// awaitPrograms is how many random programs run.
const awaitPrograms = 60

func runAwaits(t *testing.T, random *rand.Rand) {
	path := filepath.Join(t.TempDir(), "events.db")
	g := openParcels(t, path)
	other := &parcelLog{t: t} // of another process
	other.open(path, parcelTypes)
	defer func() { other.Close() }()
	types, keys := []string{"parcel.scanned", "parcel.lost"}, []string{"1", "2", "3"}
	var model []engine.Awaited // the events, by After their places
	waiting := map[int64][]engine.Awaited{}
	free := map[int64]*engine.Delivery{}
	first := func(of []engine.Awaited) (seq int64) {
		for _, e := range model {
			for _, one := range of {
				if e.Type == one.Type && e.Key == one.Key && e.After > one.After && (seq == 0 || e.After < seq) {
					seq = e.After
				}
			}
		}
		return seq
	}
	publish := func(by *parcelLog) {
		e := engine.Awaited{Type: types[random.IntN(2)], Key: keys[random.IntN(3)]}
		e.After = by.publish(e.Type, parcel(e.Key))
		model = append(model, e)
	}
	collect := func() {
		for _, d := range g.poll() {
			free[d.Seq] = d
			delete(waiting, d.Seq)
		}
	}
	for range 40 {
		switch random.IntN(10) {
		case 0, 1:
			publish(g)
		case 2:
			publish(other)
		case 3:
			g.outbox("1")
			seq := must2(g.count("SELECT max(seq) FROM busgen_log"))(t)
			model = append(model, engine.Awaited{Type: "parcel.scanned", Key: "1", After: seq})
		case 4, 5, 6: // an attempt
			collect()
			var d *engine.Delivery
			for _, d = range free {
				break
			}
			if d == nil {
				g.publish("order.placed", []byte("{}"))
				continue
			}
			of := []engine.Awaited{{Type: types[random.IntN(2)], Key: keys[random.IntN(3)], After: d.Seq}}
			if random.IntN(2) == 0 {
				of = append(of, engine.Awaited{Type: types[random.IntN(2)], Key: keys[random.IntN(3)], After: d.Seq})
			}
			found, want := g.first(of...), first(of)
			if found != 0 && found != want {
				t.Fatalf("%v: found the event at %d, and the first is at %d", of, found, want)
			}
			if found != 0 {
				continue
			}
			switch random.IntN(4) { // what happens before it is written
			case 0:
				publish(g)
			case 1:
				publish(other)
			}
			delete(free, d.Seq)
			waiting[d.Seq] = of
			g.suspend(d, of...)
		case 7:
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		case 8:
			synctest.Wait()
		case 9: // the process ends, in one way or the other
			if random.IntN(3) > 0 {
				continue
			}
			if random.IntN(2) == 0 {
				g.awaits.mu.Lock()
				g.awaits.ending, g.awaits.saved = true, 1<<40 // and does not write how far it was
				g.awaits.mu.Unlock()
			}
			must(t, g.Close())
			if random.IntN(2) == 0 { // a program that keeps the keys of one type only
				g.open(path, parcelTypes[:2])
				g.dispatch()
				for range random.IntN(4) {
					publish(g)
				}
				must(t, g.Close())
			}
			g.open(path, parcelTypes)
			g.dispatch()
			clear(free)
		}
	}
	time.Sleep(time.Second)
	synctest.Wait()
	collect()
	for seq, of := range waiting {
		if at := first(of); at != 0 {
			t.Errorf("the delivery of %d waits for %v, and the event is at %d", seq, of, at)
		}
	}
	for _, kind := range types {
		for _, key := range keys {
			for _, after := range []int64{0, 10, 20} {
				of := engine.Awaited{Type: kind, Key: key, After: after}
				if got, want := g.first(of), first([]engine.Awaited{of}); got != want {
					t.Errorf("%v: found the event at %d, and the first is at %d", of, got, want)
				}
			}
		}
	}
	must(t, g.Close())
	if problems, err := inspectFile(t, path).Check(context.Background()); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
}
