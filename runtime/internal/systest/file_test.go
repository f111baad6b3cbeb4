package systest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

func TestTheEventsViewSpeaksOfPendingProcessingDoneAndDLQ(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		release := make(chan struct{})
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			switch e.Payload.Number {
			case 2:
				return ErrBoom
			case 3:
				if e.Attempt == 1 {
					return ErrBoom
				}
			case 4:
				<-release
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)), runtime.WithTimeout(time.Hour))
		f.Publish(1, 2, 3)
		status := func() string {
			return queryFile(t, f.Path, "SELECT group_concat(status, ' ') FROM (SELECT status FROM events ORDER BY json_extract(payload, '$.number'))")
		}
		if got := status(); got != "pending pending pending" {
			t.Errorf("before the start: %s", got)
		}
		f.MustStart()
		time.Sleep(100 * time.Millisecond)
		if got := status(); got != "done pending pending" {
			t.Errorf("while retries wait: %s", got)
		}
		f.Idle()
		f.Publish(4)
		time.Sleep(100 * time.Millisecond)
		if got := status(); got != "done dlq done processing" {
			t.Errorf("while a handler runs: %s", got)
		}
		close(release)
		f.Idle()
		if got := status(); got != "done dlq done done" {
			t.Errorf("at the end: %s", got)
		}
		if got := queryFile(t, f.Path, "SELECT retry_count || last_error FROM events WHERE status = 'dlq'"); got != `2["boom","boom"]` {
			t.Errorf("the dead event shows %s", got)
		}
		if got := queryFile(t, f.Path, "SELECT type || ' ' || subscription || ' ' || reason || ' ' || attempts || ' ' || last_error FROM dead_letters"); got != "order.placed reader max_attempts 2 boom" {
			t.Errorf("dead_letters shows %s", got)
		}
		if got := queryFile(t, f.Path, "SELECT created_at FROM events"); !strings.HasPrefix(got, "2000-01-01T00:00:00.") || !strings.HasSuffix(got, "Z") {
			t.Errorf("created_at is %s", got)
		}
	})
}

func TestTheEventsViewHasTheColumnsOfItsSpecification(t *testing.T) {
	f := SQLite.Open(t)
	_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithMetadata(map[string]string{"k": "v"}))
	Must(t, err)
	want := "id,type,payload,status,retry_count,last_error,metadata,created_at,updated_at"
	if got := queryFile(t, f.Path, "SELECT group_concat(name) FROM pragma_table_info('events')"); got != want {
		t.Errorf("the columns are %s, want %s", got, want)
	}
	var metadata map[string]string
	Must(t, json.Unmarshal([]byte(queryFile(t, f.Path, "SELECT metadata FROM events")), &metadata))
	if metadata["k"] != "v" {
		t.Errorf("the metadata is %v", metadata)
	}
}

// What the view shows of an event that fails, is dead, is redriven, and is
// handled at last.
func TestTheEventsViewCountsFromTheLastRedrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		var broken atomic.Bool
		broken.Store(true)
		handler := func(context.Context, runtime.Event[OrderPlaced]) error {
			if broken.Load() {
				return ErrBoom
			}
			return nil
		}
		f.Handle("reader", handler, runtime.WithRetry(retry.MaxAttempts(3), retry.WithBackoff(retry.None)))
		f.Handle("other", handler, runtime.WithRetry(retry.MaxAttempts(2), retry.WithBackoff(retry.None)))
		began := time.Now()
		f.Publish(1)
		line := func() string {
			return queryFile(t, f.Path, "SELECT status || ' ' || retry_count || ' ' || coalesce(json_array_length(last_error), 'none') || ' ' || updated_at FROM events")
		}
		check := func(when, want string, updated time.Duration) {
			t.Helper()
			want += " " + began.Add(updated).UTC().Format("2006-01-02T15:04:05.000Z")
			if got := line(); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		check("new", "pending 0 none", 0)
		time.Sleep(time.Second)
		f.MustStart()
		f.Idle()
		check("dead for both", "dlq 3 5", time.Second)

		time.Sleep(time.Second)
		inspector, err := inspect.Open(t.Context(), f.Path)
		Must(t, err)
		defer inspector.Close()
		Must(t, f.PauseSubscription(t.Context(), "reader", ""))
		Must(t, f.PauseSubscription(t.Context(), "other", ""))
		_, err = inspector.Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		check("redriven", "pending 0 none", 2*time.Second)

		time.Sleep(time.Second)
		Must(t, f.ResumeSubscription(t.Context(), "other"))
		time.Sleep(time.Second)
		check("dead again for one", "pending 2 2", 3*time.Second)

		broken.Store(false)
		Must(t, f.ResumeSubscription(t.Context(), "reader"))
		time.Sleep(time.Second + 100*time.Millisecond) // between two looks of the bus at its file
		check("handled by one", "dlq 2 2", 4*time.Second)
		_, err = inspector.Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		f.Idle()
		check("handled by both", "done 0 none", 5*time.Second+200*time.Millisecond) // when the bus has seen the redrive
		if n := queryFile(t, f.Path, "SELECT count(*) FROM busgen_attempts"); n != "7" {
			t.Errorf("%s attempts are on record, want all 7", n)
		}

		f.Publish(2)
		Must(t, f.Shutdown(t.Context()))
		for _, remains := range []string{"busgen_outcomes", "busgen_attempts"} {
			if n := queryFile(t, f.Path, "SELECT count(*) FROM "+remains+" WHERE seq = 1"); n == "0" {
				t.Errorf("nothing of the event is left in %s", remains)
			}
		}
		f = SQLite.Reopen(t, f.Path, runtime.WithRetention(time.Hour))
		f.MustStart()
		time.Sleep(3 * time.Hour)
		for _, remains := range []string{"busgen_outcomes", "busgen_attempts", "busgen_log"} {
			if n := queryFile(t, f.Path, "SELECT count(*) FROM "+remains+" WHERE seq = 1"); n != "0" {
				t.Errorf("the event was pruned, and %s has something of it", remains)
			}
		}
	})
}

