//go:build linux

package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/step"
)

// The handler is called once: what the program was not told is in the database. Or the server has not heard of it, and
// it is not.
func TestACommitWhoseAnswerIsLostIsFoundByItsMark(t *testing.T) {
	for name := range ways {
		for _, heard := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", map[bool]string{true: "after", false: "before"}[heard]), func(t *testing.T) {
				direct := newFixture(t)
				direct.ledger()
				var commits, calls atomic.Int64
				var marked atomic.Bool
				f, _ := direct.behind(func(sent []byte) bool {
					lost := bytes.Contains(sent, []byte("commit")) && marked.Load() && commits.Add(1) == 1
					if lost && !heard {
						copy(sent, make([]byte, len(sent))) // no message of the protocol
					}
					return lost
				})
				bus := f.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Relay(f.dbOf(name)))
				paid := direct.paid(bus)
				_, err := ways[name](bus, "ledger", func(ctx context.Context, tx within, e order) error {
					calls.Add(1)
					defer marked.Store(true)
					return enter(ctx, bus, tx, e)
				}, runtime.WithRetry(retry.MaxAttempts(1)))
				conformance.Must(t, err)
				conformance.Must(t, bus.Start(t.Context()))
				_, err = place(t.Context(), bus, "Ada", 1)
				conformance.Must(t, err)
				direct.wantEntries(bus, paid, 1)
				want := map[bool]int64{true: 1, false: 2}[heard]
				if n := calls.Load(); n != want || commits.Load() == 0 {
					t.Errorf("the handler was called %d times, want %d; %d commits were seen", n, want, commits.Load())
				}
			})
		}
	}
}

// Two buses stand for two processes that believe both to have the event.
func TestTwoProcessesWithTheSameEventHandleItOnce(t *testing.T) {
	for name := range ways {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ledger()
			paths := []string{filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "b.db")}
			var buses []*runtime.Bus
			for _, path := range paths {
				bus := f.open(path, postgres.Relay(f.dbOf(name)))
				_, err := ways[name](bus, "ledger", func(ctx context.Context, tx within, e order) error {
					time.Sleep(5 * time.Millisecond)
					return tx.exec("INSERT INTO ledger (customer, number) VALUES ($1, $2)", e.Payload.OrderID, e.Payload.Number)
				}, runtime.WithConcurrency(4))
				conformance.Must(t, err)
				conformance.Must(t, bus.Start(t.Context()))
				buses = append(buses, bus)
			}
			var records []engine.Record
			for n := range 60 {
				records = append(records, engine.Record{ID: engine.NewID(), Type: "order.placed", Version: 1, CreatedAt: engine.Now(), Payload: fmt.Appendf(nil, `{"order_id":"Ada","number":%d}`, n)})
			}
			for _, path := range paths {
				conformance.Must(t, give(t.Context(), f, path, records))
			}
			f.until("all are in the ledger", func() bool { return f.number("SELECT count(*) FROM ledger") >= 60 })
			for _, bus := range buses {
				conformance.Must(t, bus.WaitIdle(t.Context()))
				if n := f.deadOfName(bus, "ledger"); n > 0 {
					t.Errorf("%d dead letters", n)
				}
			}
			if n, once := f.number("SELECT count(*) FROM ledger"), f.number("SELECT count(DISTINCT number) FROM ledger"); n != 60 || once != 60 {
				t.Errorf("the ledger has %d rows, of which %d differ", n, once)
			}
		})
	}
}

// A replay means again, each time; a new name of the subscription does not.
func TestAReplayIsHandledAgainAndARenamedSubscriptionKeepsItsMarks(t *testing.T) {
	eachWay(t, func(f *fixture, bus *runtime.Bus, subscribe func(string, handler, ...runtime.SubscribeOption)) {
		subscribe("new", func(ctx context.Context, tx within, e order) error {
			return tx.exec("INSERT INTO ledger (customer, number) VALUES ($1, $2)", e.Payload.OrderID, e.Payload.Number)
		}, runtime.WithAliases("old"))
		f.exec("INSERT INTO busgen.subscriptions (name) VALUES ('old')")
		conformance.Must(f.T, bus.Start(f.Context()))
		for n := range 2 {
			_, err := place(f.Context(), bus, "Ada", n)
			conformance.Must(f.T, err)
		}
		conformance.Must(f.T, bus.WaitIdle(f.Context()))
		for round := range 3 {
			n, err := bus.Replay(f.Context(), "new", event.ReplayFilter{Text: `"number":1`})
			conformance.Must(f.T, err)
			if n != 1 {
				f.Errorf("%d events are replayed", n)
			}
			conformance.Must(f.T, bus.WaitIdle(f.Context()))
			if n := f.number("SELECT count(*) FROM ledger"); n != 3+round {
				f.Errorf("after replay %d the ledger has %d rows", round, n)
			}
		}
		if n := f.number("SELECT count(*) FROM busgen.subscriptions WHERE name = 'new' AND id = (SELECT min(subscription) FROM busgen.inbox)"); n != 1 {
			f.Error("the subscription has another number now")
		}
	})
}

