//go:build linux

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/postgres"
)

// reader is a way to read an outbox that others recommend: it remembers how far it has come.
type reader struct {
	f      *fixture
	query  string // with the position as $1 and $2
	xid    string
	seq    int64
	orders []string
}

// naive goes by the numbers of the rows.
func (f *fixture) naive() *reader {
	return &reader{f: f, xid: "0", query: "SELECT xid::text, seq, payload::json->>'order_id' || ' ' || (payload::json->>'number') FROM busgen.outbox WHERE $1::text <> '' AND seq > $2::bigint ORDER BY seq"}
}

// byTransaction goes by the ids of transactions, and stops before the oldest that is open.
func (f *fixture) byTransaction() *reader {
	return &reader{f: f, xid: "0", query: `SELECT xid::text, seq, payload::json->>'order_id' || ' ' || (payload::json->>'number') FROM busgen.outbox
		WHERE (xid, seq) > ($1::text::xid8, $2::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, seq`}
}

func (r *reader) read() []string {
	r.f.Helper()
	rows, err := r.f.pool.Query(r.f.Context(), r.query, r.xid, r.seq)
	conformance.Must(r.f.T, err)
	for rows.Next() {
		var order string
		conformance.Must(r.f.T, rows.Scan(&r.xid, &r.seq, &order))
		r.orders = append(r.orders, order)
	}
	conformance.Must(r.f.T, rows.Err())
	return r.orders
}

// withTransactions gives rows the ids of their transactions, for readers that want them.
func (f *fixture) withTransactions() {
	f.exec("ALTER TABLE busgen.outbox ADD xid xid8 NOT NULL DEFAULT pg_current_xact_id()")
}

// begin begins a transaction that ends with the test if it is not committed.
func (f *fixture) begin() pgx.Tx {
	f.Helper()
	tx, err := f.pool.Begin(f.Context())
	conformance.Must(f.T, err)
	f.Cleanup(func() { tx.Rollback(context.Background()) })
	return tx
}

// change changes an account and publishes what it is then, as programs do.
func change(ctx context.Context, bus *runtime.Bus, tx pgx.Tx, account string) error {
	var n int
	err := tx.QueryRow(ctx, "INSERT INTO accounts VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET n = accounts.n + 1 RETURNING n", account).Scan(&n)
	if err == nil {
		_, err = place(ctx, postgres.In(bus, tx), account, n)
	}
	return err
}

// The reader by number has gone past the row of a transaction that is committed late.
func TestANaiveReaderLosesEventsAndTheRelayDoesNot(t *testing.T) {
	f := newFixture(t)
	f.withTransactions()
	from, naive := f.outbox(), f.naive()
	late := f.begin()
	conformance.Must(t, change(t.Context(), from, late, "late"))
	f.tx(func(tx pgx.Tx) error { return change(t.Context(), from, tx, "early") })
	if got := naive.read(); !slices.Equal(got, []string{"early 1"}) {
		t.Errorf("the reader has seen %q", got)
	}
	got := f.handle(f.relay())
	f.until("the early one is handled", func() bool { return len(got.All()) == 1 })
	// All of them come after it, and so would the floor of the relay if it rose too soon.
	for i := range 20 {
		f.tx(func(tx pgx.Tx) error { return change(t.Context(), from, tx, fmt.Sprint("others", i)) })
		f.until("another one is handled", func() bool { return len(got.All()) == 2+i })
	}
	conformance.Must(t, late.Commit(t.Context()))
	if seen := naive.read(); slices.Contains(seen, "late 1") {
		t.Errorf("the naive reader has lost nothing: %q", seen)
	}
	f.until("the late one is handled", func() bool { return slices.Contains(got.All(), "late 1") })
}

