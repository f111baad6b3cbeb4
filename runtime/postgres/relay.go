package postgres

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/postgres/internal/operate"
)

// Relay makes a bus that brings to itself what is in the outbox of db, while it dispatches. The bus is in a file or on
// JetStream, as without this option:
//
//	bus, err := events.Open(ctx, "shop.db", postgres.Relay(pool))
//
// Each event arrives once, with the id, the metadata, the due time and the dedupe key that it was published with. It
// was published when its row was inserted, by the clock of Postgres. Events of transactions that change a row in common
// arrive in the order in which these were committed, if they are published after that change; others in some order.
//
// If several processes have a bus with this option, one of them relays. When it ends the others wait for a second, and
// if it dies for 15 s. All of them are the same bus: an outbox has one.
//
// An event that the bus cannot publish, because it does not know the type or because its dedupe key was used for
// another payload, is a dead letter of the subscription $relay. Retrying that publishes the event, as a child and with
// a new id, once the type is known. An event that is larger than [runtime.WithPayloadLimit] or the servers allow stays
// in the outbox. With [runtime.WithMaxPending] events stay there while too much is pending.
//
// While the bus or Postgres fail, events stay in the outbox, and the relay tries again. [observe.CheckOutbox] says for
// how long, and [runtime.Stats].Outbox what was relayed.
func Relay(db DB, opts ...Option) runtime.Option {
	return withRelay(db, opts, func(r *relay) outbox.Relay { return r })
}

// withRelay returns the option for a relay within what around returns.
func withRelay(db DB, opts []Option, around func(*relay) outbox.Relay) runtime.Option {
	t, err := newTables(db, opts)
	if err == nil && t.notify && t.listen == nil {
		err = errors.New("postgres: WithNotify of Relay needs a connection to listen on")
	}
	if err != nil {
		return runtime.WithEngine(invalid{err})
	}
	return outbox.WithRelay(func() outbox.Relay {
		return around(&relay{tables: t, bell: newBell(t), left: map[int64]time.Time{}})
	}).(runtime.Option)
}

// relay implements [outbox.Relay]. The fields above mu belong to the goroutine of Run.
type relay struct {
	*tables
	bell  *bell
	lease lease
	floor floor
	reset time.Time           // when the floor was 0
	left  map[int64]time.Time // rows that are too large for the bus, and since when that is known

	mu     sync.Mutex
	status observe.Outbox
}

// outbox is for [In].
func (r *relay) outbox() (*tables, *bell) { return r.tables, r.bell }

// Status implements [outbox.Relay].
func (r *relay) Status() observe.Outbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

const (
	// standbyPause is how often a relay looks whether it may relay.
	standbyPause = time.Second
	// failedPause is how long it waits after an error, at most.
	failedPause = time.Second
	// ringPause is how long it waits after a publish, so that it takes all that is published meanwhile.
	ringPause = 5 * time.Millisecond
	// resetEvery is how often it looks from the beginning.
	resetEvery = time.Minute
	// pruneEvery is how often it deletes old marks.
	pruneEvery = time.Hour
)

// Run implements [outbox.Relay].
func (r *relay) Run(ctx context.Context, to outbox.Bus) {
	r.lease = lease{tables: r.tables, owner: uuid.New(), bus: to.Target}
	defer r.lease.end()
	var heeding sync.WaitGroup
	defer heeding.Wait()
	if r.listen != nil {
		heeding.Go(func() {
			if err := r.bell.heed(ctx); ctx.Err() == nil {
				to.Logger.Warn("the relay of the outbox hears no notifications any more: it looks for events all the same", "error", err)
			}
		})
	}
	heeding.Go(func() { r.prune(ctx, to) })
	for pause := r.least; ; {
		found, full, err := r.look(ctx, to)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = min(max(2*pause, r.most), failedPause)
		case r.lease.renewed.IsZero():
			pause = standbyPause
		case full:
			continue
		case found:
			pause = r.least
		default:
			pause = min(2*pause, r.most)
		}
		ear := r.bell.ear
		if err != nil || r.lease.renewed.IsZero() {
			ear = nil
		}
		select {
		case <-time.After(pause):
		case <-ear: // perhaps it is not committed yet
			pause = r.least
			select {
			case <-time.After(min(r.least, ringPause)):
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}
}

// prune deletes marks that are not needed any more.
func (r *relay) prune(ctx context.Context, to outbox.Bus) {
	for pause := standbyPause; ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		if pause = standbyPause; !r.Status().Relaying {
			continue
		}
		pause = pruneEvery
		tables := operate.Tables{Schema: r.schema, Query: operate.Query(r.db)}
		if _, err := tables.Prune(ctx, to.Inspect); err != nil && ctx.Err() == nil {
			to.Logger.Warn("old marks of handled events cannot be deleted; trying again in an hour", "schema", r.schema, "error", err)
		}
	}
}

