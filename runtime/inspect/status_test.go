package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestStatusShowsWhatTheFileHoldsAndWhoUsesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().UTC()
		f := SQLite.Open(t)
		f.Subscribe("printer", Fail)
		f.Subscribe("ledger", Fine)
		started := time.Now().UTC()
		f.MustStart()
		f.Publish(1, 2)
		_, err := runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Ada"}, runtime.WithDelay(time.Hour))
		Must(t, err)
		Must(t, f.File.PauseTypes(t.Context(), "user.*", ""))
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 3})
		Must(t, err)
		time.Sleep(time.Second / 2) // the printer has failed once

		got, err := f.File.Status(t.Context())
		Must(t, err)

		if got.Size == 0 || got.WAL == 0 {
			t.Errorf("the file has %d bytes, its log %d", got.Size, got.WAL)
		}
		minute := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
		want := event.Status{
			At: time.Now().UTC(), Path: f.Path, Size: got.Size, WAL: got.WAL, Schema: inspect.FileFormat,
			Owner:  &event.Owner{PID: os.Getpid(), Since: started, Alive: true},
			Events: 4, Oldest: minute(0), Newest: minute(2),
			Types: []event.TypeCount{
				{Name: "order.placed", Events: 3, Oldest: minute(0), Newest: minute(2)},
				{Name: "user.created", Unrouted: true, Events: 1, Oldest: minute(2), Newest: minute(2)},
			},
			Subscriptions: []event.SubscriptionState{
				{
					Name: "printer", Pattern: "order.placed", Backlog: 1, BacklogAtMost: 1, Dead: 2, Oldest: minute(2),
					Waiting: 1, Later: 1, NextDue: minute(2).Add(time.Second),
				},
				{Name: "ledger", Pattern: "order.placed"},
			},
			DeadLetters: 2,
			Pauses:      []event.PauseState{{Types: "user.*", Actor: "ada", Since: minute(2)}},
			Breakers:    []event.Breaker{}, Waitlists: []event.Waitlist{}, Running: []event.Running{},
		}
		got.Mark = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}

		f.Stop()
		got, err = f.File.Status(t.Context())
		Must(t, err)
		if got.Owner == nil || got.Owner.Alive || got.Owner.PID != os.Getpid() {
			t.Errorf("after the shutdown the owner is %+v, want the last one, not alive", got.Owner)
		}
	})
}

func TestAFileWithoutADispatchingProcessHasNoOwner(t *testing.T) {
	f := SQLite.Open(t)
	status, err := f.File.Status(t.Context())
	Must(t, err)
	if status.Owner != nil || status.Events != 0 || !status.Oldest.IsZero() {
		t.Errorf("the status is %+v", status)
	}
	if _, err := os.Stat(f.Path + "-claims"); err == nil {
		t.Error("looking has made a file")
	}
}

func TestStatusStopsCountingAndSaysSo(t *testing.T) {
	short.Visit(t, "it fills files")
	f := SQLite.Open(t)
	f.Subscribe("printer", Fine)
	_, err := runtime.SubscribePattern(f.Bus, "user.*", "crm", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
	Must(t, err)
	_, err = runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Ada"})
	Must(t, err)
	_, err = runtime.PublishBatch(t.Context(), f.Bus, PlacedType, make([]Order, event.MaxBacklog+500))
	Must(t, err)
	status, err := f.File.Status(t.Context())
	Must(t, err)
	if status.Events != event.MaxBacklog || !status.More || len(status.Types) != 1 || status.Types[0].Events != event.MaxBacklog {
		t.Errorf("%d events are counted, more: %v, by type %+v", status.Events, status.More, status.Types)
	}
	if at := query(t, f.Path, "SELECT created_at FROM busgen_log WHERE seq = 1"); at[0] != fmt.Sprint(status.Oldest.UnixMicro()) {
		t.Errorf("the oldest is from %v, want %s", status.Oldest, at)
	}
	printer, crm := status.Subscriptions[0], status.Subscriptions[1]
	if printer.Backlog != event.MaxBacklog || printer.BacklogAtMost < event.MaxBacklog+500 || printer.BacklogAtMost > event.MaxBacklog+501 {
		t.Errorf("the backlog is %+v", printer)
	}
	if crm.Backlog != 1 || crm.BacklogAtMost != 1 || crm.Partial {
		t.Errorf("the backlog is %+v", crm)
	}

	c, err := sqlite3.Open(f.Path)
	Must(t, err)
	defer c.Close()
	Must(t, c.Exec(`
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason)
		SELECT 2, seq, 'dead', 1, 0, 'crash' FROM busgen_log WHERE seq > 1;
		WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)
		INSERT INTO busgen_log (seq, id, type, payload, created_at) SELECT x + 20000, CAST(printf('%016d', x) AS BLOB), 1, '{}', 0 FROM n;
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason)
		SELECT 2, seq, 'dead', 1, 0, 'crash' FROM busgen_log WHERE seq > 20000`))
	status, err = f.File.Status(t.Context())
	Must(t, err)
	if crm := status.Subscriptions[1]; crm.Dead != 100_000 || !crm.Partial {
		t.Errorf("the dead letters are counted as %+v, want 100,000 and a word that there are more", crm)
	}
}

func TestOpeningNeedsAnEventLog(t *testing.T) {
	folder := t.TempDir()
	text, empty := filepath.Join(folder, "text"), filepath.Join(folder, "empty")
	Must(t, os.WriteFile(text, []byte(strings.Repeat("not a database, ", 100)), 0o600))
	Must(t, os.WriteFile(empty, nil, 0o600))
	for name, path := range map[string]string{"no file": filepath.Join(folder, "none"), "a text file": text, "an empty file": empty} {
		_, err := inspect.Open(t.Context(), path)
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none")); err == nil {
		t.Error("looking for a file has made it")
	}
}
