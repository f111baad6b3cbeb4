// Package largefile makes the file of a bus with very many events, and counts what SQLite reads
// of it: for tests that something does not grow with the file.
//
// [Open] makes the file and a bus that dispatches from it, and [Count] counts.
package largefile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

type user struct {
	Number string `json:"number"`
	Email  string `json:"email"`
}

func (user) Validate() error { return nil }

const schema = `{"event":"user.registered","version":1,"payload":{"number":{"type":"string"},"email":{"type":"string","sensitive":true}}}`

var userType = runtime.Define(runtime.Spec[user]{Name: "user.registered", Settings: settings(), Schema: schema})

var (
	invitedType = runtime.Define(runtime.Spec[user]{Name: "user.invited", Settings: settings()})
	orderType   = runtime.Define(runtime.Spec[user]{Name: "order.placed", Settings: settings()})
)

func settings() declare.Settings {
	s := declare.DefaultSettings()
	s.Retry = s.Retry.With(retry.MaxAttempts(1))
	return s
}

// Open makes a file with so many events, the last one a moment ago, and a bus that dispatches from
// it and has an open circuit breaker. It needs virtual time. Of ten events
//
//   - one is a dead letter of the subscription greeter, in one of ten groups,
//   - one waits for a retry of greeter,
//   - one was published by a handler of greeter: all have the same parent,
//   - one is for the subscription behind, which has handled none.
//
// Of four events one is a dead letter of the subscription mailer, and the last one waits for it. For the
// subscription other there is none. The others are done. The audit has an entry for every ten events, which are ten minutes
// apart. The email of an event is sensitive.
func Open(t testing.TB, path string, events int) {
	t.Helper()
	if err := makeFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	fill(t, path, events)
	bus, err := open(t.Context(), path)
	if err == nil {
		t.Cleanup(func() { bus.Shutdown(context.Background()) })
		err = openBreaker(t.Context(), bus)
	}
	if err != nil {
		t.Fatal(err)
	}
	bury(t, path)
}