// look brings what can be seen to the bus, once. It reports whether there was anything, and whether there may be more
// than a look can take.
func (r *relay) look(ctx context.Context, to outbox.Bus) (found, full bool, err error) {
	v, relayed, err := r.bring(ctx, to)
	now := time.Now()
	r.mu.Lock()
	was := r.status
	r.status.Relaying = !r.lease.renewed.IsZero()
	r.status.Relayed += uint64(relayed)
	r.status.Failing, r.status.Since, r.status.Oldest = "", time.Time{}, time.Time{}
	if err != nil && ctx.Err() == nil {
		r.status.Failing, r.status.Since = err.Error(), was.Since
		if was.Since.IsZero() {
			r.status.Since = now
		}
	}
	if len(v.rows) > 0 && (v.full || err != nil) {
		r.status.Oldest = now.Add(-v.oldest)
	}
	for _, since := range r.left {
		if r.status.Oldest.IsZero() || since.Before(r.status.Oldest) {
			r.status.Oldest = since
		}
	}
	status := r.status
	r.mu.Unlock()
	r.report(was, status, to.Logger)
	if err != nil {
		r.floor, r.lease.renewed = floor{}, time.Time{}
	}
	return len(v.rows) > 0, v.full, err
}

// report logs what has changed.
func (r *relay) report(was, now observe.Outbox, logger *slog.Logger) {
	if now.Relaying && !was.Relaying && was.Failing == "" {
		logger.Info("this process relays the events of the outbox", "schema", r.schema)
		if r.lease.former != "" {
			logger.Warn("the events of the outbox went to another bus before: an outbox has one", "schema", r.schema, "before", r.lease.former, "now", r.lease.bus)
		}
	}
	switch {
	case now.Failing != "" && was.Failing == "":
		logger.Error("the events of the outbox cannot be relayed; trying again", "schema", r.schema, "error", now.Failing)
	case now.Failing == "" && was.Failing != "":
		logger.Info("the events of the outbox are relayed again", "schema", r.schema)
	}
}

// bring does what look says. It deletes a row when the bus has its event on disk, and brings the event when its
// transaction is on the disk of the server: so neither is lost, whatever ends in between.
func (r *relay) bring(ctx context.Context, to outbox.Bus) (v view, relayed int, err error) {
	try, end := context.WithTimeout(ctx, patience) // a connection may be dead without saying so
	defer end()
	if held, err := r.lease.held(try); !held || err != nil {
		return v, 0, err
	}
	if now := time.Now(); now.Sub(r.reset) > resetEvery {
		if err := r.keepParts(try); err != nil {
			return v, 0, err
		}
		r.floor, r.reset = floor{}, now
		clear(r.left) // the bus may take larger ones by now
	}
	if v, err = r.read(try, r.floor.at, slices.Collect(maps.Keys(r.left))); err != nil {
		return v, 0, err
	}
	if len(v.rows) == 0 {
		r.floor.looked(&v, 0)
		return v, 0, nil
	}
	if !v.flushed {
		if err := r.flush(try); err != nil {
			return v, 0, err
		}
	}
	records := slices.Clone(v.rows)
	for i := range records {
		records[i].Seq = 0
	}
	large, err := to.Take(ctx, records)
	if err != nil {
		return v, 0, err
	}
	seqs := make([]int64, 0, len(v.rows))
	for i := range v.rows {
		if slices.Contains(large, i) {
			r.leave(&v.rows[i], to.Logger)
		} else {
			seqs = append(seqs, v.rows[i].Seq)
		}
	}
	deleted := uint64(0)
	if len(seqs) > 0 {
		if deleted, err = r.remove(try, seqs); err != nil {
			return v, 0, err
		}
	}
	r.floor.looked(&v, deleted)
	return v, len(seqs), nil
}

// leave notes that a row stays where it is.
func (r *relay) leave(row *engine.Record, logger *slog.Logger) {
	r.left[row.Seq] = time.Now()
	logger.Error("an event stays in the outbox, because it is larger than this bus takes: raise the limit (WithPayloadLimit), or delete its row",
		"schema", r.schema, "seq", row.Seq, "event_id", row.ID, "event_type", row.Type, "bytes", len(row.Payload))
}

// keepParts makes the parts of the table of relayed events that are needed, and drops those that are too old.
func (r *relay) keepParts(ctx context.Context) error {
	if r.keep == 0 {
		return nil
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for day := range 3 { // yesterday, for clocks that differ, and tomorrow
		from := today.AddDate(0, 0, day-1)
		err := r.db.exec(ctx, r.in("CREATE TABLE IF NOT EXISTS busgen."+partOf(from)+" PARTITION OF busgen.relayed FOR VALUES FROM ('"+
			from.Format(time.RFC3339)+"') TO ('"+from.AddDate(0, 0, 1).Format(time.RFC3339)+"')"))
		if err != nil {
			return err
		}
	}
	var old []string
	err := r.db(ctx, func(scan func(into ...any) error) error {
		var name string
		err := scan(&name)
		if name < partOf(time.Now().UTC().Add(-r.keep)) {
			old = append(old, name)
		}
		return err
	}, "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1::text)", r.in("busgen.relayed"))
	for _, name := range old {
		if err == nil {
			err = r.db.exec(ctx, r.in("DROP TABLE busgen."+name))
		}
	}
	return err
}

// partOf returns the name of the part of a day.
func partOf(day time.Time) string { return "relayed_" + day.Format("20060102") }