func TestASuccessAfterFailuresUpdatesTheEventsView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.BaseDelay(5*time.Second)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := queryFile(t, f.Path, "SELECT status || ' ' || retry_count || ' ' || (unixepoch(updated_at) - unixepoch(created_at)) FROM events"); got != "done 1 5" {
			t.Errorf("the view says %s, want done 1 5", got)
		}
	})
}

func TestTheSubscriptionsViewHasTheColumnsOfItsSpecification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		if got := queryFile(t, f.Path, "SELECT group_concat(name) FROM pragma_table_info('event_subscriptions')"); got != "id,event_type,created_at" {
			t.Errorf("the columns are %s", got)
		}
		if got := queryFile(t, f.Path, "SELECT id || ' ' || event_type || ' ' || created_at FROM event_subscriptions"); got != "reader order.placed 2000-01-01T00:00:00.000Z" {
			t.Errorf("the view shows %s", got)
		}
	})
}

func TestAFileThatCannotBeUsedIsRefusedAndLeftAsItIs(t *testing.T) {
	database := func(statements string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			c, err := sqlite3.Open(path)
			Must(t, err)
			Must(t, c.Exec(statements))
			Must(t, c.Close())
		}
	}
	for name, test := range map[string]struct {
		make    func(t *testing.T, path string)
		fault   event.Fault
		message string
	}{
		"a text file": {
			func(t *testing.T, path string) {
				Must(t, os.WriteFile(path, bytes.Repeat([]byte("to be or not to be\n"), 100), 0o600))
			},
			event.Foreign, "not a database",
		},
		"a database of another program": {
			database("CREATE TABLE customers (id)"), event.Foreign, "copy the tables into it",
		},
		"a database whose tables hide functions of SQLite": {
			database("CREATE TABLE pragma_user_version (x); CREATE TABLE pragma_application_id (x)"), event.Foreign, "copy the tables into it",
		},
		"a database another program has marked": {
			database("PRAGMA application_id=42"), event.Foreign, "another program",
		},
		"a file of a newer version": {
			func(t *testing.T, path string) {
				f := SQLite.Reopen(t, path)
				f.Stop()
				database("PRAGMA journal_mode=DELETE; PRAGMA user_version=99")(t, path)
			},
			event.TooNew, fmt.Sprintf("schema version 99 and this program knows versions up to %d", inspect.FileFormat),
		},
		"a file whose header is damaged": {
			func(t *testing.T, path string) {
				f := SQLite.Reopen(t, path)
				f.Stop()
				database("PRAGMA journal_mode=DELETE; PRAGMA user_version=-5")(t, path)
			},
			event.Corrupt, "schema version -5, which there has never been",
		},
		"a folder that does not exist": {
			func(t *testing.T, path string) { Must(t, os.Remove(filepath.Dir(path))) }, event.IO, "check that the folder exists",
		},
		"a folder": {
			func(t *testing.T, path string) { Must(t, os.Mkdir(path, 0o700)) }, event.IO, "open",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", "events.db")
			Must(t, os.Mkdir(filepath.Dir(path), 0o700))
			test.make(t, path)
			before, _ := os.ReadFile(path)
			bus, err := runtime.Open(t.Context(), path, Catalogue)
			if err == nil {
				bus.Shutdown(t.Context())
				t.Fatal("the file was opened")
			}
			var storage *event.StorageError
			if !errors.As(err, &storage) || storage.Fault != test.fault || !strings.Contains(err.Error(), test.message) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %s that says %q", err, test.fault, test.message)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestABusNeedsAFile(t *testing.T) {
	for _, path := range []string{"", ":memory:"} {
		if _, err := runtime.Open(t.Context(), path, Catalogue); err == nil || !strings.Contains(err.Error(), "needs a file") {
			t.Errorf("Open(%q) returned %v", path, err)
		}
	}
}

func TestAFileNameMayHoldAnyCharacter(t *testing.T) {
	f := SQLite.Reopen(t, filepath.Join(t.TempDir(), "what? 100% #1 ünïcode&x=y.db"))
	f.Publish(1)
	if _, err := os.Stat(f.Path); err != nil {
		t.Error(err)
	}
	if got := len(must1(os.ReadDir(filepath.Dir(f.Path)))); got == 0 {
		t.Error("the folder is empty")
	}
}

func must1[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestADedupeKeyIsForgottenAfterItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t, runtime.WithDedupeWindow(time.Hour))
		publish := func(number int) {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: number}, runtime.WithDedupeKey("a"))
			Must(t, err)
		}
		publish(1)
		time.Sleep(time.Hour)
		publish(2)
		if n := queryFile(t, f.Path, "SELECT count(*) FROM busgen_dedupe"); n != "1" {
			t.Errorf("%s keys are remembered, want the new one only", n)
		}
	})
}
