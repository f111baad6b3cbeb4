//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/postgres"
)

// Two processes share a bus on JetStream, and one of them relays. They come and go, and so does the server. 8
// publishers change 16 accounts, and publish what they are then.
func TestRowsInPostgresAndABusOnJetStreamAgree(t *testing.T) {
	f := newFixture(t)
	conformance.Must(t, postgres.Migrate(t.Context(), f.pool))
	folder := t.TempDir()
	s := natsServer(t, folder, server.RANDOM_PORT)
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	port := s.Addr().(*net.TCPAddr).Port
	target := fmt.Sprintf("nats://127.0.0.1:%d/shop", port)
	process := func() *runtime.Bus {
		t.Helper()
		bus := f.open(target, jetstream.Engine(), postgres.Relay(f.pool))
		_, err := postgres.Subscribe(bus, userType, "users", func(ctx context.Context, tx pgx.Tx, e runtime.Event[user]) error {
			_, err := tx.Exec(ctx, "INSERT INTO users (number, email) VALUES ($1, $2)", e.Payload.Number, e.Payload.Email)
			return err
		}, runtime.FromBeginning(), runtime.WithStrictOrder(), runtime.WithConcurrency(4))
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(t.Context()))
		return bus
	}
	buses := []*runtime.Bus{process(), process()}
	from := f.open("users", postgres.Outbox(f.pool))
	var publishing sync.WaitGroup
	const events = 800
	for range 8 {
		publishing.Go(func() {
			for range events / 8 {
				err := pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) error {
					name, n := fmt.Sprint("k", rand.IntN(16)), 0
					err := tx.QueryRow(t.Context(), "INSERT INTO accounts VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET n = accounts.n + 1 RETURNING n", name).Scan(&n)
					if err == nil {
						_, err = runtime.Publish(t.Context(), postgres.In(from, tx), userType, user{n, name})
					}
					time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	f.until("some are handled", func() bool { return f.number("SELECT count(*) FROM users") > 50 })
	conformance.Must(t, buses[0].Shutdown(t.Context())) // the one with the lease, or not
	buses[0] = process()
	s.Shutdown()
	s.WaitForShutdown()
	s = natsServer(t, folder, port)
	f.until("more are handled", func() bool { return f.number("SELECT count(*) FROM users") > 100 })
	conformance.Must(t, buses[1].Shutdown(t.Context()))
	publishing.Wait()
	f.until("all are handled", func() bool {
		return f.number("SELECT count(*) FROM busgen.outbox") == 0 && f.number("SELECT count(*) FROM users") >= events
	})
	conformance.Must(t, buses[0].WaitIdle(t.Context()))
	if rows, once := f.number("SELECT count(*) FROM users"), f.number("SELECT count(DISTINCT (email, number)) FROM users"); rows != events || once != events {
		t.Errorf("there are %d rows, of which %d differ, want %d", rows, once, events)
	}
	if n := f.number("SELECT count(*) FROM (SELECT email, number, lag(number) OVER (PARTITION BY email ORDER BY at) AS before FROM users) x WHERE number <> coalesce(before, 0) + 1"); n > 0 {
		t.Errorf("%d events of a key were handled out of order", n)
	}
}
