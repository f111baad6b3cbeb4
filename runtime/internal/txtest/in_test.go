package txtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"
	sqldriver "github.com/ncruces/go-sqlite3/driver"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/transact"
)

// transaction is one that the program has begun itself.
type transaction struct {
	x      any // for In
	exec   func(query string) error
	finish func(commit bool) error
}

// begins are the ways to begin one.
var begins = map[string]func(f *fixture) transaction{
	"sql.Tx": func(f *fixture) transaction {
		tx, err := f.database().BeginTx(context.Background(), nil)
		f.must(err)
		return transaction{tx,
			func(query string) error { _, err := tx.Exec(query); return err },
			func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}}
	},
	"sql.Tx of DB": func(f *fixture) transaction {
		tx, err := runtime.DB(f.Bus).BeginTx(context.Background(), nil)
		f.must(err)
		return transaction{tx,
			func(query string) error { _, err := tx.Exec(query); return err },
			func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}}
	},
	"sql.Conn of DB": func(f *fixture) transaction {
		conn, err := runtime.DB(f.Bus).Conn(context.Background())
		f.must(err)
		exec := func(query string) error { _, err := conn.ExecContext(context.Background(), query); return err }
		f.must(exec("BEGIN"))
		return transaction{conn, exec, func(commit bool) error { return errors.Join(exec(end(commit)), conn.Close()) }}
	},
	"sql.Conn": func(f *fixture) transaction {
		conn, err := f.database().Conn(context.Background())
		f.must(err)
		exec := func(query string) error { _, err := conn.ExecContext(context.Background(), query); return err }
		f.must(exec("BEGIN"))
		return transaction{conn, exec, func(commit bool) error { return errors.Join(exec(end(commit)), conn.Close()) }}
	},
	"sqlite3.Conn": func(f *fixture) transaction {
		conn, err := sqlite3.Open(f.path)
		f.must(err)
		f.must(conn.BusyTimeout(5 * time.Second))
		f.must(conn.Exec("BEGIN IMMEDIATE"))
		return transaction{conn, conn.Exec, func(commit bool) error { return errors.Join(conn.Exec(end(commit)), conn.Close()) }}
	},
}

func end(commit bool) string {
	if commit {
		return "COMMIT"
	}
	return "ROLLBACK"
}

// database opens the file as programs do that know nothing of the bus.
func (f *fixture) database() *sql.DB {
	db, err := sqldriver.Open("file:" + filepath.ToSlash(f.path))
	f.must(err)
	f.Cleanup(func() { db.Close() })
	return db
}

// withEachTransaction runs f in a bubble for each way to begin a transaction.
func withEachTransaction(t *testing.T, f func(t *testing.T, begin func(f *fixture) transaction)) {
	for name, begin := range begins {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, begin) })
		})
	}
}

// Time is virtual: what takes a millisecond here is one look of the writer.
func TestAnEventOfATransactionOfTheProgramIsHandledRightAfterItsCommit(t *testing.T) {
	withEachTransaction(t, func(t *testing.T, begin func(f *fixture) transaction) {
		f := open(t, 1)
		handled := make(chan time.Time, 10)
		_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
			handled <- time.Now()
			return nil
		})
		f.must(err)
		f.must(f.Start(t.Context()))
		for _, open := range []time.Duration{0, 500 * time.Millisecond, 3 * time.Second} {
			time.Sleep(73 * time.Millisecond)
			tx := begin(f)
			f.must(tx.exec("UPDATE account SET balance = balance - 10"))
			receipt, err := runtime.Publish(t.Context(), runtime.In(f.Bus, tx.x), bookedType, booking{Account: 1, Amount: -10})
			f.must(err)
			if _, err := receipt.Wait(t.Context()); err != transact.ErrUncommitted {
				t.Errorf("waiting before the commit gives %v", err)
			}
			time.Sleep(open)
			f.must(tx.finish(true))
			committed := time.Now()
			if took := (<-handled).Sub(committed); took > max(time.Millisecond, open/100) {
				t.Errorf("%v after its publication an event is committed, and %v later it is handled", open, took)
			}
			outcome, err := receipt.Wait(t.Context())
			if err != nil || len(outcome.Deliveries) != 1 || outcome.Err() != nil {
				t.Errorf("the outcome is %+v, %v", outcome, err)
			}
		}
		f.must(f.Shutdown(t.Context()))
		wantSound(t, f.path)
	})
}

