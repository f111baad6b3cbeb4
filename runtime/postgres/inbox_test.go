//go:build linux

package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/retry"
)

type (
	order  = runtime.Event[conformance.OrderPlaced]
	within struct { // the transaction of a handler
		tx   any
		exec func(statement string, args ...any) error
	}
	handler func(ctx context.Context, tx within, e order) error
)

// ways are those to subscribe with a transaction.
var ways = map[string]func(bus *runtime.Bus, name string, h handler, opts ...runtime.SubscribeOption) (*runtime.Subscription, error){
	"pgx": func(bus *runtime.Bus, name string, h handler, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
		return postgres.Subscribe(bus, conformance.PlacedType, name, func(ctx context.Context, tx pgx.Tx, e order) error { return h(ctx, ofPgx(ctx, tx), e) }, opts...)
	},
	"database/sql": func(bus *runtime.Bus, name string, h handler, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
		return postgres.SubscribeSQL(bus, conformance.PlacedType, name, func(ctx context.Context, tx *sql.Tx, e order) error {
			return h(ctx, within{tx, func(statement string, args ...any) error {
				_, err := tx.ExecContext(ctx, statement, args...)
				return err
			}}, e)
		}, opts...)
	},
	"batch": func(bus *runtime.Bus, name string, h handler, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
		return postgres.SubscribeBatch(bus, conformance.PlacedType, name, func(ctx context.Context, tx pgx.Tx, events []order) error {
			for i, e := range events {
				if err := h(runtime.ItemContext(ctx, i), ofPgx(ctx, tx), e); err != nil {
					return err
				}
			}
			return nil
		}, append(opts, runtime.WithBatch(10, 5*time.Millisecond))...)
	},
}

func ofPgx(ctx context.Context, tx pgx.Tx) within {
	return within{tx, func(statement string, args ...any) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	}}
}

// eachWay runs a test in each of them, with a bus in a file.
func eachWay(t *testing.T, test func(f *fixture, bus *runtime.Bus, subscribe func(name string, h handler, opts ...runtime.SubscribeOption))) {
	for name := range ways {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ledger()
			bus := f.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Relay(f.dbOf(name)))
			test(f, bus, func(sub string, h handler, opts ...runtime.SubscribeOption) {
				f.Helper()
				_, err := ways[name](bus, sub, h, append(opts, runtime.WithRetry(retry.WithBackoff(retry.None)))...)
				conformance.Must(f.T, err)
			})
		})
	}
}

// dbOf returns the database that a way to subscribe needs.
func (f *fixture) dbOf(way string) postgres.DB {
	f.Helper()
	if way != "database/sql" {
		return f.pool
	}
	db, err := sql.Open("pgx", f.url)
	conformance.Must(f.T, err)
	f.Cleanup(func() { db.Close() })
	return db
}

// ledger makes a table of which each handled event has a row.
func (f *fixture) ledger() {
	f.exec("CREATE TABLE ledger (customer text NOT NULL, number int NOT NULL, at bigint GENERATED ALWAYS AS IDENTITY)")
}

// enter is what a handler of the tests does: it has a row, and publishes in both ways.
func enter(ctx context.Context, bus *runtime.Bus, tx within, e order) error {
	err := tx.exec("INSERT INTO ledger (customer, number) VALUES ($1, $2)", e.Payload.OrderID, e.Payload.Number)
	for name, to := range map[string]runtime.Publisher{"ctx": bus, "in": postgres.In(bus, tx.tx)} {
		if err == nil {
			_, err = runtime.Publish(ctx, to, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprint(name, " ", e.Payload.OrderID, " ", e.Payload.Number)})
		}
	}
	return err
}

// paid subscribes to what enter has published.
func (f *fixture) paid(bus *runtime.Bus) *conformance.Journal[string] {
	f.Helper()
	all := &conformance.Journal[string]{}
	_, err := runtime.Subscribe(bus, conformance.PaidType, "paid", func(_ context.Context, e runtime.Event[conformance.OrderPaid]) error {
		if e.PublishedBy != "ledger" {
			f.Errorf("%s was published by %q", e.Payload.OrderID, e.PublishedBy)
		}
		all.Add(e.Payload.OrderID)
		return nil
	}, runtime.FromBeginning())
	conformance.Must(f.T, err)
	return all
}

