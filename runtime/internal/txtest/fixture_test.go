package txtest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// booking is the payload of the events of these tests.
type booking struct {
	Account int `json:"account"`
	Amount  int `json:"amount"`
}

func (b booking) Validate() error {
	if b.Account < 0 {
		return errNoAccount
	}
	return nil
}

var errNoAccount = errors.New("there is no such account")

var (
	bookedType = runtime.Define(runtime.Spec[booking]{Name: "money.booked", Settings: declare.DefaultSettings()})
	catalogue  = runtime.NewCatalogue(bookedType)
)

// patient is for functions that take real time, on a machine that is busy.
var patient = runtime.WithTxLimit(time.Minute)

// fixture is a bus with a table of accounts in its file.
type fixture struct {
	*testing.T
	*runtime.Bus
	path string
	log  *conformance.LogLines
}

// open opens a bus with accounts 1 to n, each of which has 100.
func open(t *testing.T, n int, opts ...runtime.Option) *fixture {
	t.Helper()
	f := &fixture{T: t, path: filepath.Join(t.TempDir(), "events.db")}
	f.reopen(opts...)
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(t.Context(), `
			CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0), seen TIMESTAMP);
			CREATE TABLE entry (id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES account (id) DEFERRABLE INITIALLY DEFERRED, amount INTEGER NOT NULL)`)
		if err != nil {
			return err
		}
		for i := range n {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO account (id, balance) VALUES (?, 100)", i+1); err != nil {
				return err
			}
		}
		return nil
	}))
	return f
}

// reopen opens a bus on the file.
func (f *fixture) reopen(opts ...runtime.Option) {
	f.Helper()
	f.log = &conformance.LogLines{}
	bus, err := runtime.Open(context.Background(), f.path, catalogue, append([]runtime.Option{runtime.WithLogger(slog.New(slog.NewJSONHandler(f.log, nil)))}, opts...)...)
	f.must(err)
	f.Bus = bus
	f.Cleanup(func() { bus.Shutdown(context.Background()) })
}

// connect opens the file as another program would.
func (f *fixture) connect() *sqlite3.Conn {
	f.Helper()
	c, err := sqlite3.Open(f.path)
	f.must(err)
	f.Cleanup(func() { c.Close() })
	return c
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// number returns the only value that a query finds.
func (f *fixture) number(query string, args ...any) (n int) {
	f.Helper()
	f.must(runtime.Transact(context.Background(), f.Bus, func(tx runtime.Tx) error {
		return tx.QueryRowContext(context.Background(), query, args...).Scan(&n)
	}))
	return n
}

// wantNumber compares the only value that a query finds.
func (f *fixture) wantNumber(want int, query string, args ...any) {
	f.Helper()
	if got := f.number(query, args...); got != want {
		f.Errorf("%s: it is %d, want %d", query, got, want)
	}
}

// book moves money between an account and the outside world, with an entry and an event.
func (f *fixture) book(ctx context.Context, tx runtime.Tx, account, amount int) error {
	if _, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance + ? WHERE id = ?", amount, account); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (?, ?)", account, amount); err != nil {
		return err
	}
	_, err := runtime.Publish(ctx, tx, bookedType, booking{Account: account, Amount: amount})
	return err
}
