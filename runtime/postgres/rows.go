package postgres

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The condition makes Postgres give a transaction its id before it draws a number, and not after: the floor of the
// relay relies on that.
const (
	insertOne = `
		INSERT INTO busgen.outbox (id, type, version, payload, metadata, dedupe, due_at)
		SELECT $1::text::uuid, $2::text, $3::text::int, $4::text, $5::text, $6::text, $7::text::timestamptz WHERE pg_current_xact_id() IS NOT NULL`
	insertMany = `
		INSERT INTO busgen.outbox (id, type, version, payload, metadata, dedupe, due_at)
		SELECT id, type, version, payload, metadata, dedupe, due_at
		FROM unnest($1::text[]::uuid[], $2::text[], $3::text[]::int[], $4::text[], $5::text[], $6::text[], $7::text[]::timestamptz[])
			WITH ORDINALITY AS new (id, type, version, payload, metadata, dedupe, due_at, n)
		WHERE pg_current_xact_id() IS NOT NULL ORDER BY n`
)

// insert adds records to the outbox, in order.
func (t *tables) insert(ctx context.Context, q querier, records []engine.Record) error {
	columns := make([][]*string, 7)
	for i := range records {
		r := &records[i]
		dedupe, err := dedupeText(r)
		if err != nil {
			return err
		}
		due := ""
		if !r.Due.IsZero() {
			due = r.Due.UTC().Format(time.RFC3339Nano)
		}
		for i, value := range [7]string{r.ID.String(), r.Type, strconv.Itoa(max(r.Version, 1)), string(r.Payload), string(r.Metadata), dedupe, due} {
			columns[i] = append(columns[i], &value)
			if value == "" {
				columns[i][len(columns[i])-1] = nil
			}
		}
	}
	statement := insertMany
	args := make([]any, len(columns))
	for i, column := range columns {
		if args[i] = column; len(column) == 1 {
			statement, args[i] = insertOne, column[0]
		}
	}
	return q.exec(ctx, t.in(statement), args...)
}

// dedupe is the idempotency key of a row.
type dedupe struct {
	Key    string `json:"key"`
	Scope  string `json:"scope,omitempty"`
	Digest []byte `json:"digest,omitempty"`
	For    int64  `json:"for_ms"` // how long it is remembered, from when the event reaches the bus
}

func dedupeText(r *engine.Record) (string, error) {
	d := r.Dedupe
	if d == nil {
		return "", nil
	}
	one := dedupe{Key: d.Key, Scope: d.Scope, For: d.Expires.Sub(r.CreatedAt).Milliseconds()}
	if d.Scope != "" {
		one.Digest = d.Digest[:]
	}
	text, err := json.Marshal(one)
	return string(text), err
}

func dedupeOf(text []byte, now time.Time) (*engine.Dedupe, error) {
	if text == nil {
		return nil, nil
	}
	var one dedupe
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	d := &engine.Dedupe{Key: one.Key, Scope: one.Scope, Expires: now.Add(time.Duration(one.For) * time.Millisecond)}
	copy(d.Digest[:], one.Digest)
	return d, nil
}

// The rows that a look takes at most, and how many bytes their payloads have; a larger one is taken alone. With their
// keys they are one batch of a JetStream server, which has at most 1,000 messages.
const (
	lookRows  = 300
	lookBytes = 2 << 20
)

// view is what a look has seen, all of it at one moment.
type view struct {
	rows    []engine.Record // Seq is the number in the outbox
	full    bool            // there may be more
	oldest  time.Duration   // how old the first of the rows is
	open    uint64          // the id of the oldest transaction that was open; all with smaller ids were over
	flushed bool            // all that was seen is on the disk of the server
}

// A view has at least one row, which says at what moment it is.
const selectRows = `
	SELECT pg_snapshot_xmin(pg_current_snapshot())::text, pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn(),
		seq, id::text, type, version, payload, metadata, dedupe, (extract(epoch FROM due_at) * 1000000)::bigint,
		(extract(epoch FROM created_at) * 1000000)::bigint, (extract(epoch FROM clock_timestamp() - created_at) * 1000000)::bigint
	FROM (SELECT 1) moment LEFT JOIN LATERAL (
		SELECT *, sum(octet_length(payload)) OVER (ORDER BY seq) - octet_length(payload) AS ahead
		FROM (SELECT * FROM busgen.outbox WHERE seq > $1::bigint AND seq <> ALL (coalesce($2::bigint[], '{}')) ORDER BY seq LIMIT $3::int) head
	) found ON ahead < $4::bigint ORDER BY seq`

// replanned lets Postgres plan a statement each time: the plan of when the table was empty reads all of it.
const replanned = pgx.QueryExecModeExec

// read returns the first rows behind a number that others can see, without some.
func (t *tables) read(ctx context.Context, floor int64, without []int64) (v view, err error) {
	now, size := time.Now(), 0
	err = t.db(ctx, func(scan func(into ...any) error) error {
		var open string
		var seq, due, created, age *int64
		var id, eventType *string
		var version *int
		var r engine.Record
		var key []byte
		if err := scan(&open, &v.flushed, &seq, &id, &eventType, &version, &r.Payload, &r.Metadata, &key, &due, &created, &age); err != nil {
			return err
		}
		if v.open, err = strconv.ParseUint(open, 10, 64); err != nil || seq == nil {
			return err
		}
		r.Seq, r.Type, r.Version, r.CreatedAt = *seq, *eventType, *version, time.UnixMicro(*created).UTC()
		if r.ID, err = uuid.Parse(*id); err != nil {
			return err
		}
		if r.Dedupe, err = dedupeOf(key, now); err != nil {
			return err
		}
		if due != nil {
			r.Due = time.UnixMicro(*due).UTC()
		}
		if len(v.rows) == 0 {
			v.oldest = time.Duration(*age) * time.Microsecond
		}
		v.rows, size = append(v.rows, r), size+len(r.Payload)
		return nil
	}, t.in(selectRows), replanned, floor, without, lookRows, lookBytes)
	v.full = len(v.rows) == lookRows || size >= lookBytes
	return v, err
}

const (
	deleteRows = "DELETE FROM busgen.outbox WHERE seq = ANY ($1::bigint[])"
	keepRows   = `
		INSERT INTO busgen.relayed (seq, id, type, version, payload, metadata, dedupe, due_at, created_at)
		SELECT seq, id, type, version, payload, metadata, dedupe, due_at, created_at FROM gone`
)

// remove deletes rows that are in the bus, and returns the id of the transaction in which it does.
func (t *tables) remove(ctx context.Context, seqs []int64) (id uint64, err error) {
	statement := "WITH gone AS (" + deleteRows + " RETURNING *)"
	if t.keep > 0 {
		statement += ", kept AS (" + keepRows + ")"
	}
	text := ""
	if err = t.db.one(ctx, &text, t.in(statement+" SELECT pg_current_xact_id()::text"), replanned, seqs); err == nil {
		id, err = strconv.ParseUint(text, 10, 64)
	}
	return id, err
}
