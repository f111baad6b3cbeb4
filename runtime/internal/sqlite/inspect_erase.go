package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

const (
	erasePage = 500 // events that are read at once
	eraseStep = 50  // events that one transaction erases
)

// eraser is an erasure that runs. What it has erased does not match any more, so that a
// second one goes on where the first one was killed.
type eraser struct {
	*Inspection
	spec   engine.Erasure
	n      event.Erased
	passed map[int64]bool // the events that were found open, and those that were erased or counted: true
	action action
}

// Erase implements [engine.Eraser].
func (i *Inspection) Erase(ctx context.Context, spec engine.Erasure) (event.Erased, error) {
	e := &eraser{Inspection: i, spec: spec, passed: map[int64]bool{}, action: action{AuditEntry: event.AuditEntry{Actor: i.actor, Action: "erase", Detail: spec.Detail}}}
	err := e.events(ctx)
	if err == nil {
		err = e.texts(ctx)
	}
	if err == nil && !e.spec.DryRun && !e.spec.KeepSpace {
		err = i.scrub(ctx)
		e.n.Clean = err == nil
	}
	return e.n, err
}

// aboutRow is an event that is about the person.
type aboutRow struct {
	seq               int64
	id                uuid.UUID
	eventType         string
	version           int
	payload, metadata []byte
}

