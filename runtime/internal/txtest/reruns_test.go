package txtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
)

// spoil rolls back all of a transaction.
func spoil(tx runtime.Tx) error {
	_, err := tx.ExecContext(context.Background(), "INSERT OR ROLLBACK INTO account (id, balance) VALUES (1, 1)")
	return err
}

// The event that was in the way of another one is gone with the transaction.
func TestAConflictIsLookedForAnewWhenAllIsRolledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx := t.Context()
		key := runtime.WithDedupeKey("k")
		no := errors.New("no")
		runs := 0
		var first, published, spoilt error
		var receipt *runtime.Receipt
		f.must(runtime.Transact(ctx, f.Bus, func(runtime.Tx) error {
			go func() {
				first = runtime.Transact(context.Background(), f.Bus, func(tx runtime.Tx) error {
					if runs++; runs > 1 {
						return no
					}
					_, err := runtime.Publish(ctx, tx, bookedType, booking{1, 1}, key)
					return err
				})
			}()
			synctest.Wait()
			go func() {
				receipt, published = runtime.Publish(context.Background(), f.Bus, bookedType, booking{1, 2}, key)
			}()
			synctest.Wait()
			go func() { spoilt = runtime.Transact(context.Background(), f.Bus, spoil) }()
			synctest.Wait()
			return nil
		}))
		synctest.Wait()
		if runs != 2 || first != no || spoilt == nil {
			t.Errorf("after %d calls the errors are %v and %v", runs, first, spoilt)
		}
		if published != nil || receipt.Duplicate {
			t.Errorf("publishing gives %+v, %v", receipt, published)
		}
		f.wantNumber(2, "SELECT payload->>'amount' FROM events WHERE type = 'money.booked'")
	})
}

// So does one that finds no space, for a reason of its own.
func TestAStatementThatNeedsTooMuchMemoryFailsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		wrong func(tx runtime.Tx) error
		want  string
	}{
		"memory": {func(tx runtime.Tx) error {
			_, err := tx.ExecContext(context.Background(), "INSERT INTO entry (account, amount) VALUES (1, ?)", make([]byte, 600<<20))
			return err
		}, "has panicked"},
		"memory, and no error": {func(tx runtime.Tx) error {
			tx.ExecContext(context.Background(), "INSERT INTO entry (account, amount) VALUES (1, ?)", make([]byte, 600<<20))
			return nil
		}, "has panicked"},
		"row numbers": {func(tx runtime.Tx) error { // SQLite says that the disk is full
			_, err := tx.ExecContext(context.Background(), `
				CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT);
				INSERT INTO numbered VALUES (9223372036854775807);
				INSERT INTO numbered VALUES (NULL)`)
			return err
		}, "full"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 2)
				book := func(account int) func(tx runtime.Tx) error {
					return func(tx runtime.Tx) error { return f.book(context.Background(), tx, account, 5) }
				}
				errs := f.together(book(1), c.wrong, book(2))
				if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) || errs[2] != nil {
					t.Errorf("the errors are %v", errs)
				}
				f.wantNumber(210, "SELECT sum(balance) FROM account")
				f.wantNumber(2, "SELECT count(*) FROM entry")
				f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
			})
		})
	}
}

// It would be tried for ever if that were no failure of its own.
func TestAHandlerThatNeedsTooMuchMemoryOrNumbersFails(t *testing.T) {
	short.Skip(t, "it needs much memory")
	for name, wrong := range map[string]func(ctx context.Context, tx runtime.Tx) error{
		"memory": func(ctx context.Context, tx runtime.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?)", make([]byte, 600<<20))
			return err
		},
		"numbers": func(ctx context.Context, tx runtime.Tx) error {
			_, err := tx.ExecContext(ctx, `
				CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT);
				INSERT INTO numbered VALUES (9223372036854775807);
				INSERT INTO numbered VALUES (NULL)`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
				f := open(t, 1)
				f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, _ runtime.Event[booking]) error { return wrong(ctx, tx) }, fast))
				f.must(f.Start(t.Context()))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				receipt, err := runtime.Publish(ctx, f.Bus, bookedType, booking{1, 1})
				f.must(err)
				outcome, err := receipt.Wait(ctx)
				f.must(err)
				if outcome.Err() == nil || outcome.Deliveries[0].Failures != 5 {
					t.Errorf("the outcome is %+v", outcome)
				}
			})
		})
	}
}

// Its error is about a row that is gone with the transaction.
func TestAFunctionThatWasRefusedRunsAgainWhenAllIsRolledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx := t.Context()
		no := errors.New("no")
		add := func(tx runtime.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO account (id, balance) VALUES (7, 7)")
			return err
		}
		var runs [2]int
		errs := f.together(
			func(tx runtime.Tx) error {
				if runs[0]++; runs[0] > 1 {
					return no
				}
				return add(tx)
			},
			func(tx runtime.Tx) error {
				runs[1]++
				return errors.Join(add(tx), f.book(ctx, tx, 1, 1))
			},
			spoil,
		)
		if errs[0] != no || errs[1] != nil || errs[2] == nil || runs != [2]int{2, 2} {
			t.Errorf("after %d calls the errors are %v", runs, errs)
		}
		f.wantNumber(7, "SELECT balance FROM account WHERE id = 7")
		f.wantNumber(101, "SELECT balance FROM account WHERE id = 1")
		f.wantNumber(1, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	})
}

// What a function fails with before anything else was written has nothing to do with the others.
func TestAFunctionThatWasRefusedForItselfDoesNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		no := errors.New("no")
		runs := 0
		errs := f.together(func(tx runtime.Tx) error {
			runs++
			return errors.Join(f.book(context.Background(), tx, 1, 1), no)
		}, spoil)
		if !errors.Is(errs[0], no) || errs[1] == nil || runs != 1 {
			t.Errorf("after %d calls the errors are %v", runs, errs)
		}
	})
}

// Those before them would run once for each of them otherwise.
func TestManyFunctionsThatRollBackAllCostNoMoreThanAFewReruns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1, patient)
		const n = 128
		runs := 0
		var functions []func(tx runtime.Tx) error
		for i := range n {
			functions = append(functions, func(tx runtime.Tx) error {
				runs++
				if i >= n/2 {
					return spoil(tx)
				}
				return f.book(context.Background(), tx, 1, 1)
			})
		}
		errs := f.together(functions...)
		for i, err := range errs {
			if (err == nil) != (i < n/2) {
				t.Errorf("function %d: %v", i, err)
			}
		}
		if runs > 4*n {
			t.Errorf("%d functions ran %d times, want %d at most", n, runs, 4*n)
		}
		f.wantNumber(100+n/2, "SELECT balance FROM account")
		f.wantNumber(n/2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	})
}