// What a batch names is undone by the handler, and marked when it is handled later; events that are marked are left
// out, and the contexts of the others are theirs.
func TestABatchCommitsWhatHasNotFailed(t *testing.T) {
	f := newFixture(t)
	f.ledger()
	bus := f.relay()
	paid := f.paid(bus)
	var failed atomic.Bool
	sizes := &conformance.Journal[int]{}
	_, err := postgres.SubscribeBatch(bus, conformance.PlacedType, "ledger", func(ctx context.Context, tx pgx.Tx, events []order) error {
		sizes.Add(len(events))
		var problems runtime.BatchError
		for i, e := range events {
			problems.Set(i, pgx.BeginFunc(ctx, tx, func(own pgx.Tx) error {
				item := runtime.ItemContext(ctx, i)
				if err := enter(item, bus, ofPgx(item, own), e); err != nil {
					return err
				}
				if e.Payload.Number%3 == 0 && !failed.Load() {
					return errUndo
				}
				return nil
			}))
		}
		failed.Store(true)
		return problems.Err()
	}, runtime.WithBatch(9, time.Second), runtime.WithRetry(retry.WithBackoff(retry.None)))
	conformance.Must(t, err)
	receipts, err := runtime.PublishBatch(t.Context(), bus, conformance.PlacedType, placed("Ada", 0, 9))
	conformance.Must(t, err)
	f.exec("INSERT INTO busgen.subscriptions (name) VALUES ('ledger')")
	for _, n := range []int{0, 4} { // another process has handled them
		f.exec("INSERT INTO busgen.inbox (subscription, event, run) SELECT id, $1, 0 FROM busgen.subscriptions", receipts[n].ID)
	}
	conformance.Must(t, bus.Start(t.Context()))
	f.wantEntries(bus, paid, 7)
	if n := f.number("SELECT count(*) FROM ledger WHERE number IN (0, 4)"); n != 0 {
		t.Errorf("%d events that were marked were handled", n)
	}
	if n := f.number("SELECT count(*) FROM busgen.inbox"); n != 9 {
		t.Errorf("%d events are marked, want 9", n)
	}
	if all := sizes.All(); all[0] != 7 {
		t.Errorf("the batches had %v events, want 7 first", all)
	}
}

