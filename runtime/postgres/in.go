package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// In returns a publisher that stores events in a transaction of the program, a [pgx.Tx] or a *[sql.Tx]:
//
//	events.PublishOrderPlaced(ctx, postgres.In(bus, tx), order)
//
// They are delivered after the commit, and never after a rollback, also to a savepoint. The bus has an [Outbox] or a
// [Relay], whose tables are in the database of tx. All options of Publish work. With [runtime.WithDedupeKey] the key is
// looked at when the event reaches the bus: a duplicate is dropped there, and one with another payload is a dead letter
// of the subscription $relay.
//
// Publish after the first change of the row that the event is about. That is what orders it: events of transactions
// that change a row in common are delivered in the order in which these were committed.
//
// The errors are those of [runtime.Publish] but for *[event.ConflictError], those of the database as they are, and one
// that matches [errors.ErrUnsupported] if the bus has neither an outbox nor a relay. After one of the database the
// transaction cannot go on. [runtime.Receipt.Wait] returns such an error, too: the event is nowhere yet.
//
// With the ctx of a handler the events are its children, but the transaction is one of its own: it is stored whatever
// becomes of the handler. A publisher is as safe for concurrent use as tx is, and needs no closing.
func In(bus *runtime.Bus, tx any) runtime.Publisher { return runtime.In(bus, joining{tx}) }

// joining implements outbox.Joining.
type joining struct{ tx any }

// Join implements outbox.Joining.
func (j joining) Join(ctx context.Context, home any, records []engine.Record) error {
	at, ok := home.(interface{ outbox() (*tables, *bell) })
	if !ok {
		return unsupported("the bus has neither postgres.Outbox nor postgres.Relay, so it", "publish in a transaction of Postgres", "give one of these options to Open")
	}
	_, ofPgx := j.tx.(pgx.Tx)
	_, ofSQL := j.tx.(*sql.Tx)
	q := querierOf(j.tx)
	if q == nil || !ofPgx && !ofSQL {
		return fmt.Errorf("postgres: In: the transaction, a %T, is nil or neither a pgx.Tx nor a *sql.Tx", j.tx)
	}
	t, bell := at.outbox()
	if err := t.insert(ctx, q, records); err != nil {
		return fmt.Errorf("publish into the outbox %s of Postgres: %w%s", t.schema, err, hintOf(err))
	}
	bell.ring()
	return nil
}

// Wait implements outbox.Joining.
func (joining) Wait() error {
	return unsupported("an outbox in Postgres", "wait for an event of a transaction", "it is delivered after the commit, and then handlers say what became of it")
}

func unsupported(who, what, hint string) error {
	return &event.UnsupportedError{Engine: who, What: what, Hint: hint}
}
