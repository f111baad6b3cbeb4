package otherdrivers

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/txtest/ledger"
)

// account makes the tables that the code of sqlc is for, with an account.
func (s *shop) account() int64 {
	s.Helper()
	schema, err := os.ReadFile(filepath.Join("..", "txtest", "ledger", "schema.sql"))
	s.must(err)
	_, err = runtime.DB(s.Bus).Exec("DROP TABLE orders; " + string(schema))
	s.must(err)
	account, err := ledger.New(runtime.DB(s.Bus)).OpenAccount(s.Context(), ledger.OpenAccountParams{Owner: "Ann", Balance: 1000})
	s.must(err)
	return account.ID
}

// withSqlc stores an order.
func withSqlc(tx ledger.DBTX, account int64, n int) error {
	return ledger.New(tx).PlaceOrder(context.Background(), ledger.PlaceOrderParams{ID: strconv.Itoa(n), Account: account, Total: int64(n)})
}

// In the same process an event is handled right after its commit, whoever has begun the transaction.
// The test asserts that it is handled, and prints how long that takes: run it with -v on a
// quiet machine.
func TestEventsAreHandledAfterEveryKindOfCommit(t *testing.T) {
	ctx := context.Background()
	insert := func(tx interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}, n int) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (number) VALUES (?)", n)
		return err
	}
	publish := func(p runtime.Publisher, n int) error {
		_, err := runtime.Publish(ctx, p, placed, order{n})
		return err
	}
	begun := func(s *shop, db *sql.DB, n int) error {
		tx, err := db.Begin()
		s.must(err)
		defer tx.Rollback()
		s.must(insert(tx, n))
		s.must(publish(runtime.In(s.Bus, tx), n))
		return tx.Commit()
	}
	for _, way := range []struct {
		name  string
		place func(s *shop) func(n int) error
	}{
		{"Transact", func(s *shop) func(n int) error {
			return func(n int) error {
				return runtime.Transact(ctx, s.Bus, func(tx runtime.Tx) error {
					if err := insert(tx, n); err != nil {
						return err
					}
					return publish(tx, n)
				})
			}
		}},
		{"DB and In", func(s *shop) func(n int) error {
			return func(n int) error { return begun(s, runtime.DB(s.Bus), n) }
		}},
		{"database/sql and In", func(s *shop) func(n int) error {
			db, err := driver.Open("file:" + filepath.ToSlash(s.path) + "?_txlock=immediate")
			s.must(err)
			s.Cleanup(func() { db.Close() })
			return func(n int) error { return begun(s, db, n) }
		}},
		{"code of sqlc in Transact", func(s *shop) func(n int) error {
			account := s.account()
			return func(n int) error {
				return runtime.Transact(ctx, s.Bus, func(tx runtime.Tx) error {
					if err := withSqlc(tx, account, n); err != nil {
						return err
					}
					return publish(tx, n)
				})
			}
		}},
		{"code of sqlc in DB, and In", func(s *shop) func(n int) error {
			account := s.account()
			return func(n int) error {
				tx, err := runtime.DB(s.Bus).Begin()
				s.must(err)
				defer tx.Rollback()
				s.must(withSqlc(tx, account, n))
				s.must(publish(runtime.In(s.Bus, tx), n))
				return tx.Commit()
			}
		}},
		{"native connection and In", func(s *shop) func(n int) error {
			conn, err := sqlite3.Open(s.path)
			s.must(err)
			s.Cleanup(func() { conn.Close() })
			s.must(conn.BusyTimeout(5 * time.Second))
			return func(n int) error {
				s.must(conn.Exec("BEGIN IMMEDIATE"))
				s.must(publish(runtime.In(s.Bus, conn), n))
				return conn.Exec("COMMIT")
			}
		}},
		{"outbox in DB", func(s *shop) func(n int) error {
			return func(n int) error {
				_, err := runtime.DB(s.Bus).Exec("INSERT INTO outbox (type, payload) VALUES ('order.placed', json_object('number', ?))", n)
				return err
			}
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := open(t)
			place := way.place(s)
			committed := map[int]time.Time{}
			for n := range 100 {
				s.must(place(n))
				committed[n] = time.Now()
				time.Sleep(5 * time.Millisecond)
			}
			t.Logf("p50 from the commit to the handler: %v", s.median(committed))
		})
	}
}
