package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

func TestStatusTellsWhatTheFileHoldsAndWhoUsesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().UTC()
		f := open(t)
		f.subscribe("printer", fail)
		f.subscribe("ledger", fine)
		started := time.Now().UTC()
		f.start()
		f.publish(1, 2)
		_, err := runtime.Publish(t.Context(), f.Bus, userType, user{Name: "Ada"}, runtime.WithDelay(time.Hour))
		must(t, err)
		must(t, f.file.PauseTypes(t.Context(), "user.*", ""))
		_, err = runtime.Publish(t.Context(), f.Bus, placedType, order{Number: 3})
		must(t, err)
		time.Sleep(time.Second / 2) // the printer has failed once

		got, err := f.file.Status(t.Context())
		must(t, err)

		if got.Size == 0 || got.WAL == 0 {
			t.Errorf("the file has %d bytes, its log %d", got.Size, got.WAL)
		}
		minute := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
		want := inspect.Status{
			At: time.Now().UTC(), Path: f.path, Size: got.Size, WAL: got.WAL, Schema: 4,
			Owner:  &inspect.Owner{PID: os.Getpid(), Since: started, Alive: true},
			Events: 4, Oldest: minute(0), Newest: minute(2),
			Types: []inspect.TypeCount{
				{Name: "order.placed", Events: 3, Oldest: minute(0), Newest: minute(2)},
				{Name: "user.created", Unrouted: true, Events: 1, Oldest: minute(2), Newest: minute(2)},
			},
			Subscriptions: []inspect.SubscriptionState{
				{Name: "printer", Pattern: "order.placed", Backlog: 1, BacklogAtMost: 1, Waiting: 1, Dead: 2, Oldest: minute(2)},
				{Name: "ledger", Pattern: "order.placed"},
			},
			DeadLetters: 2,
			Pauses:      []inspect.PauseState{{Types: "user.*", Actor: "ada", Since: minute(2)}},
			Breakers:    []inspect.Breaker{}, Running: []inspect.Running{},
		}
		got.Mark = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}

		f.stop()
		got, err = f.file.Status(t.Context())
		must(t, err)
		if got.Owner == nil || got.Owner.Alive || got.Owner.PID != os.Getpid() {
			t.Errorf("after the shutdown the owner is %+v, want the last one, not alive", got.Owner)
		}
	})
}

func TestAFileThatNobodyDispatchesFromHasNoOwner(t *testing.T) {
	f := open(t)
	status, err := f.file.Status(t.Context())
	must(t, err)
	if status.Owner != nil || status.Events != 0 || !status.Oldest.IsZero() {
		t.Errorf("the status is %+v", status)
	}
	if _, err := os.Stat(f.path + "-claims"); err == nil {
		t.Error("looking has made a file")
	}
}

func TestABacklogIsThatOfEachSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.subscribe("printer", fine)
		f.publish(1, 2, 3)
		subscriptions, err := f.file.Subscriptions(t.Context())
		must(t, err)
		if len(subscriptions) != 1 || subscriptions[0].Backlog != 3 || time.Since(subscriptions[0].Oldest) != 3*time.Minute {
			t.Errorf("before the start: %+v, want a backlog of 3 for 3 minutes", subscriptions)
		}
		f.start()
		must(t, f.WaitIdle(t.Context()))
		subscriptions, err = f.file.Subscriptions(t.Context())
		must(t, err)
		if subscriptions[0].Backlog != 0 || !subscriptions[0].Oldest.IsZero() {
			t.Errorf("when all is handled: %+v", subscriptions[0])
		}
	})
}

