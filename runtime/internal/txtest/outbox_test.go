package txtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// programs run SQL on a file, each with a SQLite of its own. Two of them do not trust the schema, as SQLite recommends:
// then triggers cannot use the JSON functions of SQLite 3.38 to 3.40.
var programs = map[string]func(t *testing.T, path, script string) error{
	"the SQLite of this module": func(t *testing.T, path, script string) error {
		c, err := sqlite3.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(c.BusyTimeout(10*time.Second), c.Exec("PRAGMA trusted_schema=OFF; "+script), c.Close())
	},
	"python3": func(t *testing.T, path, script string) error {
		const code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=10); c.execute('PRAGMA trusted_schema=OFF'); c.executescript(sys.stdin.read())"
		return command(t, script, "python3", "-c", code, path)
	},
	"the sqlite3 shell": func(t *testing.T, path, script string) error {
		return command(t, ".timeout 10000\n"+script, "sqlite3", "-bail", path)
	},
}

// command runs a program that this machine may not have.
func command(t *testing.T, input, name string, args ...string) error {
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed here", name)
	}
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stdin = strings.NewReader(input)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	return nil
}

// withEachProgram runs f for each program that is here.
func withEachProgram(t *testing.T, f func(t *testing.T, run func(t *testing.T, path, script string) error)) {
	for name, run := range programs {
		t.Run(name, func(t *testing.T) { f(t, run) })
	}
}

func TestOtherProgramsPublishThroughOutbox(t *testing.T) {
	short.Visit(t, "it runs many transactions")
	withEachProgram(t, func(t *testing.T, run func(t *testing.T, path, script string) error) {
		f := open(t, 1)
		seen := make(chan runtime.Event[booking], 10)
		subscribe := func() {
			_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
				seen <- e
				return nil
			})
			f.must(err)
			f.must(f.Start(t.Context()))
		}
		subscribe()
		before := time.Now().Truncate(time.Millisecond)
		f.must(run(t, f.path, `
			BEGIN;
			UPDATE account SET balance = 90;
			INSERT INTO outbox (type, payload) VALUES ('money.booked', '{"account": 1, "amount": -10}');
			COMMIT;
			BEGIN;
			UPDATE account SET balance = 0;
			INSERT INTO outbox (type, payload) VALUES ('money.booked', '{"account": 1, "amount": -90}');
			ROLLBACK;
			INSERT INTO outbox (type, payload, metadata) VALUES ('money.booked', '{"account": 2}', '{"tenant":"é\"x","correlation_id":"c"}'),
			  ('money.booked', '{"account": 3}', NULL)`))
		for i := range 3 {
			e := <-seen
			if e.Payload.Account != i+1 || e.ID.Version() != 7 || e.PublishedAt.Before(before) || e.PublishedAt.After(time.Now()) {
				t.Errorf("handled was %+v", e)
			}
			if i == 1 && (e.Metadata["tenant"] != `é"x` || e.CorrelationID != "c") {
				t.Errorf("the metadata is %v", e.Metadata)
			}
		}
		f.must(f.Shutdown(t.Context()))

		// And while no bus runs.
		f.must(run(t, f.path, `INSERT INTO outbox (type, payload) VALUES ('money.booked', '{"account": 4}')`))
		f.reopen()
		subscribe()
		if e := <-seen; e.Payload.Account != 4 {
			t.Errorf("handled was %+v", e)
		}
		f.wantNumber(90, "SELECT balance FROM account")
		f.must(f.Shutdown(t.Context()))
		if len(seen) > 0 {
			t.Errorf("%+v was handled again", <-seen)
		}
		wantSound(t, f.path)
	})
}

// wantSound runs what busgen check-db does.
func wantSound(t *testing.T, path string) {
	t.Helper()
	file, err := inspect.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if found, err := file.Check(t.Context(), nil); err != nil || !found.OK() {
		t.Errorf("the check finds %v, %v", found, err)
	}
}

