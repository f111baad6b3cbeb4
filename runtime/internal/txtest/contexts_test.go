package txtest

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
)

// oddContext is a context of a program whose methods do wrong after they have answered a few times.
type oddContext struct {
	context.Context
	err, done func()
	left      *atomic.Int32 // how many answers
}

func (c oddContext) Err() error {
	c.answer(c.err)
	return c.Context.Err()
}

func (c oddContext) Done() <-chan struct{} {
	c.answer(c.done)
	return c.Context.Done()
}

func (c oddContext) answer(wrong func()) {
	if wrong != nil && c.left.Add(-1) < 0 {
		wrong()
	}
}

// A context is code of the program. This takes real time: virtual time stands still while somebody waits for a lock.
func TestAContextThatNeverAnswersHoldsUpNobody(t *testing.T) {
	short.Visit(t, "it runs many transactions")
	const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000) INSERT INTO entry (account, amount) SELECT 1, i FROM n"
	const found = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000) SELECT max(i) FROM n"
	for name, wrong := range map[string]oddContext{
		"Err blocks":  {err: func() { select {} }},
		"Err panics":  {err: func() { panic("no") }},
		"Done blocks": {done: func() { select {} }},
	} {
		for answers := range int32(4) {
			t.Run(fmt.Sprint(name, " after ", answers), func(t *testing.T) {
				f := open(t, 1)
				odd := func() context.Context {
					one := oddContext{context.Background(), wrong.err, wrong.done, new(atomic.Int32)}
					one.left.Store(answers)
					return one
				}
				own := func() *sql.Conn { // the pool of database/sql asks contexts with a lock, too
					conn, err := runtime.DB(f.Bus).Conn(context.Background())
					f.must(err)
					return conn
				}
				first, second := own(), own()
				for _, use := range []func(){
					func() {
						runtime.Transact(context.Background(), f.Bus, func(tx runtime.Tx) error {
							tx.ExecContext(odd(), many)
							return errNoAccount
						})
					},
					func() {
						if name == "Err panics" {
							return // database/sql asks the context of a query on a goroutine of its own
						}
						runtime.Transact(context.Background(), f.Bus, func(tx runtime.Tx) error {
							rows, err := tx.QueryContext(odd(), found)
							for err == nil && rows.Next() {
							}
							return err
						})
					},
					func() { first.ExecContext(odd(), "DELETE FROM account WHERE id = ("+found+")") },
					func() {
						if name == "Done blocks" {
							return // database/sql asks for it when the transaction has begun, which is open then
						}
						if tx, err := second.BeginTx(odd(), nil); err == nil {
							tx.Rollback()
						}
					},
				} {
					aside(func() error { use(); return nil })
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
					defer cancel()
					f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(context.Background(), tx, 1, 5) }))
				}
				f.must(f.Shutdown(context.Background()))
			})
		}
	}
}