func TestStatusStopsCountingAndSaysSo(t *testing.T) {
	f := open(t)
	f.subscribe("printer", fine)
	_, err := runtime.SubscribePattern(f.Bus, "user.*", "crm", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
	must(t, err)
	_, err = runtime.Publish(t.Context(), f.Bus, userType, user{Name: "Ada"})
	must(t, err)
	_, err = runtime.PublishBatch(t.Context(), f.Bus, placedType, make([]order, inspect.MaxBacklog+500))
	must(t, err)
	status, err := f.file.Status(t.Context())
	must(t, err)
	if status.Events != inspect.MaxBacklog || !status.More || len(status.Types) != 1 || status.Types[0].Events != inspect.MaxBacklog {
		t.Errorf("%d events are counted, more: %v, by type %+v", status.Events, status.More, status.Types)
	}
	if at := query(t, f.path, "SELECT created_at FROM log WHERE seq = 1"); at[0] != fmt.Sprint(status.Oldest.UnixMicro()) {
		t.Errorf("the oldest is from %v, want %s", status.Oldest, at)
	}
	printer, crm := status.Subscriptions[0], status.Subscriptions[1]
	if printer.Backlog != inspect.MaxBacklog || printer.BacklogAtMost < inspect.MaxBacklog+500 || printer.BacklogAtMost > inspect.MaxBacklog+501 {
		t.Errorf("the backlog is %+v", printer)
	}
	if crm.Backlog != 1 || crm.BacklogAtMost != 1 || crm.Partial {
		t.Errorf("the backlog is %+v", crm)
	}

	c, err := sqlite3.Open(f.path)
	must(t, err)
	defer c.Close()
	must(t, c.Exec(`
		INSERT INTO deliveries (subscription, seq, state, failures, dead_at, reason)
		SELECT 2, seq, 'dead', 1, 0, 'crash' FROM log WHERE seq > 1;
		WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)
		INSERT INTO log (seq, id, type, payload, created_at) SELECT x + 20000, CAST(printf('%016d', x) AS BLOB), 1, '{}', 0 FROM n;
		INSERT INTO deliveries (subscription, seq, state, failures, dead_at, reason)
		SELECT 2, seq, 'dead', 1, 0, 'crash' FROM log WHERE seq > 20000`))
	status, err = f.file.Status(t.Context())
	must(t, err)
	if crm := status.Subscriptions[1]; crm.Dead != 100_000 || !crm.Partial {
		t.Errorf("the dead letters are counted as %+v, want 100,000 and a word that there are more", crm)
	}
}

func TestStatusListsWhatIsSnoozedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		every := map[int]time.Duration{1: time.Minute, 2: 20 * time.Hour, 3: 45 * time.Minute, 4: time.Minute}
		_, err := runtime.Subscribe(f.Bus, placedType, "printer", func(_ context.Context, e runtime.Event[order]) error {
			if e.Payload.Number == 4 && time.Since(e.PublishedAt) > 5*time.Hour {
				return nil
			}
			return runtime.Snooze(every[e.Payload.Number])
		})
		must(t, err)
		f.start()
		began := time.Now()
		var ids []string
		for n := range 4 {
			r, err := runtime.Publish(t.Context(), f.Bus, placedType, order{Number: n + 1})
			must(t, err)
			ids = append(ids, r.ID.String())
		}
		snoozed := func() (lines []string) {
			status, err := f.file.Status(t.Context())
			must(t, err)
			for _, one := range status.Snoozed {
				if one.Type != "order.placed" || one.Subscription != "printer" || !one.Since.Equal(began) {
					t.Errorf("listed is %+v", one)
				}
				lines = append(lines, fmt.Sprintf("%d: %d times", slices.Index(ids, one.Event.String())+1, one.Snoozes))
			}
			return lines
		}
		time.Sleep(100*time.Minute + time.Second)
		if got := strings.Join(snoozed(), ", "); got != "1: 101 times, 4: 101 times" {
			t.Errorf("after 100 minutes: %s", got)
		}
		time.Sleep(24 * time.Hour)
		if got := strings.Join(snoozed(), ", "); got != "1: 1541 times, 3: 35 times, 2: 2 times" {
			t.Errorf("after a day: %s", got)
		}
	})
}

func TestOpeningNeedsAnEventLog(t *testing.T) {
	folder := t.TempDir()
	text, empty := filepath.Join(folder, "text"), filepath.Join(folder, "empty")
	must(t, os.WriteFile(text, []byte(strings.Repeat("not a database, ", 100)), 0o600))
	must(t, os.WriteFile(empty, nil, 0o600))
	for name, path := range map[string]string{"no file": filepath.Join(folder, "none"), "a text file": text, "an empty file": empty} {
		_, err := inspect.Open(t.Context(), path)
		var storage *runtime.StorageError
		if !errors.As(err, &storage) || storage.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none")); err == nil {
		t.Error("looking for a file has made it")
	}
}

func TestAClosedFileSaysSo(t *testing.T) {
	f := open(t)
	must(t, f.file.Close())
	must(t, f.file.Close())
	if _, err := f.file.Status(t.Context()); !errors.Is(err, inspect.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestAContextThatHasEndedIsTheAnswer(t *testing.T) {
	f := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.file.Check(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, err := f.file.Status(t.Context()); err != nil {
		t.Errorf("and then: %v", err)
	}
}
