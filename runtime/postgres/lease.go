package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// A relay has a lease, which it renews in time. If it does not, because its process hangs, another one may take over:
// for one look there may be two, which bring events twice, and the bus drops those.
const (
	leaseTime  = 15 * time.Second
	renewEvery = 5 * time.Second
)

// lease is the right of a process to relay.
type lease struct {
	*tables
	owner   uuid.UUID
	bus     string    // to which it relays, for operators
	renewed time.Time // zero if another process has it, or it is to be looked
	had     bool      // at some time
	former  string    // the bus that the one before has relayed to, if that is another one
}

// held renews the lease if it is time to, or takes it if it is free.
func (l *lease) held(ctx context.Context) (bool, error) {
	now := time.Now()
	if !l.renewed.IsZero() && now.Sub(l.renewed) < renewEvery {
		return true, nil
	}
	l.renewed = time.Time{}
	err := errNoRow
	wrong := l.db(ctx, func(scan func(into ...any) error) error {
		var former *string
		var held bool
		if err = scan(&former, &held); !held {
			return err
		}
		if l.renewed, l.had, l.former = now, true, ""; former != nil && *former != l.bus {
			l.former = *former
		}
		return nil
	}, l.in(`
		WITH held AS (UPDATE busgen.relay SET owner = $1::uuid, bus = $2::text, until = clock_timestamp() + make_interval(secs => $3::int)
			WHERE until < clock_timestamp() OR owner = $1::uuid RETURNING one)
		SELECT bus, EXISTS (SELECT FROM held) FROM busgen.relay`), l.owner.String(), l.bus, int(leaseTime/time.Second))
	return !l.renewed.IsZero(), cmp.Or(wrong, err)
}

// errNoRow is about a schema whose tables were restored without what is in them.
var errNoRow = errors.New("the table relay has no row, so no process can relay: run INSERT INTO busgen.relay DEFAULT VALUES")

// end lets others relay at once.
func (l *lease) end() {
	if !l.had {
		return
	}
	ctx, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	l.db.exec(ctx, l.in("UPDATE busgen.relay SET owner = NULL, until = '-infinity' WHERE owner = $1::uuid"), l.owner.String())
}

// flush returns when all that was committed before is on the disk of the server, also by transactions that do not wait
// for that (synchronous_commit = off): the server writes its log in order, and this commit has something in it.
func (t *tables) flush(ctx context.Context) error {
	return t.db.exec(ctx, "SELECT set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'busgen', '')")
}