func TestATransactionOfTheProgramThatIsRolledBackLeavesNoEvent(t *testing.T) {
	withEachTransaction(t, func(t *testing.T, begin func(f *fixture) transaction) {
		f := open(t, 1)
		_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
			t.Errorf("%v was handled", e)
			return nil
		})
		f.must(err)
		f.must(f.Start(t.Context()))
		tx := begin(f)
		f.must(tx.exec("UPDATE account SET balance = 0"))
		receipt, err := runtime.Publish(t.Context(), runtime.In(f.Bus, tx.x), bookedType, booking{Account: 1, Amount: -100})
		f.must(err)
		f.must(tx.finish(false))
		time.Sleep(time.Minute)
		if _, err := receipt.Wait(t.Context()); err != transact.ErrUncommitted {
			t.Errorf("waiting for an event that was rolled back gives %v", err)
		}
		if _, err := runtime.Publish(t.Context(), runtime.In(f.Bus, tx.x), bookedType, booking{}); err == nil {
			t.Error("a transaction that is over takes events")
		}
		f.wantNumber(100, "SELECT balance FROM account")
		f.wantNumber(0, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	})
}

func TestTheOptionsOfPublishWorkInATransactionOfTheProgram(t *testing.T) {
	short.Visit(t, "it runs many transactions")
	withEachTransaction(t, func(t *testing.T, begin func(f *fixture) transaction) {
		f := open(t, 1)
		first, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{Account: 1}, runtime.WithDedupeKey("a"))
		f.must(err)
		seen := make(chan runtime.Event[booking], 10)
		_, err = runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
			seen <- e
			return nil
		})
		f.must(err)
		f.must(f.Start(t.Context()))
		tx := begin(f)
		publish := func(account int, opts ...runtime.PublishOption) (*runtime.Receipt, error) {
			return runtime.Publish(t.Context(), runtime.In(f.Bus, tx.x), bookedType, booking{Account: account}, opts...)
		}
		if again, err := publish(1, runtime.WithDedupeKey("a")); err != nil || !again.Duplicate || again.ID != first.ID {
			t.Errorf("with a known key: %+v, %v", again, err)
		}
		var conflict *event.ConflictError
		if _, err := publish(2, runtime.WithDedupeKey("a")); !errors.As(err, &conflict) || conflict.First != first.ID {
			t.Errorf("with a known key and another payload: %v", err)
		}
		// A batch of which the last one is in conflict leaves nothing.
		_, err = publish(3, runtime.WithDedupeKey("b#1"))
		f.must(err)
		if _, err := runtime.PublishBatch(t.Context(), runtime.In(f.Bus, tx.x), bookedType, []booking{{Account: 8}, {Account: 9}}, runtime.WithDedupeKey("b")); !errors.As(err, &conflict) {
			t.Errorf("a batch with a key that the transaction has used: %v", err)
		}
		_, err = publish(5, runtime.WithDelay(time.Hour), runtime.WithMetadata(map[string]string{"tenant": "x"}), runtime.WithPriority(runtime.PriorityHigh))
		f.must(err)
		_, err = runtime.PublishBatch(t.Context(), runtime.In(f.Bus, tx.x), bookedType, []booking{{Account: 6}, {Account: 7}})
		f.must(err)
		// A key of others, whose space the file does not know yet.
		scoped := []runtime.JSONEvent{{Type: bookedType.Name(), Payload: []byte(`{"account":4,"amount":1}`), DedupeKey: "a", DedupeScope: "others"}}
		for i := range 2 {
			receipts, err := runtime.PublishJSON(t.Context(), runtime.In(f.Bus, tx.x), scoped)
			f.must(err)
			if receipts[0].Duplicate != (i == 1) {
				t.Errorf("with a key of a scope: %+v", receipts[0])
			}
		}
		f.must(tx.finish(true))
		receipts, err := runtime.PublishJSON(t.Context(), f.Bus, scoped)
		f.must(err)
		if !receipts[0].Duplicate {
			t.Errorf("with a key of a scope, which a transaction has used: %+v", receipts[0])
		}
		began := time.Now()
		for i, account := range []int{3, 6, 7, 4, 5} {
			e := <-seen
			if e.Payload.Account != account {
				t.Errorf("handled as number %d was %+v", i, e)
			}
			if took := time.Since(began); account == 5 && (took < time.Hour-time.Second || e.Metadata["tenant"] != "x") {
				t.Errorf("after %v: %+v", took, e)
			}
		}
		f.must(f.Shutdown(t.Context()))
		wantSound(t, f.path)
	})
}

func TestWhatInCannotUseIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	db := f.database()
	readOnly, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	f.must(err)
	autocommit, err := db.Conn(ctx)
	f.must(err)
	native, err := sqlite3.Open(f.path)
	f.must(err)
	hiding, err := sqlite3.Open(f.path)
	f.must(err)
	f.must(hiding.Exec("CREATE TEMP TABLE Busgen_Log (id, type, payload, metadata, created_at); BEGIN"))
	memory, err := sqlite3.Open(":memory:")
	f.must(err)
	f.must(memory.Exec("BEGIN"))
	elsewhere, err := sqldriver.Open("file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "other.db")))
	f.must(err)
	otherFile, err := elsewhere.BeginTx(ctx, nil)
	f.must(err)
	foreign := sql.OpenDB(otherDriver{})
	foreignTx, err := foreign.BeginTx(ctx, nil)
	f.must(err)
	foreignConn, err := foreign.Conn(ctx)
	f.must(err)
	over, err := db.BeginTx(ctx, nil)
	f.must(err)
	f.must(over.Rollback())
	for _, c := range []struct {
		x    any
		want string
	}{
		{nil, "is nil"}, {(*sql.Tx)(nil), "is a nil *sql.Tx"}, {(*sql.Conn)(nil), "is a nil"}, {(*sqlite3.Conn)(nil), "is a nil"},
		{db, "of type *sql.DB, which is none of"}, {7, "of type int, which"},
		{readOnly, "can only read"}, {autocommit, "no transaction is under way"}, {native, "no transaction is under way"},
		{memory, "the transaction is on the file"}, {otherFile, "other.db"}, {hiding, "temporary table"},
		{foreignTx, "not of the driver"}, {foreignConn, "not of the driver"},
	} {
		_, err := runtime.Publish(ctx, runtime.In(f.Bus, c.x), bookedType, booking{})
		var refused *event.JoinError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.x, err, c.want)
		}
	}
	if _, err := runtime.Publish(ctx, runtime.In(f.Bus, over), bookedType, booking{}); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("a transaction that is over: %v", err)
	}
	if _, err := runtime.Publish(ctx, runtime.In(nil, over), bookedType, booking{}); err == nil || !strings.Contains(err.Error(), "no bus") {
		t.Errorf("without a bus: %v", err)
	}
	f.must(errors.Join(readOnly.Rollback(), autocommit.Close(), native.Close(), hiding.Close(), memory.Close(), otherFile.Rollback(), elsewhere.Close(),
		foreignTx.Rollback(), foreignConn.Close(), foreign.Close()))
	f.wantNumber(0, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	f.must(f.Shutdown(ctx))
	if _, err := runtime.Publish(ctx, runtime.In(f.Bus, native), bookedType, booking{}); err != runtime.ErrShutdown {
		t.Errorf("after the shutdown: %v", err)
	}
}

// otherDriver is one of another SQLite library.
type otherDriver struct{}

func (otherDriver) Connect(context.Context) (driver.Conn, error) { return otherDriver{}, nil }
func (otherDriver) Driver() driver.Driver                        { return nil }
func (otherDriver) Begin() (driver.Tx, error)                    { return otherDriver{}, nil }
func (otherDriver) Commit() error                                { return nil }
func (otherDriver) Rollback() error                              { return nil }
func (otherDriver) Close() error                                 { return nil }
func (otherDriver) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not here") }

func TestACriticalEventOfATransactionGoesAheadOfTheBacklog(t *testing.T) {
	withEachTransaction(t, func(t *testing.T, begin func(f *fixture) transaction) {
		f := open(t, 1)
		var seen conformance.Journal[int]
		_, err := runtime.Subscribe(f.Bus, bookedType, "slow", func(_ context.Context, e runtime.Event[booking]) error {
			seen.Add(e.Payload.Account)
			time.Sleep(time.Second)
			return nil
		})
		f.must(err)
		_, err = runtime.PublishBatch(t.Context(), f.Bus, bookedType, make([]booking, 1000))
		f.must(err)
		f.must(f.Start(t.Context()))
		publish := func(to runtime.Publisher, account int) {
			_, err := runtime.Publish(t.Context(), to, bookedType, booking{Account: account}, runtime.WithPriority(runtime.PriorityCritical))
			f.must(err)
		}
		tx := begin(f)
		publish(runtime.In(f.Bus, tx.x), 1)
		f.must(tx.finish(true))
		own, err := runtime.DB(f.Bus).BeginTx(t.Context(), nil)
		f.must(err)
		publish(runtime.In(f.Bus, own), 2)
		f.must(own.Commit())
		f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
			publish(tx, 3)
			return nil
		}))
		time.Sleep(10 * time.Second)
		for account := 1; account <= 3; account++ {
			if got := seen.All(); !slices.Contains(got, account) {
				t.Errorf("event %d was not among the first: %v", account, got)
			}
		}
	})
}