// events goes through the log, page by page, and erases what is about the person.
func (e *eraser) events(ctx context.Context) error {
	last, err := int64(0), error(nil)
	look := func(f func(c *database.Conn) error) error { return e.look(ctx, "look for a person in", f) }
	end := int64(0)
	if err := look(func(c *database.Conn) error {
		end, err = c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
		return err
	}); err != nil {
		return err
	}
	for last < end {
		var found []int64
		var keyed []string
		var mentioned []aboutRow
		next := last
		err := look(func(c *database.Conn) error {
			found, keyed, mentioned, next = nil, nil, nil, last
			rows, err := eventRows(c, "l.seq > ? ORDER BY l.seq LIMIT ?", last, erasePage)
			if err != nil || len(rows) == 0 {
				next = end
				return err
			}
			for _, r := range rows {
				next = r.seq
				switch {
				case e.spec.Names(r.eventType, r.version, r.payload):
					found = append(found, r.seq)
					continue
				case e.spec.Keyed(r.eventType, r.version, r.payload):
					keyed = append(keyed, r.eventType)
				case e.spec.Mentions(r.eventType, r.payload):
					mentioned = append(mentioned, r)
				}
				if _, changed := e.noticeOf(r); changed {
					found = append(found, r.seq)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		e.others(keyed, mentioned)
		for len(found) > 0 {
			n := min(len(found), eraseStep)
			if err := e.step(ctx, found[:n]); err != nil {
				return err
			}
			found = found[n:]
		}
		last = next
	}
	return nil
}

// others counts events that stay as they are.
func (e *eraser) others(keyed []string, mentioned []aboutRow) {
	for _, eventType := range keyed {
		e.n.Keyed++
		engine.CountErased(&e.n, eventType).Keyed++
	}
	for _, r := range mentioned {
		e.n.Mentions++
		engine.CountErased(&e.n, r.eventType).Mentions++
		if len(e.n.MentionIDs) < engine.ErasedIDs {
			e.n.MentionIDs = append(e.n.MentionIDs, r.id)
		}
	}
}

func eventRows(c *database.Conn, condition string, args ...any) (rows []aboutRow, err error) {
	err = c.Query("SELECT l.seq, l.id, t.name, t.version, "+tables.Bounded("l.payload")+", "+tables.Bounded("l.metadata")+" FROM busgen_log l JOIN busgen_types t ON t.id = l.type WHERE "+condition,
		func(s *sqlite3.Stmt) error {
			r := engine.Record{Seq: s.ColumnInt64(0)}
			if err := tables.ReadBounded(c, s, 4, &r); err != nil {
				return err
			}
			one := aboutRow{r.Seq, database.UUID(s, 1), s.ColumnText(2), s.ColumnInt(3), r.Payload, r.Metadata}
			if r.Unreadable != nil { // nobody can tell whom it is about
				return fmt.Errorf("event %s: %w", one.id, r.Unreadable)
			}
			rows = append(rows, one)
			return nil
		}, args...)
	return rows, err
}

// step erases events in one transaction, or counts them.
func (e *eraser) step(ctx context.Context, seqs []int64) error {
	before := e.n
	run := func(c *database.Conn) error {
		e.n = before
		e.n.Types = slices.Clone(before.Types)
		e.n.OpenIDs = before.OpenIDs[:len(before.OpenIDs):len(before.OpenIDs)]
		for _, seq := range seqs {
			if err := e.cluster(c, seq); err != nil {
				return err
			}
		}
		changed := e.n.Events + e.n.Texts - before.Events - before.Texts
		if e.spec.DryRun || changed == 0 {
			return nil
		}
		// Another version of the schema makes each bus drop what it has of the log in memory.
		if err := c.ExecScript("CREATE TABLE busgen_erasing (x); DROP TABLE busgen_erasing"); err != nil {
			return err
		}
		return e.action.add(c, changed)
	}
	var err error
	if e.spec.DryRun {
		err = e.look(ctx, "look for a person in", run)
	} else {
		err = e.wipe(ctx, run)
	}
	if err != nil {
		e.n = before
		return err
	}
	e.action.committed()
	e.told()
	return nil
}

func (e *eraser) told() {
	if e.spec.Progress != nil {
		e.spec.Progress(e.n)
	}
}

// wipe is change on a connection that overwrites what it deletes.
func (e *eraser) wipe(ctx context.Context, f func(c *database.Conn) error) error {
	return e.change(ctx, "erase a person from", func(c *database.Conn) error {
		if _, err := c.Int64("PRAGMA secure_delete=ON"); err != nil { // stays so for this connection
			return err
		}
		return f(c)
	})
}

// cluster erases an event with those that were edited into it and out of it, unless a
// delivery of one of them is open.
func (e *eraser) cluster(c *database.Conn, seq int64) error {
	if _, passed := e.passed[seq]; passed {
		return nil
	}
	all, err := editedTogether(c, seq)
	if err != nil || len(all) == 0 {
		return err // it was pruned
	}
	if !e.spec.Names(all[0].eventType, all[0].version, all[0].payload) {
		return e.notice(c, all[0]) // or somebody else has erased it
	}
	for _, r := range all {
		e.passed[r.seq] = false
	}
	letters := map[int64][]int64{} // the subscriptions of dead letters, by event
	for _, r := range all {
		deliveries, err := readDeliveries(c, r.seq)
		if err != nil {
			return err
		}
		for _, d := range deliveries {
			open, err := isOpen(c, r.seq, d)
			if err != nil {
				return err
			}
			if open {
				e.n.Open++
				engine.CountErased(&e.n, r.eventType).Open++
				if e.spec.AllOpen || len(e.n.OpenIDs) < engine.ErasedIDs {
					e.n.OpenIDs = append(e.n.OpenIDs, r.id)
				}
				return nil
			}
			if d.State == tables.RowDead {
				letters[r.seq] = append(letters[r.seq], d.subscription)
			}
		}
	}
	for _, r := range all {
		if err := e.event(c, r, letters[r.seq]); err != nil {
			return err
		}
	}
	return nil
}

// noticeOf returns what stays of a dead-letter notice of another event, and whether the person
// was in its texts.
func (e *eraser) noticeOf(r aboutRow) (json.RawMessage, bool) {
	if !strings.HasPrefix(r.eventType, engine.DeadType("")) {
		return nil, false
	}
	return e.spec.Notice(r.payload)
}

// notice erases the person from the texts of a dead-letter notice.
func (e *eraser) notice(c *database.Conn, r aboutRow) error {
	left, changed := e.noticeOf(r)
	if !changed {
		return nil
	}
	if e.n.Texts++; e.spec.DryRun {
		return nil
	}
	return c.Exec("UPDATE busgen_log SET payload = ? WHERE seq = ?", string(left), r.seq)
}

// isOpen reports whether a handler may be at work at a delivery, or may begin. The handler of
// one that is discarded may be at work until the process that dispatches has answered.
func isOpen(c *database.Conn, seq int64, d deliveryState) (bool, error) {
	if !d.cancelled {
		return d.open(), nil
	}
	owned, err := locks.IsOwned(c.Path)
	if err != nil || !owned {
		return false, err // the next process knows what is discarded before it begins
	}
	answer, err := c.Int64("SELECT coalesce(max(answer), 0) FROM busgen_cancelled WHERE seq = ? AND subscription = ?", seq, d.subscription)
	return d.open() || answer != answerNone, err
}

// editedTogether returns an event and all that operators have made of it, or it of, with their
// dead-letter notices. It is empty if the event is not there any more.
func editedTogether(c *database.Conn, seq int64) (all []aboutRow, err error) {
	seen, todo := map[int64]bool{}, []int64{seq}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		rows, err := eventRows(c, "l.seq = ?", at)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all = append(all, r)
			err := c.Query(`SELECT l.seq FROM busgen_origins o JOIN busgen_log l ON l.id = o.parent WHERE o.seq = ?1
				UNION SELECT o.seq FROM busgen_origins o WHERE o.parent = ?2
				UNION SELECT l.seq FROM busgen_log l JOIN busgen_types t ON t.id = l.type
				WHERE substr(t.name, 1, 6) = '`+engine.DeadType("")+`'`+childOf, func(s *sqlite3.Stmt) error {
				todo = append(todo, s.ColumnInt64(0))
				return nil
			}, r.seq, r.id[:], nil, nil, nil, nil, nil, nil, nil, r.id.String())
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// event erases one event with everything that belongs to it.
func (e *eraser) event(c *database.Conn, r aboutRow, letters []int64) error {
	attempts, err := c.Int64("SELECT count(*) FROM busgen_attempts WHERE seq = ?", r.seq)
	if err != nil {
		return err
	}
	e.n.Events, e.n.DeadLetters, e.n.Attempts = e.n.Events+1, e.n.DeadLetters+len(letters), e.n.Attempts+int(attempts)
	engine.CountErased(&e.n, r.eventType).Events++
	if e.passed[r.seq] = true; e.spec.DryRun {
		return nil
	}
	var metadata any
	if left := e.spec.Metadata(json.RawMessage(r.metadata)); r.metadata != nil && left != nil {
		metadata = string(left)
	}
	err = c.Exec("UPDATE busgen_log SET payload = ?, metadata = ? WHERE seq = ?", string(e.spec.Redact(r.eventType, r.version, r.payload)), metadata, r.seq)
	for _, subscription := range letters {
		err = errors.Join(err, tables.Discard(c, tables.RowKey{Subscription: subscription, Seq: r.seq}, engine.ReasonErased))
	}
	for _, sql := range []string{
		"UPDATE busgen_attempts SET error = '" + engine.ReasonErased + "', stack = NULL, log = NULL WHERE seq = ?",
		"UPDATE busgen_discarded SET reason = '" + engine.ReasonErased + "', fingerprint = NULL WHERE seq = ? AND substr(reason, 1, 12) <> '" + ledger.EditedInto + "'",
		"UPDATE busgen_cancelled SET reason = '" + engine.ReasonErased + "' WHERE seq = ?",
		"UPDATE busgen_deliveries SET fingerprint = NULL WHERE seq = ?",
		"UPDATE busgen_steps SET result = '\"[erased]\"', shape = NULL WHERE seq = ? AND result IS NOT NULL",
		"DELETE FROM busgen_dedupe WHERE seq = ?",
		"DELETE FROM busgen_event_keys WHERE seq = ?",
	} {
		if err == nil {
			err = c.Exec(sql, r.seq)
		}
	}
	return err
}
