package txtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// endless never comes to an end, and endlessInsert neither, which writes.
const (
	endless       = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"
	endlessInsert = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) INSERT INTO entry (account, amount) SELECT 1, 1 FROM n WHERE i < 0"
)

func TestGoroutinesShareATx(t *testing.T) {
	const goroutines, each = 8, 5
	f := open(t, 1, runtime.WithTxLimit(time.Minute))
	ctx := t.Context()
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
		errs := make([]error, goroutines)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				for range each {
					var n int
					rows, err := tx.QueryContext(ctx, "SELECT id FROM account")
					if err == nil {
						for rows.Next() { // beside what others write
							n++
						}
						err = rows.Close()
					}
					errs[i] = errors.Join(errs[i], err, f.book(ctx, tx, 1, n))
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}))
	f.wantNumber(100+goroutines*each, "SELECT balance FROM account")
	f.wantNumber(goroutines*each, "SELECT count(*) FROM entry")
	f.wantNumber(goroutines*each, "SELECT count(*) FROM events WHERE type = 'money.booked'")
}

// The function returns in time. What it has left behind has until the limit.
func TestAGoroutineThatIsLeftWithATxHoldsUpNobody(t *testing.T) {
	for name, statement := range map[string]string{"reads": endless, "writes": endlessInsert} {
		t.Run(name, func(t *testing.T) {
			f := open(t, 1)
			left := make(chan error, 1)
			err := runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
				if err := f.book(t.Context(), tx, 1, 5); err != nil {
					return err
				}
				begun := make(chan struct{})
				go func() {
					close(begun)
					_, err := tx.ExecContext(context.Background(), statement)
					left <- err
				}()
				<-begun
				time.Sleep(30 * time.Millisecond) // until the statement runs
				return nil
			})
			if err := <-left; err == nil {
				t.Error("the statement has come to an end")
			}
			var limit *event.TxTimeoutError
			if !errors.As(err, &limit) {
				t.Errorf("the error is %v", err)
			}
			f.wantNumber(100, "SELECT balance FROM account")
		})
	}
}
