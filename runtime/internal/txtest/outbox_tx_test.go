package txtest

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// intoOutbox publishes through the view.
func intoOutbox(tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, account int, delay time.Duration) error {
	_, err := tx.ExecContext(context.Background(), "INSERT INTO outbox (type, payload, delay_ms) VALUES ('money.booked', json_object('account', ?, 'amount', 0), ?)",
		account, delay.Milliseconds())
	return err
}

// handledAt is an account whose event was handled, and when.
type handledAt struct {
	account int
	after   time.Duration
}

// seeing subscribes, and returns the accounts of the events in the order in which they are handled.
func (f *fixture) seeing() *conformance.Journal[handledAt] {
	var seen conformance.Journal[handledAt]
	began := time.Now()
	_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
		seen.Add(handledAt{e.Payload.Account, time.Since(began)})
		return nil
	})
	f.must(err)
	f.must(f.Start(context.Background()))
	return &seen
}

// wantSeen compares accounts. Time is virtual: what is late shows.
func (f *fixture) wantSeen(seen *conformance.Journal[handledAt], want ...handledAt) {
	f.Helper()
	if got := seen.All(); !slices.Equal(got, want) {
		f.Errorf("handled was %v, want %v", got, want)
	}
}

func TestTheOutboxPublishesWithinATransactionOfTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3)
		ctx := context.Background()
		f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(ctx, "CREATE TRIGGER told AFTER UPDATE OF seen ON account BEGIN INSERT INTO outbox (type, payload) VALUES ('money.booked', json_object('account', NEW.id + 10)); END")
			return err
		}))
		seen := f.seeing()
		publish := func(tx runtime.Tx, account int) error {
			_, err := runtime.Publish(ctx, tx, bookedType, booking{Account: account})
			return err
		}
		errs := f.together(
			func(tx runtime.Tx) error { return publish(tx, 1) },
			func(tx runtime.Tx) error {
				for i, do := range []func() error{
					func() error { return publish(tx, 2) },
					func() error { return intoOutbox(tx, 3, 0) },
					func() error { return intoOutbox(tx, 9, time.Hour) },
					func() error { return publish(tx, 4) },
					func() error { _, err := tx.ExecContext(ctx, "UPDATE account SET seen = 1"); return err },
					func() error { return publish(tx, 5) },
				} {
					if err := do(); err != nil {
						t.Errorf("%d: %v", i, err)
					}
				}
				return nil
			},
			func(tx runtime.Tx) error { f.must(intoOutbox(tx, 100, 0)); return context.Canceled }, // taken back
			func(tx runtime.Tx) error {
				if err := intoOutbox(tx, -1, -time.Hour); err == nil {
					t.Error("a delay of less than nothing is taken")
				}
				return intoOutbox(tx, 6, 0)
			},
			func(tx runtime.Tx) error { return publish(tx, 7) },
		)
		for i, err := range errs {
			if i != 2 && err != nil {
				t.Errorf("function %d gives %v", i, err)
			}
		}
		var want []handledAt
		for _, account := range []int{1, 2, 3, 4, 11, 12, 13, 5, 6, 7} {
			want = append(want, handledAt{account, 0})
		}
		f.wantSeen(seen, want...)
		time.Sleep(time.Hour + time.Second)
		if got := seen.All(); len(got) != 11 || got[10].account != 9 || got[10].after < time.Hour {
			t.Errorf("handled was %v in the end", got)
		}
		f.must(f.Shutdown(ctx))
		wantSound(t, f.path)
	})
}

// A statement that is older than the trigger publishes, too.
func TestAStatementThatWasPreparedBeforePublishesByATriggerOfTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx := context.Background()
		seen := f.seeing()
		touch := func() {
			f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
				if _, err := runtime.Publish(ctx, tx, bookedType, booking{Account: 1}); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, 0)")
				return err
			}))
			synctest.Wait()
		}
		touch()
		native := programs["the SQLite of this module"]
		f.must(native(t, f.path, "CREATE TRIGGER told AFTER INSERT ON entry BEGIN INSERT INTO outbox (type, payload) VALUES ('money.booked', '{\"account\":2}'); END"))
		touch()
		f.wantSeen(seen, handledAt{1, 0}, handledAt{1, 0}, handledAt{2, 0})
		touch()
		f.wantSeen(seen, handledAt{1, 0}, handledAt{1, 0}, handledAt{2, 0}, handledAt{1, 0}, handledAt{2, 0})
		f.must(f.Shutdown(ctx))
	})
}

func TestTheOutboxPublishesInATransactionalHandlerAndInTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx := context.Background()
		_, err := runtime.SubscribeTx(f.Bus, bookedType, "repeats", func(_ context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
			if e.Payload.Account >= 10 {
				return nil
			}
			return intoOutbox(tx, e.Payload.Account+10, 0)
		})
		f.must(err)
		seen := f.seeing()
		f.must(intoOutbox(runtime.DB(f.Bus), 1, 0)) // a transaction of its own
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		tx, err := runtime.DB(f.Bus).Begin()
		f.must(err)
		f.must(intoOutbox(tx, 2, 0))
		_, err = runtime.Publish(ctx, runtime.In(f.Bus, tx), bookedType, booking{Account: 3})
		f.must(err)
		f.must(tx.Commit())
		synctest.Wait()
		tx, err = runtime.DB(f.Bus).Begin()
		f.must(err)
		f.must(intoOutbox(tx, 4, 0))
		f.must(tx.Rollback())
		time.Sleep(time.Minute)
		late := 100 * time.Millisecond
		got := seen.All()
		slices.SortStableFunc(got, func(a, b handledAt) int { return a.account - b.account })
		if want := []handledAt{{1, 0}, {2, late}, {3, late}, {11, 0}, {12, late}, {13, late}}; !slices.Equal(got, want) {
			t.Errorf("handled was %v, want %v", got, want)
		}
		f.must(f.Shutdown(ctx))
		wantSound(t, f.path)
	})
}
