package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// DB is a *[github.com/jackc/pgx/v5/pgxpool.Pool], or a *[database/sql.DB] of the driver of pgx (stdlib). It stays open
// when the bus is shut down.
type DB any

// Option changes how a database is used.
type Option func(*settings) error

type settings struct {
	schema      string
	least, most time.Duration
	notify      bool
	listen      *pgx.Conn
	keep        time.Duration // 0 for not at all
}

// WithSchema says which schema the tables are in: lower-case letters, digits and underscores. The default is busgen.
// All programs of an outbox, and [Migrate], have the same.
func WithSchema(name string) Option {
	return func(s *settings) error {
		if !validSchema.MatchString(name) {
			return fmt.Errorf("WithSchema: %q is not 1 to 40 lower-case letters, digits and underscores", name)
		}
		s.schema = name
		return nil
	}
}

var validSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// WithPoll sets how long a [Relay] waits until it looks again: least after it has found something, and twice as long
// each time that it finds nothing, up to most. The default is 5 ms and 50 ms. A publish with [In] and the bus of the
// relay makes it begin with least again.
func WithPoll(least, most time.Duration) Option {
	return func(s *settings) error {
		if least < time.Millisecond || most < least || most > time.Minute {
			return fmt.Errorf("WithPoll: %v and %v are not at least 1ms, and at most 1m", least, most)
		}
		s.least, s.most = least, most
		return nil
	}
}

// WithNotify makes a [Relay] look at once when others publish, so that [WithPoll] can be slower. It listens on a
// connection that the program gives it and does not use itself; a direct one, because poolers in transaction mode
// cannot listen. If the connection ends the relay goes on without.
//
// Publishers have the option too, with nil. A bus sends one notification in 10 ms at most, in a transaction of its own,
// because one within that of the program would make all commits wait for each other. With [In] that is 10 ms after
// publishing: if the transaction takes longer, the relay finds the event when it looks the next time.
func WithNotify(listen *pgx.Conn) Option {
	return func(s *settings) error {
		s.notify, s.listen = true, listen
		return nil
	}
}

// KeepRelayed makes a [Relay] keep what it has brought, for 1 hour to a year, in the table relayed: docs/postgres.md
// says how to send it again when a bus is lost. The table has a part for each day (UTC), which is dropped as a whole,
// so the user of the relay must be the owner of the tables.
func KeepRelayed(d time.Duration) Option {
	return func(s *settings) error {
		if d < time.Hour || d > 366*24*time.Hour {
			return fmt.Errorf("KeepRelayed: %v is not between an hour and a year", d)
		}
		s.keep = d
		return nil
	}
}

// tables is the database with the tables of an outbox.
type tables struct {
	settings
	on DB
	db querier // on it
}

func newTables(on DB, opts []Option) (*tables, error) {
	t := &tables{settings: settings{schema: "busgen", least: 5 * time.Millisecond, most: 50 * time.Millisecond}, on: on, db: querierOf(on)}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("postgres: option %d is nil", i+1)
		}
		if err := opt(&t.settings); err != nil {
			return nil, fmt.Errorf("postgres: %w", err)
		}
	}
	if _, tx := on.(pgx.Tx); tx || t.db == nil {
		return t, fmt.Errorf("postgres: the database, a %T, is nil or neither a *pgxpool.Pool nor a *sql.DB", on)
	}
	return t, nil
}

// in returns a statement with the schema before the names of tables.
func (s *settings) in(statement string) string {
	return strings.ReplaceAll(statement, "busgen.", `"`+s.schema+`".`)
}

func (s *settings) channel() string { return s.schema + "_outbox" }
