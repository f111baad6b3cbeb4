package txtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/transact"
)

func TestRowsAndEventsAreStoredTogether(t *testing.T) {
	f := open(t, 1)
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error { return f.book(t.Context(), tx, 1, 20) }))
	f.wantNumber(120, "SELECT balance FROM account")
	f.wantNumber(1, "SELECT count(*) FROM events WHERE type = 'money.booked'")
}

func TestAfterAnErrorNothingIsStored(t *testing.T) {
	f := open(t, 1)
	wrong := errors.New("no")
	var receipt *runtime.Receipt
	err := runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) (err error) {
		f.must(f.book(t.Context(), tx, 1, 20))
		receipt, err = runtime.Publish(t.Context(), tx, bookedType, booking{1, 20})
		f.must(err)
		return wrong
	})
	if err != wrong {
		t.Errorf("the error is %v, want the one of the function", err)
	}
	f.wantNumber(100, "SELECT balance FROM account")
	f.wantNumber(0, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	if _, err := receipt.Wait(t.Context()); err != transact.ErrTxUndone {
		t.Errorf("waiting for the event gives %v", err)
	}
}

func TestEventsOfATransactionAreDelivered(t *testing.T) {
	f := open(t, 2)
	var seen conformance.Journal[int]
	_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
		seen.Add(e.Payload.Account)
		return nil
	})
	f.must(err)
	f.must(f.Start(t.Context()))
	var receipt *runtime.Receipt
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) (err error) {
		receipt, err = runtime.Publish(t.Context(), tx, bookedType, booking{Account: 2})
		if _, err := receipt.Wait(t.Context()); err != transact.ErrInTx {
			t.Errorf("waiting within the transaction gives %v", err)
		}
		return err
	}))
	_, err = receipt.Wait(t.Context())
	f.must(err)
	if got := seen.All(); len(got) != 1 || got[0] != 2 {
		t.Errorf("delivered was %v", got)
	}
}

func TestSixtyFourCallersOfWhomSomeDoWrong(t *testing.T) {
	short.Visit(t, "it runs many transactions")
	f := open(t, 64, runtime.WithTxLimit(300*time.Millisecond))
	wrong := errors.New("no")
	var wg sync.WaitGroup
	for i := range 64 {
		account := i + 1
		wg.Add(1)
		go func() {
			defer wg.Done()
			ctx := context.Background()
			err := runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
				if err := f.book(ctx, tx, account, 1); err != nil {
					return err
				}
				switch account {
				case 10:
					return wrong
				case 20: // a constraint
					_, err := tx.ExecContext(ctx, "UPDATE account SET balance = -1 WHERE id = ?", account)
					return err
				case 21: // one that SQLite looks at in the end
					_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1000, 1)")
					return err
				case 22: // one that rolls back all
					_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO account (id, balance) VALUES (1, 1)")
					return err
				case 30: // an endless loop that writes
					_, err := tx.ExecContext(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) INSERT INTO entry (account, amount) SELECT 1, i FROM n")
					return err
				case 31: // one that reads
					var n int
					return tx.QueryRowContext(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n").Scan(&n)
				case 32: // one that does neither
					time.Sleep(2 * time.Second)
				case 40: // itself
					return runtime.Transact(ctx, f.Bus, func(runtime.Tx) error { return nil })
				case 41:
					_, err := runtime.Publish(ctx, f.Bus, bookedType, booking{})
					return err
				case 50: // what it leaves open
					if _, err := tx.QueryContext(ctx, "SELECT id FROM account"); err != nil {
						return err
					}
				}
				return nil
			})
			var limit *event.TxTimeoutError
			ok := err == nil
			switch account {
			case 10:
				ok = err == wrong
			case 20, 21, 22:
				ok = err != nil && strings.Contains(err.Error(), "constraint")
			case 30, 31, 32:
				ok = errors.As(err, &limit) && errors.Is(err, context.DeadlineExceeded)
			case 40, 41:
				ok = err == transact.ErrInTx
			}
			if !ok {
				t.Errorf("account %d: %v", account, err)
			}
		}()
	}
	wg.Wait()
	f.wantNumber(64*100+64-9, "SELECT sum(balance) FROM account")
	f.wantNumber(64-9, "SELECT sum(amount) FROM entry")
	f.wantNumber(64-9, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	f.must(f.Shutdown(t.Context()))
	late := 0
	for _, line := range f.log.Level(t, "WARN") {
		if caller, _ := line["caller"].(string); strings.Contains(caller, "tx_test.go:") {
			late++
		}
	}
	if late != 3 {
		t.Errorf("the log names %d functions that took too long, want 3", late)
	}
}