func TestOutboxRefusesWhatIsNoEventInWords(t *testing.T) {
	short.Skip(t, "each refusal is a process")
	f := open(t, 0)
	f.must(f.Shutdown(t.Context()))
	refused := map[string]string{ // by the values
		`'money.boked', '{}', NULL, NULL, NULL`:                                `no event type "money.boked" in this file, which has: money.booked`,
		`'$dead.money.booked', '{}', NULL, NULL, NULL`:                         `no event type "$dead.money.booked"`,
		`NULL, '{}', NULL, NULL, NULL`:                                         `no event type "NULL"`,
		`'money.booked', NULL, NULL, NULL, NULL`:                               "the payload of money.booked is not a text of JSON",
		`'money.booked', '{"a":', NULL, NULL, NULL`:                            "malformed JSON",
		`'money.booked', x'7b7d', NULL, NULL, NULL`:                            "the payload of money.booked is not a text of JSON",
		`'money.booked', '{}' || char(0) || 'x', NULL, NULL, NULL`:             "the payload of money.booked is not a text of JSON",
		`'money.booked', '{}', 'x', NULL, NULL`:                                "malformed JSON",
		`'money.booked', '{}', 7, NULL, NULL`:                                  "the metadata of money.booked is not a text of JSON",
		`'money.booked', '{}', '{"a":"\u0007"}', NULL, NULL`:                   "the metadata of money.booked has a control character",
		`'money.booked', '{}', '["x"]', NULL, NULL`:                            "the metadata of money.booked is not a JSON object of texts",
		`'money.booked', '{}', '{"a":1}', NULL, NULL`:                          "the metadata of money.booked is not a JSON object of texts",
		`'money.booked', '{}', '{"a":"1","a":"2"}', NULL, NULL`:                "the metadata of money.booked has a key twice",
		`'money.booked', '{}', '{"parent_id":"1"}', NULL, NULL`:                "the metadata of money.booked has a key that only the bus writes",
		`'money.booked', '{}', '{"busgen.priority":"1"}', NULL, NULL`:          "the metadata of money.booked has a key that only the bus writes",
		`'money.booked', '{}', NULL, '', NULL`:                                 "the dedupe_key of money.booked is not a text of 1 to 200 bytes",
		`'money.booked', '{}', NULL, 7, NULL`:                                  "the dedupe_key of money.booked is not a text of 1 to 200 bytes",
		`'money.booked', '{}', NULL, '` + strings.Repeat("x", 201) + `', NULL`: "the dedupe_key of money.booked is not a text of 1 to 200 bytes",
		`'money.booked', '{}', NULL, NULL, -1`:                                 "the delay_ms of money.booked is not a number",
		`'money.booked', '{}', NULL, NULL, 'soon'`:                             "the delay_ms of money.booked is not a number",
		`'money.booked', '{}', NULL, NULL, 9e14`:                               "the delay_ms of money.booked is not a number",
	}
	withEachProgram(t, func(t *testing.T, run func(t *testing.T, path, script string) error) {
		for values, want := range refused {
			if strings.Contains(values, "NULL, NULL, NULL") && strings.Contains(t.Name(), "python3") && !strings.Contains(values, "boked") {
				continue // it starts slowly, and is no different here
			}
			script := "INSERT INTO outbox (type, payload, metadata, dedupe_key, delay_ms) VALUES (" + values + ");"
			if err := run(t, f.path, script); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", values, err, want)
			}
		}
	})
	f.reopen()
	f.wantNumber(0, "SELECT count(*) FROM events WHERE type = 'money.booked'")
}

func TestTheDedupeKeysOfOutboxAndOfPublishAreTheSame(t *testing.T) {
	short.Skip(t, "other programs are begun")
	withEachProgram(t, func(t *testing.T, run func(t *testing.T, path, script string) error) {
		f := open(t, 0)
		insert := func(payload, key string) error {
			return run(t, f.path, fmt.Sprintf("INSERT OR IGNORE INTO outbox (type, payload, dedupe_key) VALUES ('money.booked', '%s', '%s');", payload, key))
		}
		publish := func(amount int, key string) (*runtime.Receipt, error) {
			return runtime.Publish(t.Context(), f.Bus, bookedType, booking{Amount: amount}, runtime.WithDedupeKey(key))
		}
		const conflict = "of money.booked was used for another payload"
		f.must(insert(`{"account": 0, "amount": 1}`, "a"))
		f.must(insert(`{"account":0,"amount":1}`, "a"))
		if err := insert(`{"amount":2}`, "a"); err == nil || !strings.Contains(err.Error(), conflict) {
			t.Errorf("another payload: %v", err)
		}
		receipt, err := publish(1, "a")
		f.must(err)
		if !receipt.Duplicate {
			t.Error("Publish does not know the key of outbox")
		}
		var conflicting *event.ConflictError
		if _, err := publish(2, "a"); !errors.As(err, &conflicting) || conflicting.First != receipt.ID {
			t.Errorf("another payload: %v", err)
		}
		_, err = publish(3, "b")
		f.must(err)
		f.must(insert(`{"account":0, "amount":3}`, "b"))
		if err := insert(`{"amount":2}`, "b"); err == nil || !strings.Contains(err.Error(), conflict) {
			t.Errorf("another payload than that of Publish: %v", err)
		}
		f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")

		// Of an event that was pruned nobody knows the payload.
		f.must(f.Shutdown(t.Context()))
		f.must(run(t, f.path, "DELETE FROM busgen_log WHERE seq < (SELECT max(seq) FROM busgen_log);"))
		f.reopen()
		f.must(insert(`{"amount":2}`, "a"))
		if receipt, err := publish(2, "a"); err != nil || !receipt.Duplicate {
			t.Errorf("published: %+v, %v", receipt, err)
		}
		// A key that has expired can be used again.
		f.must(f.Shutdown(t.Context()))
		f.must(run(t, f.path, "UPDATE busgen_dedupe SET expires_at = 1;"))
		f.must(insert(`{"amount":7}`, "a"))
		f.must(insert(`{"amount":8}`, "b"))
		f.reopen()
		f.wantNumber(15, "SELECT sum(payload ->> 'amount') FROM events WHERE type = 'money.booked' AND payload ->> 'amount' > 3")
	})
}