// A transaction gets its id when it first writes, and the lock of a row later. The reader by id has the second change
// of the row first; and nothing while a transaction is open that was there before.
func TestAReaderByTransactionChangesTheOrderOfAKeyAndTheRelayDoesNot(t *testing.T) {
	f := newFixture(t)
	f.withTransactions()
	from, reader := f.outbox(), f.byTransaction()
	long, slow := f.begin(), f.begin()
	for i, tx := range []pgx.Tx{long, slow} {
		_, err := tx.Exec(t.Context(), "INSERT INTO accounts VALUES ($1, 0)", fmt.Sprint("unrelated", i))
		conformance.Must(t, err)
	}
	f.tx(func(tx pgx.Tx) error { return change(t.Context(), from, tx, "key") })
	conformance.Must(t, change(t.Context(), from, slow, "key"))
	conformance.Must(t, slow.Commit(t.Context()))
	if seen := reader.read(); len(seen) > 0 {
		t.Errorf("the reader by transaction sees %q while a transaction is open", seen)
	}
	f.exec("CREATE TABLE seen AS TABLE busgen.outbox")
	got := f.handle(f.relay())
	f.until("both are handled while a transaction is open", func() bool { return len(got.All()) == 2 })
	if all := got.All(); all[0] != "key 1" || all[1] != "key 2" {
		t.Errorf("handled were %q", all)
	}
	conformance.Must(t, long.Commit(t.Context()))
	reader.query = strings.Replace(reader.query, "busgen.outbox", "seen", 1)
	if seen := reader.read(); !slices.Equal(seen, []string{"key 2", "key 1"}) {
		t.Errorf("the reader by transaction has seen %q, which is not the order that this test is about", seen)
	}
}

var orderEvents = short.Flag("order.events", 4_000, 600, "how many events publishers publish that commit in any order")

// 16 publishers change 32 accounts, and commit late. A transaction is open all the time.
func TestNoEventIsLostWhateverOrderTransactionsCommitIn(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	handled := f.handle(f.relay())
	open := f.begin()
	_, err := open.Exec(t.Context(), "INSERT INTO accounts VALUES ('open', 0)")
	conformance.Must(t, err)
	var publishing sync.WaitGroup
	const publishers = 16
	for range publishers {
		publishing.Go(func() {
			for range orderEvents.N() / publishers {
				undone := rand.IntN(8) == 0
				err := pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) error {
					if err := change(t.Context(), from, tx, fmt.Sprint("k", rand.IntN(32))); err != nil {
						return err
					}
					if rand.IntN(3) == 0 {
						time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond)
					}
					if undone {
						return errUndo
					}
					return nil
				})
				if err != nil && !undone {
					t.Error(err)
				}
			}
		})
	}
	publishing.Wait()
	f.drained()
	wanted := f.number("SELECT sum(n) FROM accounts WHERE name <> 'open'")
	f.until("all are handled", func() bool { return len(handled.All()) >= wanted })
	last := map[string]int{}
	for _, order := range handled.All() {
		account, number, _ := strings.Cut(order, " ")
		n, _ := strconv.Atoi(number)
		if n != last[account]+1 {
			t.Errorf("%s has number %d after %d", account, n, last[account])
		}
		last[account] = n
	}
	if all := len(handled.All()); all != wanted {
		t.Errorf("%d events were handled, %d were committed", all, wanted)
	}
}

// Dead rows that a snapshot keeps are not looked at again.
func TestALookBeginsBehindWhatIsRelayed(t *testing.T) {
	f := newFixture(t)
	floor := &conformance.Journal[int64]{}
	conformance.Must(t, f.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Floored(f.pool, floor.Add)).Start(t.Context()))
	from := f.outbox()
	for i := range 3 {
		_, err := place(t.Context(), from, "Ada", i)
		conformance.Must(t, err)
		f.drained()
	}
	f.until("the floor has risen to the last row", func() bool { return slices.Contains(floor.All(), 3) })
}

func TestOneProcessRelays(t *testing.T) {
	f := newFixture(t)
	from, path := f.outbox(), filepath.Join(t.TempDir(), "bus.db")
	bus := f.open(path, postgres.Relay(f.pool))
	conformance.Must(t, bus.Start(t.Context()))
	f.until("it relays", func() bool { return bus.Stats().Outbox.Relaying })
	other := f.intercepted(filepath.Join(t.TempDir(), "other.db"), func(context.Context, []engine.Record, func() error) error {
		return errors.New("another process relays while one has the lease")
	})
	conformance.Must(t, other.Start(t.Context()))
	for i := range 20 {
		_, err := place(t.Context(), from, "Ada", i)
		conformance.Must(t, err)
		f.drained()
	}
	if failing := other.Stats().Outbox.Failing; failing != "" {
		t.Error(failing)
	}
}
