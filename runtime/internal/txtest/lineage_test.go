package txtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// triggered makes each entry publish an event, whose amount is one more than that of the entry.
func (f *fixture) triggered() {
	f.Helper()
	f.must(runtime.Transact(context.Background(), f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(context.Background(), `CREATE TRIGGER told AFTER INSERT ON entry BEGIN
			INSERT INTO outbox (type, payload, metadata) VALUES ('money.booked', json_object('account', NEW.account, 'amount', NEW.amount + 1), '{"said":"by the trigger"}');
		END`)
		return err
	}))
}

// enter inserts an entry.
func enter(ctx context.Context, tx execer, amount int) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?)", amount)
	return err
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// These handlers insert an entry, by which a trigger publishes an event.
var entering = map[string]func(f *fixture, enters func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error) error{
	"SubscribeTx": func(f *fixture, enters func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error) error {
		_, err := runtime.SubscribeTx(f.Bus, bookedType, "entering", enters)
		return err
	},
	"Transact": func(f *fixture, enters func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error) error {
		_, err := runtime.Subscribe(f.Bus, bookedType, "entering", func(ctx context.Context, e runtime.Event[booking]) error {
			return runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return enters(ctx, tx, e) })
		})
		return err
	},
	"Atomically": func(f *fixture, enters func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error) error {
		_, err := runtime.Subscribe(f.Bus, bookedType, "entering", func(ctx context.Context, e runtime.Event[booking]) error {
			return runtime.Atomically(ctx, func(tx runtime.Tx) error { return enters(ctx, tx, e) })
		})
		return err
	},
}

// A trigger publishes for each row, and the handler of its events writes such a row.
func TestACircleThroughATriggerEndsAtTheHopLimit(t *testing.T) {
	for name, subscribe := range entering {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 1, runtime.WithHopLimit(5))
				f.triggered()
				f.must(subscribe(f, func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
					if e.Hops != e.Payload.Amount {
						t.Errorf("event %d has %d hops", e.Payload.Amount, e.Hops)
					}
					if e.Payload.Amount > 20 {
						return nil // else a circle without end would hang the test
					}
					return enter(ctx, tx, e.Payload.Amount)
				}))
				f.must(f.Start(t.Context()))
				receipt, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{Account: 1})
				f.must(err)
				tree, err := receipt.WaitTree(t.Context())
				f.must(err)
				var limit *runtime.HopLimitError
				if err := tree.Err(); !errors.As(err, &limit) || limit.Hops != 6 || limit.EventType != "money.booked" {
					t.Errorf("the tree ends with %v, want a HopLimitError", err)
				}
				last := tree.Outcomes[len(tree.Outcomes)-1].Deliveries[0]
				if len(tree.Outcomes) != 6 || last.Reason != "permanent" || last.Failures != 1 {
					t.Errorf("the tree has %d events, and the last one is %+v", len(tree.Outcomes), last)
				}
				f.wantNumber(5, "SELECT count(*) FROM entry")
				f.must(f.Shutdown(t.Context()))
				wantSound(t, f.path)
			})
		})
	}
}

