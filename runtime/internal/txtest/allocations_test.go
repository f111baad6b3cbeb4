package txtest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
)

// txAllocations is for a transaction with two statements and an event. It makes about 25; with a
// transaction of database/sql for each it would be 50.
const txAllocations = 36

func TestATransactionAllocatesLittle(t *testing.T) {
	f := open(t, 1, runtime.WithTxLimit(time.Minute))
	ctx := t.Context()
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 1) })) // which prepares the statements
	n := testing.AllocsPerRun(500, func() {
		f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 1) }))
	})
	if t.Log(n); n > txAllocations {
		t.Errorf("a transaction makes %v allocations, want at most %d", n, txAllocations)
	}
}

// Who publishes without a Tx pays nothing for it, neither before the first nor after it.
func TestPublishingAllocatesNoMoreAfterATransaction(t *testing.T) {
	f := &fixture{T: t, path: filepath.Join(t.TempDir(), "events.db")}
	f.reopen()
	ctx := t.Context()
	publish := func() {
		_, err := runtime.Publish(ctx, f.Bus, bookedType, booking{1, 1})
		f.must(err)
	}
	publish()
	before := testing.AllocsPerRun(500, publish)
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
		return err
	}))
	after := testing.AllocsPerRun(500, publish)
	if t.Log(before, after); after > before+1 { // the garbage of others
		t.Errorf("an event makes %v allocations, and made %v before there was a transaction", after, before)
	}
}
