//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

// postgresServer is started by the first test that needs it.
var postgresServer struct {
	sync.Once
	*pgtest.Server
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if postgresServer.Server != nil {
		postgresServer.Close()
	}
	os.Exit(code)
}

// user is about a person.
type user struct {
	Number int    `json:"number"`
	Email  string `json:"email"`
}

func (user) Validate() error { return nil }

var userType = runtime.Define(runtime.Spec[user]{Name: "user.registered", Settings: declare.DefaultSettings(), PartitionBy: func(u user) string { return u.Email },
	Schema: `{"event":"user.registered","version":1,"partition_by":"email","payload":{"number":"int","email":{"type":"string","sensitive":true,"personal":true}}}`})

// fixture is a database with the rows of a handler, and a bus that relays to it.
type fixture struct {
	*testing.T
	url  string
	pool *pgxpool.Pool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	postgresServer.Do(func() { postgresServer.Server, postgresServer.err = pgtest.Start() })
	conformance.Must(t, postgresServer.err)
	f := &fixture{T: t, url: postgresServer.Database(t)}
	f.pool = pgtest.Pool(t, f.url)
	f.exec("CREATE TABLE accounts (name text PRIMARY KEY, n int NOT NULL)")
	f.exec("CREATE TABLE users (number int NOT NULL, email text NOT NULL, at bigint GENERATED ALWAYS AS IDENTITY)")
	return f
}

func (f *fixture) exec(statement string, args ...any) {
	f.Helper()
	_, err := f.pool.Exec(f.Context(), statement, args...)
	conformance.Must(f.T, err)
}

func (f *fixture) number(query string, args ...any) (n int) {
	f.Helper()
	conformance.Must(f.T, f.pool.QueryRow(f.Context(), query, args...).Scan(&n))
	return n
}

func (f *fixture) until(what string, holds func() bool) {
	f.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("for 30 s it is not so: %s", what)
		}
	}
}

func (f *fixture) open(target string, opts ...runtime.Option) *runtime.Bus {
	f.Helper()
	bus, err := runtime.Open(f.Context(), target, runtime.NewCatalogue(userType), append(opts, runtime.WithLogger(slog.New(slog.DiscardHandler)))...)
	conformance.Must(f.T, err)
	f.Cleanup(func() { bus.Shutdown(context.Background()) })
	return bus
}

// handling opens a bus that relays, and has a row for each user.
func (f *fixture) handling(target string, opts ...runtime.Option) *runtime.Bus {
	f.Helper()
	bus := f.open(target, append(opts, postgres.Relay(f.pool, postgres.KeepRelayed(24*time.Hour)))...)
	_, err := postgres.Subscribe(bus, userType, "users", func(ctx context.Context, tx pgx.Tx, e runtime.Event[user]) error {
		_, err := tx.Exec(ctx, "INSERT INTO users (number, email) VALUES ($1, $2)", e.Payload.Number, e.Payload.Email)
		return err
	}, runtime.FromBeginning())
	conformance.Must(f.T, err)
	conformance.Must(f.T, bus.Start(f.Context()))
	return bus
}

// busgen runs the command, and wants a status and texts.
func (f *fixture) busgen(status int, args []string, want ...string) string {
	f.Helper()
	var out bytes.Buffer
	if got := cli.Run(f.Context(), command.New(engine()), args, strings.NewReader(""), &out, &out); got != status {
		f.Errorf("busgen %q ends with %d, want %d: %s", args, got, status, out.String())
	}
	for _, text := range want {
		if !strings.Contains(out.String(), text) {
			f.Errorf("busgen %q says nothing of %q: %s", args, text, out.String())
		}
	}
	return out.String()
}

// natsServer starts a server with its streams in a folder.
func natsServer(t *testing.T, folder string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{ServerName: "test", Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: folder, NoLog: true, NoSigs: true,
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 32})
	conformance.Must(t, err)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

