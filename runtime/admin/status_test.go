package admin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/admin"
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
		must(t, f.file.PauseTypes(t.Context(), "user.*"))
		_, err = runtime.Publish(t.Context(), f.Bus, placedType, order{Number: 3})
		must(t, err)
		time.Sleep(time.Second / 2) // the printer has failed once

		got, err := f.file.Status(t.Context())
		must(t, err)

		if got.Size == 0 || got.WAL == 0 {
			t.Errorf("the file has %d bytes, its log %d", got.Size, got.WAL)
		}
		minute := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
		want := admin.Status{
			Path: f.path, Size: got.Size, WAL: got.WAL, Schema: 3,
			Owner:  &admin.Owner{PID: os.Getpid(), Since: started, Alive: true},
			Events: 4, Oldest: minute(0), Newest: minute(2),
			Types: []admin.Type{
				{Name: "order.placed", Events: 3, Oldest: minute(0), Newest: minute(2)},
				{Name: "user.created", Events: 1, Oldest: minute(2), Newest: minute(2)},
			},
			Subscriptions: []admin.Subscription{
				{Name: "printer", Pattern: "order.placed", Backlog: 1, Waiting: 1, Dead: 2, Oldest: minute(2)},
				{Name: "ledger", Pattern: "order.placed"},
			},
			DeadLetters: 2,
			Pauses:      []admin.Pause{{Types: "user.*", Since: minute(2)}},
			Breakers:    []admin.Breaker{}, Running: []admin.Running{},
		}
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

func TestOpeningNeedsAnEventLog(t *testing.T) {
	folder := t.TempDir()
	text, empty := filepath.Join(folder, "text"), filepath.Join(folder, "empty")
	must(t, os.WriteFile(text, []byte(strings.Repeat("not a database, ", 100)), 0o600))
	must(t, os.WriteFile(empty, nil, 0o600))
	for name, path := range map[string]string{"no file": filepath.Join(folder, "none"), "a text file": text, "an empty file": empty} {
		_, err := admin.Open(path)
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
	if _, err := f.file.Status(t.Context()); !errors.Is(err, admin.ErrClosed) {
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