func TestTheDedupeKeysOfOutboxCompareValuesAndAreFreed(t *testing.T) {
	short.Skip(t, "other programs are begun")
	withEachProgram(t, func(t *testing.T, run func(t *testing.T, path, script string) error) {
		f := open(t, 0)
		insert := func(payload, key string) error {
			return run(t, f.path, fmt.Sprintf("INSERT OR IGNORE INTO outbox (type, payload, dedupe_key) VALUES ('money.booked', '%s', '%s');", payload, key))
		}
		const conflict = "of money.booked was used for another payload"
		for key, payloads := range map[string][]string{
			"order": {`{"account": 0, "amount": 1}`, `{"amount": 1.0, "account": 0}`, `{"account":0e5,"amount":1e0}`},
			"text":  {`{"account": 0, "amount": 1, "note": "Z\u00fcrich \u003c"}`, `{"account": 0, "amount": 1, "note": "Zürich <"}`},
		} {
			for _, payload := range payloads {
				f.must(insert(payload, key))
			}
			if err := insert(`{"amount":2}`, key); err == nil || !strings.Contains(err.Error(), conflict) {
				t.Errorf("another payload: %v", err)
			}
		}
		f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
		f.must(insert(`{"am\u006funt" : 4.0 , "account":0}`, "go"))
		again, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{Amount: 4}, runtime.WithDedupeKey("go"))
		f.must(err)
		if !again.Duplicate {
			t.Error("Publish does not know the payload of outbox, written in another way")
		}
		f.must(insert(`{"amount":18446744073709551615}`, "large"))
		if err := insert(`{"amount": 18446744073709551614}`, "large"); err == nil || !strings.Contains(err.Error(), conflict) {
			t.Errorf("another large number: %v", err)
		}

		_, err = runtime.Subscribe(f.Bus, bookedType, "books", func(context.Context, runtime.Event[booking]) error { return nil })
		f.must(err)
		delayed, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{Amount: 5}, runtime.WithDedupeKey("d"), runtime.WithDelay(time.Hour))
		f.must(err)
		if err := insert(`{"amount":6}`, "d"); err == nil || !strings.Contains(err.Error(), conflict) {
			t.Errorf("another payload than that of a delayed event: %v", err)
		}
		f.must(delayed.Cancel(t.Context()))
		f.must(insert(`{"amount":6}`, "d"))
		f.wantNumber(6, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	})
}

func TestADelayedEventOfOutboxIsHandledWhenItIsDue(t *testing.T) {
	f := open(t, 0)
	seen := make(chan runtime.Event[booking], 10)
	_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
		seen <- e
		return nil
	})
	f.must(err)
	f.must(f.Start(t.Context()))
	f.must(programs["the SQLite of this module"](t, f.path, `
		INSERT INTO outbox (type, payload, delay_ms) VALUES ('money.booked', '{"account":2}', 300), ('money.booked', '{"account":3}', 86400000), ('money.booked', '{"account":1}', 0)`))
	for i := range 2 {
		if e := <-seen; e.Payload.Account != i+1 {
			t.Errorf("handled was %+v as number %d", e, i)
		} else if due := e.PublishedAt.Add(300 * time.Millisecond); i == 1 && time.Now().Before(due) {
			t.Errorf("an event that is due at %v was handled before", due)
		}
	}
	f.must(f.Shutdown(t.Context()))
	wantSound(t, f.path)
	f.reopen()
	f.wantNumber(1, "SELECT count(*) FROM events WHERE status = 'pending'")
}

// newest is what the type of bookings became.
var newest = runtime.Define(runtime.Spec[booking]{Name: "money.moved", Version: 2, Aliases: []string{"money.booked"}, Settings: declare.DefaultSettings(),
	Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(old booking) (booking, error) { return old, nil })}})

func TestOutboxTakesFormerNamesAndTheNewestVersion(t *testing.T) {
	f := open(t, 0)
	f.must(f.Shutdown(t.Context()))
	bus, err := runtime.Open(t.Context(), f.path, runtime.NewCatalogue(newest))
	f.must(err)
	defer bus.Shutdown(context.Background())
	var seen conformance.Journal[string]
	_, err = runtime.Subscribe(bus, newest, "seen", func(_ context.Context, e runtime.Event[booking]) error {
		seen.Add(fmt.Sprintf("%s v%d %d", e.Type, e.Version, e.Payload.Account))
		return nil
	})
	f.must(err)
	f.must(programs["the SQLite of this module"](t, f.path, `
		INSERT INTO outbox (type, payload) VALUES ('money.booked', '{"account":1}');
		INSERT INTO outbox (type, payload) VALUES ('money.moved', '{"account":2}')`))
	f.must(bus.Start(t.Context()))
	receipt, err := runtime.Publish(t.Context(), bus, newest, booking{Account: 3})
	f.must(err)
	_, err = receipt.Wait(t.Context())
	f.must(err)
	f.must(bus.Shutdown(t.Context()))
	if got := strings.Join(seen.All(), ", "); got != "money.moved v1 1, money.moved v2 2, money.moved v2 3" {
		t.Errorf("handled was %s", got)
	}
}