func TestTheCommandLooksAfterAnOutboxAndAnInbox(t *testing.T) {
	for _, where := range []string{"a file", "JetStream"} {
		t.Run("with a bus in "+where, func(t *testing.T) {
			f := newFixture(t)
			target, opts := filepath.Join(t.TempDir(), "bus.db"), []runtime.Option(nil)
			if where == "JetStream" {
				s := natsServer(t, t.TempDir(), server.RANDOM_PORT)
				t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
				target, opts = "nats://"+s.Addr().String()+"/shop", []runtime.Option{jetstream.Engine()}
			}
			f.busgen(2, []string{"pg", "status", f.url}, "Migrate")
			f.busgen(2, []string{"pg", "status", "shop.db"}, "postgres://host/shop")
			f.busgen(2, []string{"pg", "status"}, "URL")
			f.busgen(2, []string{"pg", "resend", f.url}, "since")
			f.busgen(2, []string{"pg", "reconcile", f.url, "nothing.db", "--since", "1h"}, "nothing.db")
			f.busgen(2, []string{"pg", "stauts", f.url}, "status")
			conformance.Must(t, postgres.Migrate(t.Context(), f.pool))
			f.busgen(0, []string{"pg", "status", f.url}, "0 events wait", "no process has ever relayed")
			from := f.open("users", postgres.Outbox(f.pool))
			publish := func(n int) {
				_, err := runtime.Publish(t.Context(), from, userType, user{n, fmt.Sprintf("ada%d@example.org", n)}, runtime.WithMetadata(map[string]string{"of": fmt.Sprintf("ada%d@example.org", n)}))
				conformance.Must(t, err)
			}
			for n := range 5 {
				publish(n)
			}
			f.busgen(0, []string{"pg", "status", f.url}, "5 events wait, the first one since")
			bus := f.handling(target, opts...)
			f.until("all are handled", func() bool { return f.number("SELECT count(*) FROM users") == 5 })
			conformance.Must(t, bus.WaitIdle(t.Context()))
			f.busgen(0, []string{"pg", "status", f.url}, "0 events wait", "relays to", "handled in Postgres: users")
			f.busgen(0, []string{"pg", "status", f.url, "--json"}, `"waiting": 0`, `"users"`)

			// What a standby has not heard of is handled again, and nothing else.
			f.exec("DELETE FROM users WHERE number IN (1, 3)")
			f.exec("DELETE FROM busgen.inbox WHERE event IN (SELECT id FROM busgen.relayed WHERE payload::json->>'number' IN ('1', '3'))")
			f.busgen(2, []string{"pg", "reconcile", f.url, target, "--since", "9d", "--yes"}, "later time")
			f.busgen(2, []string{"pg", "reconcile", f.url, target, "--since", "1h"}, "--yes")
			f.busgen(0, []string{"pg", "reconcile", f.url, target, "--since", "1h", "--dry-run"}, "handled without a mark: 2; replayed: 0")
			f.busgen(0, []string{"pg", "reconcile", f.url, target, "--since", "1h", "--yes"}, "replayed: 2")
			f.until("these two are handled again", func() bool { return f.number("SELECT count(*) FROM users") == 5 })
			conformance.Must(t, bus.WaitIdle(t.Context()))
			f.busgen(0, []string{"pg", "reconcile", f.url, target, "--since", "1h", "--yes"}, "replayed: 0")

			// A person is erased from what is kept.
			f.busgen(0, []string{"pg", "erase", f.url, target, "ada3@example.org", "--dry-run"}, "1 event about the person")
			f.busgen(0, []string{"pg", "erase", f.url, target, "ada3@example.org", "--yes"}, "1 event about the person")
			if n := f.number("SELECT count(*) FROM busgen.relayed WHERE payload || metadata LIKE '%ada3%'"); n != 0 {
				t.Error("the person is still there")
			}
			if n := f.number("SELECT count(*) FROM busgen.relayed WHERE payload || metadata LIKE '%ada2%'"); n != 1 {
				t.Error("somebody else is not there any more")
			}
			conformance.Must(t, bus.Shutdown(t.Context()))
			publish(6)
			f.busgen(1, []string{"pg", "erase", f.url, target, "ada6@example.org", "--yes"}, "1 event open", "in the outbox")
			f.exec("DELETE FROM busgen.outbox")

			// Marks are deleted when they are old.
			f.exec("UPDATE busgen.inbox SET at = now() - interval '8 days'")
			f.exec("UPDATE busgen.inbox SET at = now() WHERE event IN (SELECT id FROM busgen.relayed WHERE payload::json->>'number' = '2')")
			f.busgen(0, []string{"pg", "prune", f.url, target}, "deleted 4 marks")
			f.busgen(0, []string{"pg", "prune", f.url, target, "--json"}, `"deleted": 0`)

			// The bus is lost. A new one gets all of it, and what has a mark is not handled again.
			f.busgen(0, []string{"pg", "resend", f.url, "--since", "1h", "--dry-run"}, "would put 5 events")
			f.busgen(0, []string{"pg", "resend", f.url, "--since", "1h", "--yes"}, "put 5 events")
			if n := f.number("SELECT count(*) FROM busgen.outbox"); n != 5 {
				t.Errorf("%d events are in the outbox", n)
			}
			f.handling(filepath.Join(t.TempDir(), "new.db"))
			f.until("all but one are handled again", func() bool { return f.number("SELECT count(*) FROM users") == 9 })
			if n := f.number("SELECT count(*) FROM users WHERE number = 2"); n != 1 {
				t.Errorf("the one with a mark has %d rows", n)
			}
		})
	}
}
