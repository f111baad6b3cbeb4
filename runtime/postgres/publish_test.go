//go:build linux

package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
)

var errUndo = errors.New("roll back")

func TestAnEventIsDeliveredIfItsTransactionIsCommitted(t *testing.T) {
	f := newFixture(t)
	f.delivers(f.pool)
}

func TestAnEventIsDeliveredIfItsTransactionIsCommittedThroughDatabaseSQL(t *testing.T) {
	f := newFixture(t)
	db, err := sql.Open("pgx", f.url)
	conformance.Must(t, err)
	defer db.Close()
	f.delivers(db)
}

// Prepared statements, sessions and listening do not work behind it.
func TestBehindAPooler(t *testing.T) {
	s := server(t)
	behind, err := s.Pooler(t, s.Database(t))
	missing(t, err)
	f := fixtureAt(t, behind)
	t.Run("with a pool of pgx", func(t *testing.T) { (&fixture{t, f.url, f.pool}).delivers(f.pool) })
	t.Run("with database/sql", func(t *testing.T) {
		own := &fixture{t, f.url, f.pool}
		own.delivers(own.dbOf("database/sql"))
	})
	for name := range ways {
		t.Run("with handlers by "+name, func(t *testing.T) {
			own := &fixture{t, f.url, f.pool}
			own.exec("DROP TABLE IF EXISTS ledger")
			own.ledger()
			bus := own.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Relay(own.dbOf(name)))
			paid := own.paid(bus)
			_, err := ways[name](bus, "ledger", func(ctx context.Context, tx within, e order) error { return enter(ctx, bus, tx, e) })
			conformance.Must(t, err)
			conformance.Must(t, bus.Start(t.Context()))
			for n := range 3 {
				_, err := place(t.Context(), bus, "Ada", n)
				conformance.Must(t, err)
			}
			own.wantEntries(bus, paid, 3)
		})
	}
}

// delivers publishes in all ways, and relays with a database of the program.
func (f *fixture) delivers(db postgres.DB) {
	t, ctx := f.T, f.Context()
	bus := f.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Relay(db))
	got := f.handle(bus)
	alone := f.open("orders", postgres.Outbox(db))
	for name, from := range map[string]*runtime.Bus{"relay": bus, "outbox": alone} {
		for _, committed := range []bool{true, false} {
			outcome := map[bool]error{false: errUndo}[committed]
			err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
				_, err := place(ctx, postgres.In(from, tx), name+" pgx", 1)
				return errors.Join(err, outcome)
			})
			if !errors.Is(err, outcome) {
				t.Fatal(err)
			}
		}
	}
	f.tx(func(tx pgx.Tx) error {
		_, err := runtime.PublishBatch(ctx, postgres.In(bus, tx), conformance.PlacedType, []conformance.OrderPlaced{{OrderID: "batch", Number: 1}, {OrderID: `ba"t\c,h{}`, Number: 2}})
		conformance.Must(t, err)
		err = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
			_, err := place(ctx, postgres.In(bus, savepoint), "undone", 1)
			return errors.Join(err, errUndo)
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
		_, err = place(ctx, postgres.In(bus, tx), "after the savepoint", 1)
		return err
	})
	if db, ok := db.(*sql.DB); ok {
		for _, committed := range []bool{true, false} {
			tx, err := db.BeginTx(ctx, nil)
			conformance.Must(t, err)
			_, err = place(ctx, postgres.In(bus, tx), "sql", 1)
			conformance.Must(t, err)
			if committed {
				conformance.Must(t, tx.Commit())
			} else {
				conformance.Must(t, tx.Rollback())
			}
		}
	} else {
		_, err := place(ctx, bus, "sql", 1) // into the bus itself
		conformance.Must(t, err)
	}
	_, err := place(ctx, alone, "alone", 1)
	conformance.Must(t, err)
	_, err = runtime.PublishBatch(ctx, alone, conformance.PlacedType, []conformance.OrderPlaced{{OrderID: "alone", Number: 2}, {OrderID: "alone", Number: 3}})
	conformance.Must(t, err)
	f.want(got, "relay pgx 1", "outbox pgx 1", "batch 1", `ba"t\c,h{} 2`, "after the savepoint 1", "sql 1", "alone 1", "alone 2", "alone 3")
}