func TestAPanicGoesOnAndNothingIsStored(t *testing.T) {
	f := open(t, 1)
	func() {
		defer func() {
			if cause := recover(); cause != "no" {
				t.Errorf("the panic is %v", cause)
			}
		}()
		runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
			f.must(f.book(t.Context(), tx, 1, 20))
			panic("no")
		})
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
			f.book(t.Context(), tx, 1, 20)
			goruntime.Goexit()
			return nil
		})
	}()
	<-done
	f.wantNumber(100, "SELECT balance FROM account")
	f.wantNumber(0, "SELECT count(*) FROM events WHERE type = 'money.booked'")
}

func TestATxThatIsOverDoesNothing(t *testing.T) {
	f := open(t, 1)
	var kept runtime.Tx
	var rows *sql.Rows
	var stmt *sql.Stmt
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) (err error) {
		kept = tx
		if stmt, err = tx.PrepareContext(t.Context(), "UPDATE account SET balance = 0"); err != nil {
			return err
		}
		rows, err = tx.QueryContext(t.Context(), "SELECT id FROM account")
		return err
	}))
	if rows.Next() {
		t.Error("rows of a transaction that is over go on")
	}
	_, executed := kept.ExecContext(t.Context(), "UPDATE account SET balance = 0")
	_, prepared := stmt.ExecContext(t.Context())
	_, published := runtime.Publish(t.Context(), kept, bookedType, booking{})
	for _, err := range []error{executed, prepared, published} {
		if !errors.Is(err, sql.ErrTxDone) && !errors.Is(err, transact.ErrTxOver) && (err == nil || !strings.Contains(err.Error(), "closed")) {
			t.Errorf("after its end a Tx gives %v", err)
		}
	}
	f.wantNumber(100, "SELECT balance FROM account")
	f.wantNumber(0, "SELECT count(*) FROM events WHERE type = 'money.booked'")
}

func TestWhatATransactionMustNotDoIsRefusedInWords(t *testing.T) {
	f := open(t, 1, patient)
	for statement, problem := range map[string]string{
		"INSERT INTO busgen_log (id, type, payload, created_at) VALUES (x'00', 1, '{}', 0)": "log belongs to the bus",
		"UPDATE busgen_subscriptions SET cursor = 0":                                        "subscriptions belongs to the bus",
		"DELETE FROM Busgen_Deliveries":                                                     "belongs to the bus",
		"DROP TABLE busgen_log":                                                             "cannot be dropped",
		"ALTER TABLE busgen_log ADD COLUMN mine TEXT":                                       "belongs to the bus",
		"CREATE INDEX mine ON busgen_log (created_at)":                                      "belongs to the bus",
		"CREATE TABLE busgen_mine (x)":                                                      "choose another",
		"CREATE TRIGGER mine AFTER INSERT ON busgen_log BEGIN SELECT 1; END":                "belongs to the bus",
		"CREATE TEMP TABLE mine (x)":                                                        "temporary",
		"COMMIT":                                                                            "return nil to commit",
		"BEGIN":                                                                             "leave out BEGIN",
		"ROLLBACK":                                                                          "an error to roll back",
		"RELEASE busgen_tx":                                                                 "savepoints are not",
		"SAVEPOINT mine":                                                                    "savepoints are not",
		"PRAGMA synchronous = OFF":                                                          "would change the connection",
		"PRAGMA defer_foreign_keys = 1":                                                     "would change the connection",
		"ATTACH ':memory:' AS other":                                                        "cannot be attached",
	} {
		err := runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		})
		var protected *event.ProtectedError
		if !errors.As(err, &protected) || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	// Nothing of it holds for what is allowed.
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
		for _, statement := range []string{
			"INSERT INTO account VALUES (7, 7, NULL)", "PRAGMA table_info(account)", "CREATE INDEX seen ON account (seen)", "CREATE TABLE log (line TEXT)",
		} {
			if _, err := tx.ExecContext(t.Context(), statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}))
	f.wantNumber(2, "SELECT count(*) FROM account")
}

func TestTimesAndOtherValuesAreReadAsTheyWereWritten(t *testing.T) {
	f := open(t, 0)
	at := time.Date(2026, 11, 23, 5, 6, 7, 89, time.UTC)
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO account (id, balance, seen) VALUES (:id, 5, @seen)",
			sql.Named("id", 1), sql.Named("seen", at))
		return err
	}))
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
		var seen, latest time.Time
		var none sql.NullTime
		var blob []byte
		var real float64
		err := tx.QueryRowContext(t.Context(), "SELECT seen, max(seen), NULL, x'0102', 1.5 FROM account").Scan(&seen, &latest, &none, &blob, &real)
		if !seen.Equal(at) || !latest.Equal(at) || none.Valid || len(blob) != 2 || real != 1.5 {
			t.Errorf("read were %v, %v, %v, %v, %v", seen, latest, none, blob, real)
		}
		return err
	}))
}