// What SQL publishes for a handler comes from its event, like what the handler publishes itself.
func TestWhatTriggersPublishForAHandlerAreItsChildren(t *testing.T) {
	for name, subscribe := range entering {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 1)
				f.triggered()
				var children conformance.Journal[string]
				var root uuid.UUID
				f.must(subscribe(f, func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
					if e.Payload.Amount != 0 {
						children.Add(fmt.Sprint(e.Payload.Amount, " ", e.ParentID == root, " ", e.PublishedBy, " ", e.Hops, " ", e.CorrelationID, " ", e.Metadata["said"], " ", e.Metadata["traceparent"]))
						return nil
					}
					if _, err := runtime.Publish(ctx, tx, bookedType, booking{Account: 1, Amount: 10}); err != nil {
						return err
					}
					for _, amount := range []int{20, 30} {
						if err := enter(ctx, tx, amount); err != nil {
							return err
						}
					}
					_, err := runtime.Publish(ctx, tx, bookedType, booking{Account: 1, Amount: 40})
					return err
				}))
				f.must(f.Start(t.Context()))
				receipt, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{Account: 1},
					runtime.WithCorrelationID("order 7"), runtime.WithMetadata(map[string]string{"traceparent": "00-1-2-3"}))
				f.must(err)
				root = receipt.ID
				f.must(f.WaitIdle(t.Context()))
				want := []string{
					"10 true entering 1 order 7  00-1-2-3", "21 true entering 1 order 7 by the trigger 00-1-2-3",
					"31 true entering 1 order 7 by the trigger 00-1-2-3", "40 true entering 1 order 7  00-1-2-3",
				}
				if got := children.All(); !slices.Equal(got, want) {
					t.Errorf("the children are\n%q\nwant\n%q", got, want)
				}
				tree, err := runtime.Tree(t.Context(), f.Bus, root)
				f.must(err)
				if len(tree.Children) != 4 {
					t.Errorf("the tree has %d children", len(tree.Children))
				}
				// In no handler they are nobody's children.
				f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error { return enter(t.Context(), tx, 50) }))
				f.must(f.WaitIdle(t.Context()))
				if got := children.All(); got[len(got)-1] != "51 false  0  by the trigger " {
					t.Errorf("the event of a transaction in no handler is %q", got[len(got)-1])
				}
			})
		})
	}
}

// The same with the database, in a transaction and without one, and with statements that return rows.
func TestWhatTheDatabasePublishesWithTheContextOfAHandlerAreItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1, runtime.WithHopLimit(4))
		f.triggered()
		db := runtime.DB(f.Bus)
		var children conformance.Journal[string]
		_, err := runtime.Subscribe(f.Bus, bookedType, "entering", func(ctx context.Context, e runtime.Event[booking]) error {
			children.Add(fmt.Sprint(e.Payload.Amount, " ", e.Hops, " ", e.PublishedBy, " ", e.Metadata["said"]))
			switch e.Payload.Amount {
			case 0:
				result, err := db.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, 0), (1, 1000), (1, 1000)")
				f.must(err)
				if n, err := result.RowsAffected(); n != 3 || err != nil {
					t.Errorf("%d rows are affected, %v, want 3", n, err)
				}
				return err
			case 1:
				tx, err := db.BeginTx(ctx, nil)
				f.must(err)
				defer tx.Rollback()
				f.must(enter(ctx, tx, 1))
				return tx.Commit()
			case 2, 3, 4, 5:
				var id int
				return db.QueryRowContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?) RETURNING id", e.Payload.Amount).Scan(&id)
			}
			return nil
		})
		f.must(err)
		f.must(f.Start(t.Context()))
		receipt, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{Account: 1})
		f.must(err)
		tree, err := receipt.WaitTree(t.Context())
		f.must(err)
		want := []string{"0 0  ", "1 1 entering by the trigger", "1001 1 entering by the trigger", "1001 1 entering by the trigger",
			"2 2 entering by the trigger", "3 3 entering by the trigger", "4 4 entering by the trigger"}
		if got := children.All(); !slices.Equal(got, want) {
			t.Errorf("the events were\n%q\nwant\n%q", got, want)
		}
		var limit *runtime.HopLimitError
		if err := tree.Err(); !errors.As(err, &limit) || limit.Hops != 5 {
			t.Errorf("the tree ends with %v", err)
		}
		f.wantNumber(6, "SELECT count(*) FROM entry")
		// A function of the program without the context of a handler publishes nobody's children.
		f.must(enter(t.Context(), db, 50))
		time.Sleep(time.Second) // the bus sees it as it sees the events of other programs
		if got := children.All(); got[len(got)-1] != "51 0  by the trigger" {
			t.Errorf("the last one is %q", got[len(got)-1])
		}
		f.must(f.Shutdown(t.Context()))
		wantSound(t, f.path)
	})
}