func TestAnEventKeepsWhatItWasPublishedWith(t *testing.T) {
	f := newFixture(t)
	bus, from := f.relay(), f.outbox()
	got := &conformance.Journal[runtime.Event[conformance.OrderPlaced]]{}
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "all", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		got.Add(e)
		return nil
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	began := time.Now()
	var receipt *runtime.Receipt
	f.tx(func(tx pgx.Tx) error {
		receipt, err = place(t.Context(), postgres.In(from, tx), "Ada", 1, runtime.WithMetadata(map[string]string{"tenant": `"ü` + "\n"}),
			runtime.WithCorrelationID("c"), runtime.WithDelay(300*time.Millisecond))
		return err
	})
	f.until("it is handled", func() bool { return len(got.All()) == 1 })
	e := got.All()[0]
	if e.ID != receipt.ID || e.Metadata["tenant"] != `"ü`+"\n" || e.CorrelationID != "c" || e.Payload.OrderID != "Ada" || e.Version != 1 {
		t.Errorf("the event is %+v, the receipt %+v", e, receipt)
	}
	if time.Since(began) < 300*time.Millisecond || e.PublishedAt.Before(began.Add(-time.Second)) || e.PublishedAt.After(time.Now().Add(time.Second)) {
		t.Errorf("it was published at %v and handled after %v", e.PublishedAt, time.Since(began))
	}
	if _, err := receipt.Wait(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("waiting for it: %v", err)
	}
}

