package txtest

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/txtest/ledger"
)

//go:embed ledger/schema.sql
var ledgerSchema string

var errPoor = errors.New("the account has less than that")

// buy is what a program does with the code that sqlc has generated: it takes money off an account, and
// stores an order with its event.
func buy(ctx context.Context, db ledger.DBTX, p runtime.Publisher, account, total int64) error {
	q := ledger.New(db)
	changed, err := q.Withdraw(ctx, ledger.WithdrawParams{Amount: total, At: sql.NullTime{Time: time.Now(), Valid: true}, ID: account})
	if err != nil {
		return err
	}
	order := ledger.PlaceOrderParams{ID: fmt.Sprintf("%d-%d", account, total), Account: account, Total: total, Express: total%2 == 1}
	if err := q.PlaceOrder(ctx, order); err != nil {
		return err
	}
	if _, err := runtime.Publish(ctx, p, bookedType, booking{Account: int(account), Amount: int(total)}); err != nil {
		return err
	}
	if changed == 0 {
		return errPoor // when all of it is written
	}
	return nil
}

// inTx ends a transaction of database/sql.
func inTx(tx *sql.Tx, err error, f func() error) error {
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// buying are the ways in which that code and an event can be one transaction.
var buying = map[string]func(f *fixture, account, total int64) error{
	"Transact": func(f *fixture, account, total int64) error {
		ctx := context.Background()
		return runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return buy(ctx, tx, tx, account, total) })
	},
	"DB": func(f *fixture, account, total int64) error {
		tx, err := runtime.DB(f.Bus).Begin()
		return inTx(tx, err, func() error { return buy(context.Background(), tx, runtime.In(f.Bus, tx), account, total) })
	},
	"the driver": func(f *fixture, account, total int64) error {
		tx, err := f.database().Begin()
		return inTx(tx, err, func() error { return buy(context.Background(), tx, runtime.In(f.Bus, tx), account, total) })
	},
}

func TestCodeOfSqlcWorksInAllTransactions(t *testing.T) {
	for name, buys := range buying {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 0)
				ctx := context.Background()
				_, err := runtime.DB(f.Bus).Exec(ledgerSchema)
				f.must(err)
				account, err := ledger.New(runtime.DB(f.Bus)).OpenAccount(ctx, ledger.OpenAccountParams{Owner: "Ann", Balance: 100})
				f.must(err)
				var handled conformance.Journal[int]
				var at conformance.Journal[time.Time]
				_, err = runtime.SubscribeTx(f.Bus, bookedType, "turnover", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
					handled.Add(e.Payload.Amount)
					at.Add(time.Now())
					_, err := ledger.New(tx).OpenAccount(ctx, ledger.OpenAccountParams{Owner: fmt.Sprint("turnover ", e.Payload.Amount)})
					return err
				})
				f.must(err)
				f.must(f.Start(ctx))

				f.must(buys(f, account.ID, 31))
				bought := time.Now()
				time.Sleep(time.Second)
				if times := at.All(); len(times) != 1 || times[0].Sub(bought) > time.Millisecond {
					t.Errorf("bought at %v, handled at %v", bought, times)
				}
				if err := buys(f, account.ID, 70); !errors.Is(err, errPoor) {
					t.Errorf("without the money: %v", err)
				}
				if err := buys(f, 99, 1); err == nil {
					t.Error("without the account there is no error")
				}
				time.Sleep(time.Minute)
				f.must(buys(f, account.ID, 69))
				time.Sleep(time.Second)
				if got := fmt.Sprint(handled.All()); got != "[31 69]" {
					t.Errorf("handled was %s", got)
				}

				q := ledger.New(runtime.DB(f.Bus))
				account, err = q.Account(ctx, account.ID)
				f.must(err)
				orders, err := q.OrdersOf(ctx, account.ID)
				f.must(err)
				some, err := q.OrdersWith(ctx, []string{"1-69", "1-70"})
				f.must(err)
				sum, err := q.Turnover(ctx)
				f.must(err)
				if account.Balance != 0 || !account.ChangedAt.Valid || account.ChangedAt.Time.IsZero() {
					t.Errorf("the account is %+v", account)
				}
				if len(orders) != 2 || orders[0].Total != 31 || !orders[0].Express || orders[0].Owner != "Ann" || orders[0].Note.Valid {
					t.Errorf("the orders are %+v", orders)
				}
				if len(some) != 1 || some[0].Total != 69 || sum.Orders != 2 || sum.Total != 100 {
					t.Errorf("found are %+v and %+v", some, sum)
				}
				f.wantNumber(2, "SELECT count(*) FROM accounts WHERE owner LIKE 'turnover %'")
				f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
				f.must(f.Shutdown(ctx))
				wantSound(t, f.path)
			})
		})
	}
}