// wantEntries waits until orders 0 to n-1 have been handled, and compares what they have left behind.
func (f *fixture) wantEntries(bus *runtime.Bus, paid *conformance.Journal[string], n int) {
	f.Helper()
	f.until("all orders are in the ledger, and what they publish is handled", func() bool {
		return f.number("SELECT count(*) FROM ledger") >= n && len(paid.All()) >= 2*n && f.number("SELECT count(*) FROM busgen.outbox") == 0
	})
	conformance.Must(f.T, bus.WaitIdle(f.Context()))
	if rows, once := f.number("SELECT count(*) FROM ledger"), f.number("SELECT count(DISTINCT (customer, number)) FROM ledger"); rows != n || once != n {
		f.Errorf("the ledger has %d rows, of which %d differ, want %d", rows, once, n)
	}
	all := paid.All()
	slices.Sort(all)
	if once := slices.Compact(slices.Clone(all)); len(all) != 2*n || len(once) != 2*n {
		f.Errorf("%d events were published, of which %d differ, want %d: %q", len(all), len(once), 2*n, all)
	}
}

// The handler fails in some way at its first attempt, when all it does is done.
func TestRowsOfAHandlerAreThereOnceHoweverItFails(t *testing.T) {
	raise := func(state string) func(context.Context, within) error {
		return func(_ context.Context, tx within) error {
			return tx.exec("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '" + state + "'; END $$")
		}
	}
	release := &atomic.Pointer[chan struct{}]{}
	for name, fail := range map[string]struct {
		do      func(ctx context.Context, tx within) error
		attempt int // of the execution that succeeds, as the policy counts
	}{
		"an error":               {func(context.Context, within) error { return errUndo }, 2},
		"a panic":                {func(context.Context, within) error { panic("no") }, 2},
		"the end of a goroutine": {func(context.Context, within) error { goruntime.Goexit(); return nil }, 2},
		"a hang": {func(ctx context.Context, _ within) error {
			<-*release.Load()
			return nil
		}, 2},
		"a wait for ctx": {func(ctx context.Context, _ within) error { <-ctx.Done(); return nil }, 2},
		"a statement that fails and is ignored": {func(_ context.Context, tx within) error {
			tx.exec("SELECT 1/0")
			return nil
		}, 2},
		"a snooze":   {func(context.Context, within) error { return runtime.Snooze(time.Millisecond) }, 2},
		"a conflict": {raise("40001"), 2},
		"a deadlock": {raise("40P01"), 2},
		"a server that closes its connection": {func(ctx context.Context, tx within) error {
			return tx.exec("SELECT pg_terminate_backend(pg_backend_pid())")
		}, 2},
		"a constraint that the commit looks at": {func(_ context.Context, tx within) error {
			if err := tx.exec("CREATE TABLE wrong (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)"); err != nil {
				return err
			}
			return tx.exec("INSERT INTO wrong VALUES (1), (1)")
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(f *fixture, bus *runtime.Bus, subscribe func(string, handler, ...runtime.SubscribeOption)) {
				var failed atomic.Bool
				hanging := make(chan struct{})
				release.Store(&hanging)
				f.Cleanup(func() { close(hanging) }) // before the bus is shut down
				attempts := &conformance.Journal[int]{}
				paid := f.paid(bus)
				subscribe("ledger", func(ctx context.Context, tx within, e order) error {
					if err := enter(ctx, bus, tx, e); err != nil {
						return err
					}
					attempts.Add(e.Attempt)
					if failed.CompareAndSwap(false, true) {
						return fail.do(ctx, tx)
					}
					return nil
				}, runtime.WithTimeout(600*time.Millisecond), runtime.WithConcurrency(2))
				conformance.Must(t, bus.Start(f.Context()))
				_, err := place(f.Context(), bus, "Ada", 0)
				conformance.Must(f.T, err)
				f.wantEntries(bus, paid, 1)
				if all := attempts.All(); len(all) != 2 || all[1] != fail.attempt {
					f.Errorf("the attempts were %v, want 1 and %d", all, fail.attempt)
				}
			})
		})
	}
}

// What a handler did whose last attempt has failed leaves nothing, and what does not count is not the last attempt.
func TestAConflictOfTransactionsIsNoFailureOfTheHandler(t *testing.T) {
	eachWay(t, func(f *fixture, bus *runtime.Bus, subscribe func(string, handler, ...runtime.SubscribeOption)) {
		var calls atomic.Int64
		paid := f.paid(bus)
		subscribe("ledger", func(ctx context.Context, tx within, e order) error {
			if err := enter(ctx, bus, tx, e); err != nil {
				return err
			}
			switch {
			case e.Payload.Number == 1:
				return runtime.Permanent(errUndo)
			case calls.Add(1) == 1:
				return tx.exec("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$")
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		conformance.Must(f.T, bus.Start(f.Context()))
		for n := range 2 {
			_, err := place(f.Context(), bus, "Ada", n)
			conformance.Must(f.T, err)
			conformance.Must(f.T, bus.WaitIdle(f.Context()))
		}
		if n := f.deadOfName(bus, "ledger"); n != 1 {
			f.Errorf("%d orders are dead letters, want 1", n)
		}
		f.wantEntries(bus, paid, 1)
	})
}