func TestAHandlerCannotEndItsTransaction(t *testing.T) {
	f := newFixture(t)
	f.ledger()
	bus := f.relay()
	paid := f.paid(bus)
	_, err := postgres.Subscribe(bus, conformance.PlacedType, "ledger", func(ctx context.Context, tx pgx.Tx, e order) error {
		if tx.Commit(ctx) == nil || tx.Rollback(ctx) == nil {
			return runtime.Permanent(errors.New("it can"))
		}
		if err := runtime.Atomically(ctx, func(runtime.Tx) error { return nil }); err == nil {
			return runtime.Permanent(errors.New("it can be handled in two commits"))
		}
		return enter(ctx, bus, ofPgx(ctx, tx), e)
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	_, err = place(t.Context(), bus, "Ada", 1)
	conformance.Must(t, err)
	f.wantEntries(bus, paid, 1)
}

// A handler that sleeps in a step begins anew, with a new transaction.
func TestAHandlerSleepsInAStepOutsideOfItsTransaction(t *testing.T) {
	f := newFixture(t)
	f.ledger()
	bus := f.relay()
	paid := f.paid(bus)
	_, err := postgres.Subscribe(bus, conformance.PlacedType, "ledger", func(ctx context.Context, tx pgx.Tx, e order) error {
		if err := enter(ctx, bus, ofPgx(ctx, tx), e); err != nil {
			return err
		}
		step.Sleep(ctx, "wait", 10*time.Millisecond) // its error is ignored
		return nil
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	_, err = place(t.Context(), bus, "Ada", 1)
	conformance.Must(t, err)
	f.wantEntries(bus, paid, 1)
}

func TestASubscriptionThatCannotHaveTransactionsIsRefused(t *testing.T) {
	f := newFixture(t)
	handle := func(context.Context, within, order) error { return nil }
	relay := f.relay()
	for what, err := range map[string]error{
		"a bus without a relay": second(ways["pgx"](f.open(filepath.Join(t.TempDir(), "bus.db")), "a", handle)),
		"a bus with an outbox":  second(ways["batch"](f.outbox(), "a", handle)),
		"another database":      second(ways["database/sql"](relay, "a", handle)),
		"an ephemeral one":      second(ways["pgx"](relay, "b", handle, runtime.Ephemeral())),
		"no bus":                second(ways["pgx"](nil, "a", handle)),
		"no handler":            second(postgres.Subscribe(relay, conformance.PlacedType, "c", nil)),
		"a transaction of the wrong kind": second(ways["batch"](f.open(filepath.Join(t.TempDir(), "bus.db"),
			postgres.Relay(f.dbOf("database/sql"))), "a", handle)),
	} {
		var refused *runtime.SubscribeError
		if !errors.As(err, &refused) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second(_ any, err error) error { return err }

// Marks that the bus may still ask for stay, however old they are.
func TestMarksAreDeletedWhenTheBusHasSettledTheirEvents(t *testing.T) {
	f := newFixture(t)
	f.ledger()
	path := filepath.Join(t.TempDir(), "bus.db")
	bus := f.open(path, postgres.Relay(f.pool))
	_, err := postgres.Subscribe(bus, conformance.PlacedType, "ledger", func(ctx context.Context, tx pgx.Tx, e order) error {
		return map[int]error{1: runtime.Permanent(errUndo), 2: runtime.Snooze(time.Hour)}[e.Payload.Number]
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	var ids []uuid.UUID
	for n := range 3 {
		old := engine.Record{ID: uuid.MustParse(fmt.Sprintf("01800000-0000-7000-8000-00000000000%d", n)), Type: "order.placed", Version: 1, CreatedAt: time.Now().AddDate(0, 0, -10), Payload: fmt.Appendf(nil, `{"order_id":"Ada","number":%d}`, n)}
		ids = append(ids, old.ID)
		conformance.Must(t, give(t.Context(), f, path, []engine.Record{old}))
	}
	f.until("one is a dead letter, and one is handled", func() bool {
		return f.deadOfName(bus, "ledger") == 1 && f.number("SELECT count(*) FROM busgen.inbox") == 1
	})
	conformance.Must(t, bus.Shutdown(t.Context()))
	// As if the answers to the commits of the two others were lost.
	f.exec("INSERT INTO busgen.inbox (subscription, event, run) SELECT 1, unnest($1::uuid[]), 0 ON CONFLICT DO NOTHING", ids)
	f.exec("INSERT INTO busgen.inbox (subscription, event, run) SELECT 1, gen_random_uuid(), 0 FROM generate_series(1, 12000)")
	f.exec("UPDATE busgen.inbox SET at = now() - interval '8 days'")
	f.exec("INSERT INTO busgen.inbox (subscription, event, run) VALUES (1, gen_random_uuid(), 0)") // it is new
	bus = f.open(path, postgres.Relay(f.pool))
	conformance.Must(t, bus.Start(t.Context()))
	f.until("old marks are deleted", func() bool { return f.number("SELECT count(*) FROM busgen.inbox") <= 3 })
	if n := f.number("SELECT count(*) FROM busgen.inbox WHERE event = ANY ($1::uuid[])", ids[1:]); n != 2 {
		t.Errorf("%d marks of events that are not settled are left, want 2", n)
	}
	if n := f.number("SELECT count(*) FROM busgen.inbox WHERE event = $1", ids[0]); n != 0 || slices.Contains(ids[1:], ids[0]) {
		t.Error("the mark of an event that is settled is left")
	}
}