// makeFile makes a file with one event and the subscriptions.
func makeFile(ctx context.Context, path string) error {
	bus, err := open(ctx, path)
	if err != nil {
		return err
	}
	for name, pattern := range map[string]string{"behind": "user.invited", "mailer": "user.registered", "other": "order.*"} {
		_, wrong := runtime.SubscribePattern(bus, pattern, name, func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		err = errors.Join(err, wrong)
	}
	_, wrong := runtime.Publish(ctx, bus, userType, user{Number: "0", Email: "zeb@example.org"})
	return errors.Join(err, wrong, bus.Shutdown(context.WithoutCancel(ctx)))
}

var errNoMailbox = errors.New("no mailbox 4711")

// open opens a bus whose only handler fails.
func open(ctx context.Context, path string) (*runtime.Bus, error) {
	bus, err := runtime.Open(ctx, path, runtime.NewCatalogue(userType, invitedType, orderType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	_, err = runtime.Subscribe(bus, userType, "greeter", func(context.Context, runtime.Event[user]) error { return errNoMailbox })
	return bus, err
}

// openBreaker starts the bus and lets handlers fail until the file shows a breaker.
func openBreaker(ctx context.Context, bus *runtime.Bus) error {
	if err := bus.Start(ctx); err != nil {
		return err
	}
	for n := range 10 {
		if _, err := runtime.Publish(ctx, bus, userType, user{Number: fmt.Sprint(n), Email: "zeb@example.org"}); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	return nil
}

// statements of fill, which take the number of events.
var statements = []string{
	`UPDATE busgen_log SET created_at = ?2 - ?1 * 10000`,
	`CREATE TEMP TABLE places AS
	 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT i FROM n`,
	`INSERT INTO busgen_log (id, type, payload, metadata, created_at)
	 SELECT unhex(printf('%012x70008%015x', at / 1000, i)),
	   iif(i % 10 = 5, (SELECT id FROM busgen_types WHERE name = 'user.invited'), l.type), printf('{"number":"%d","email":"user%d@example.org"}', i, i),
	   iif(i % 10 = 3, '{"correlation_id":"job","hops":"1","parent_id":"' || lower(substr(hex(l.id), 1, 8) || '-' || substr(hex(l.id), 9, 4) || '-' ||
	     substr(hex(l.id), 13, 4) || '-' || substr(hex(l.id), 17, 4) || '-' || substr(hex(l.id), 21)) || '","published_by":"greeter"}', NULL), at
	 FROM (SELECT i, ?2 - (?1 - i) * 10000 AS at FROM places) CROSS JOIN (SELECT * FROM busgen_log ORDER BY seq LIMIT 1) l`,
	`INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason, fingerprint)
	 SELECT s.id, l.seq, 'dead', 1, l.created_at, 'permanent', printf('%012x', l.seq / 10 % 10)
	 FROM busgen_log l CROSS JOIN (SELECT id FROM busgen_subscriptions WHERE name = 'greeter') s WHERE l.seq % 10 = 1 AND l.seq <= ?1 AND ?2`,
	`INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, wait, snoozes)
	 SELECT s.id, l.seq, 'waiting', 1, 4e15, 4e15, l.seq % 3
	 FROM busgen_log l CROSS JOIN (SELECT id FROM busgen_subscriptions WHERE name = 'greeter') s WHERE l.seq % 10 = 2 AND l.seq <= ?1 AND ?2`,
	`INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason, fingerprint)
	 SELECT s.id, l.seq, 'dead', 1, l.created_at, 'permanent', 'facade00face'
	 FROM busgen_log l CROSS JOIN (SELECT id FROM busgen_subscriptions WHERE name = 'mailer') s WHERE l.seq % 4 = 0 AND l.seq <= ?1 AND ?2`,
	`INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, wait)
	 SELECT s.id, (SELECT max(seq) FROM busgen_log), 'waiting', 1, 4e15, 4e15 FROM busgen_subscriptions s WHERE s.name = 'mailer' AND ?1 AND ?2`,
	`INSERT INTO busgen_attempts (seq, subscription, n, kind, started_at, ended_at, error, error_type)
	 SELECT d.seq, d.subscription, 1, 'error', l.created_at, l.created_at, 'no mailbox ' || d.seq, '*errors.errorString'
	 FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq WHERE ?1 AND ?2`,
	`INSERT INTO busgen_audit (at, actor, action, count, detail)
	 SELECT ?2 - (?1 - i) * 60000000, 'ada', iif(i = 10, 'rename', 'redrive'), 1, iif(i = 10, hex(randomblob(2000)), 'all') FROM places WHERE i % 10 = 0`,
	`UPDATE busgen_subscriptions SET cursor = (SELECT max(seq) FROM busgen_log) WHERE name IN ('greeter', 'mailer') AND ?1 AND ?2`,
}

// fill adds events to a file that no process has open.
func fill(t testing.TB, path string, events int) {
	t.Helper()
	change(t, path, func(c *sqlite3.Conn) error {
		for _, sql := range statements {
			if err := exec(c, sql, int64(events), time.Now().UnixMicro()); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

// bury adds events, of which the bus has yet to hear, after those that have opened the breaker.
func bury(t testing.TB, path string) {
	t.Helper()
	change(t, path, func(c *sqlite3.Conn) error {
		return exec(c, `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO busgen_log (id, type, payload, created_at) SELECT randomblob(16), l.type, '{"number":"1","email":"ann@example.org"}', ?2
			FROM n CROSS JOIN (SELECT type FROM busgen_log LIMIT 1) l`, 2000, time.Now().UnixMicro())
	})
}

// change runs f on the file in one transaction.
func change(t testing.TB, path string, f func(c *sqlite3.Conn) error) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err == nil {
		err = errors.Join(c.Exec("PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; BEGIN IMMEDIATE"), f(c), c.Exec("COMMIT"), c.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exec(c *sqlite3.Conn, sql string, args ...int64) error {
	s, _, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	for i := 0; i < s.BindCount(); i++ {
		if err := s.BindInt64(i+1, args[i]); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return errors.Join(s.Exec(), s.Close())
}