func TestWhatAHandlerPublishesInATransactionIsItsChild(t *testing.T) {
	f := newFixture(t)
	bus := f.relay()
	children := &conformance.Journal[runtime.Event[conformance.OrderPaid]]{}
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "pays", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		return pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
			_, err := runtime.Publish(ctx, postgres.In(bus, tx), conformance.PaidType, conformance.OrderPaid{OrderID: e.Payload.OrderID})
			return err
		})
	})
	conformance.Must(t, err)
	_, err = runtime.Subscribe(bus, conformance.PaidType, "paid", func(_ context.Context, e runtime.Event[conformance.OrderPaid]) error {
		children.Add(e)
		return nil
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	parent, err := place(t.Context(), f.outbox(), "Ada", 1)
	conformance.Must(t, err)
	f.until("the child is handled", func() bool { return len(children.All()) == 1 })
	if child := children.All()[0]; child.ParentID != parent.ID || child.Hops != 1 || child.PublishedBy != "pays" {
		t.Errorf("the child is %+v", child)
	}
}

func TestManyPublishersShareCommits(t *testing.T) {
	f := newFixture(t)
	from, got := f.outbox(), f.handle(f.relay())
	var all sync.WaitGroup
	var want []string
	for i := range 64 {
		for j := range 20 {
			want = append(want, fmt.Sprint(i, " ", j))
		}
		all.Go(func() {
			for j := range 20 {
				if _, err := place(t.Context(), from, fmt.Sprint(i), j); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	f.want(got, want...)
}

func TestADedupeKeyIsLookedAtInTheBus(t *testing.T) {
	f := newFixture(t)
	bus, from := f.relay(), f.outbox()
	got := f.handle(bus)
	for _, number := range []int{1, 1, 2} {
		r, err := place(t.Context(), from, "Ada", number, runtime.WithDedupeKey("k"))
		conformance.Must(t, err)
		if r.Duplicate {
			t.Error("a receipt says Duplicate before the bus has seen the event")
		}
	}
	f.want(got, "Ada 1")
	f.until("the event with another payload is a dead letter", func() bool { return f.deadOf(bus) == 1 })
}

// deadOf returns how many dead letters the relay has.
func (f *fixture) deadOf(bus *runtime.Bus) int {
	f.Helper()
	return f.deadOfName(bus, "$relay")
}

func (f *fixture) deadOfName(bus *runtime.Bus, name string) int {
	f.Helper()
	lags, err := bus.Lag(f.Context())
	conformance.Must(f.T, err)
	for _, l := range lags {
		if l.Subscription == name {
			return int(l.Dead)
		}
	}
	return 0
}

func TestABusWithAnOutboxOnlyPublishes(t *testing.T) {
	f := newFixture(t)
	bus := f.outbox()
	receipt, err := place(t.Context(), bus, "Ada", 1)
	conformance.Must(t, err)
	_, waited := receipt.Wait(t.Context())
	_, subscribed := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
	cancelled := bus.Cancel(t.Context(), receipt.ID)
	for what, err := range map[string]error{
		"Start": bus.Start(t.Context()), "Wait": waited, "Subscribe": subscribed, "Cancel": cancelled, "WaitIdle": bus.WaitIdle(t.Context()),
		"Transact": runtime.Transact(t.Context(), bus, func(runtime.Tx) error { return nil }),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var text conformance.LogLines
	conformance.Must(t, bus.WriteMetrics(t.Context(), &text))
	if stats := bus.Stats(); stats.Types[0].Published != 1 {
		t.Errorf("stats: %+v", stats)
	}
	conformance.Must(t, bus.Shutdown(t.Context()))
	if _, err := place(t.Context(), bus, "Ada", 2); !errors.Is(err, runtime.ErrShutdown) {
		t.Errorf("after Shutdown: %v", err)
	}
	if n := f.number("SELECT count(*) FROM busgen.outbox"); n != 1 {
		t.Errorf("%d events are in the outbox", n)
	}
}

func TestWhatIsNoTransactionIsRefused(t *testing.T) {
	f := newFixture(t)
	plain := f.open(filepath.Join(t.TempDir(), "bus.db"))
	f.tx(func(tx pgx.Tx) error {
		if _, err := place(t.Context(), postgres.In(plain, tx), "Ada", 1); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a bus without an outbox: %v", err)
		}
		if _, err := place(t.Context(), postgres.In(nil, tx), "Ada", 1); err == nil {
			t.Error("no bus")
		}
		return nil
	})
	for _, x := range []any{nil, 1, (*sql.Tx)(nil), f.pool} {
		if _, err := place(t.Context(), postgres.In(f.outbox(), x), "Ada", 1); err == nil {
			t.Errorf("In with %T: no error", x)
		}
	}
	tx, err := f.pool.Begin(t.Context())
	conformance.Must(t, err)
	conformance.Must(t, tx.Commit(t.Context()))
	if _, err := place(t.Context(), postgres.In(f.outbox(), tx), "Ada", 1); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("In with a transaction that is over: %v", err)
	}
	for name, option := range map[string]runtime.Option{
		"no database":              postgres.Outbox(nil),
		"another type":             postgres.Relay(1),
		"a schema":                 postgres.Outbox(f.pool, postgres.WithSchema("x.y")),
		"a schema without tables":  postgres.Outbox(f.pool, postgres.WithSchema("other")),
		"a poll":                   postgres.Relay(f.pool, postgres.WithPoll(0, time.Second)),
		"a nil option":             postgres.Relay(f.pool, nil),
		"to listen to nothing":     postgres.Relay(f.pool, postgres.WithNotify(nil)),
		"to keep nothing":          postgres.Relay(f.pool, postgres.KeepRelayed(0)),
		"to keep what it does not": postgres.Outbox(f.pool, postgres.KeepRelayed(time.Hour)),
	} {
		bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "bus.db"), conformance.Catalogue, option)
		if err == nil {
			t.Errorf("%s: no error", name)
			bus.Shutdown(t.Context())
		}
	}
}

func TestAPublisherHearsWhatIsWrongWithTheDatabase(t *testing.T) {
	f := newFixture(t)
	bus := f.outbox()
	f.exec("ALTER TABLE busgen.outbox RENAME TO other")
	_, err := place(t.Context(), bus, "Ada", 1)
	var storage *event.StorageError
	if !errors.As(err, &storage) || storage.InDoubt || storage.Fault != event.Foreign || storage.Hint == "" {
		t.Errorf("without the table: %v", err)
	}
	f.exec("ALTER TABLE busgen.other RENAME TO outbox")
	_, err = place(t.Context(), bus, "Ada", 2)
	conformance.Must(t, err)

	tx, err := f.pool.Begin(t.Context()) // which keeps publishers waiting
	conformance.Must(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE busgen.outbox")
	conformance.Must(t, err)
	var all sync.WaitGroup
	all.Go(func() { place(t.Context(), bus, "Ada", 3) })
	f.until("it is being stored", func() bool {
		return f.number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 1
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := place(ctx, bus, "Ada", 4); !errors.Is(err, context.Canceled) {
		t.Errorf("an event that waits for another, and whose context ends: %v", err)
	}
	conformance.Must(t, tx.Rollback(t.Context()))
	all.Wait()
	if n := f.number("SELECT count(*) FROM busgen.outbox"); n != 2 {
		t.Errorf("%d events are stored, want 2", n)
	}
}
