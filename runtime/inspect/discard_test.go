package inspect_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAnOpenEventIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		var waiting, strict, paused, running Handled
		hold := make(chan error, 1)
		f.Subscribe("waiting", func(n, a int) error { waiting.Handle(n, a); return runtime.RetryAfter(time.Hour, ErrBroken) })
		f.Subscribe("strict", func(n, a int) error {
			strict.Handle(n, a)
			if n == 1 {
				return runtime.RetryAfter(time.Hour, ErrBroken)
			}
			return nil
		}, runtime.WithStrictOrder())
		f.Subscribe("paused", paused.Handle)
		f.Subscribe("running", func(n, a int) error {
			running.Handle(n, a)
			if n == 1 {
				return <-hold
			}
			return nil
		}, runtime.WithTimeout(5*time.Hour))
		Must(t, f.PauseSubscription(t.Context(), "paused", ""))
		f.MustStart()
		receipts := f.Publish(1, 2)
		if want := []int{1}; !slices.Equal(strict.All(), want) {
			t.Fatalf("the strict one has handled %v, want %v", strict.All(), want)
		}
		discarded, err := f.File.DiscardEvent(t.Context(), receipts[0].ID, "", "a test order")
		Must(t, err)
		if want := []string{"paused", "running", "strict", "waiting"}; !slices.Equal(discarded, want) {
			t.Errorf("discarded for %v, want %v", discarded, want)
		}
		time.Sleep(time.Second)
		if want := []string{"paused discarded", "running running", "strict discarded", "waiting discarded"}; !slices.Equal(f.States(receipts[0]), want) {
			t.Errorf("the states are %v, want %v", f.States(receipts[0]), want)
		}
		if want := []int{1, 2}; !slices.Equal(strict.All(), want) {
			t.Errorf("the strict one has handled %v, want %v: what it held back goes on", strict.All(), want)
		}
		hold <- ErrBroken // it would be tried again
		Must(t, f.ResumeSubscription(t.Context(), "paused"))
		time.Sleep(3 * time.Hour)
		outcome, err := receipts[0].Wait(t.Context())
		Must(t, err)
		for _, d := range outcome.Deliveries {
			if !d.Discarded || d.Reason != "a test order" {
				t.Errorf("%s: %+v", d.Subscription, d)
			}
		}
		if got := [][]int{paused.All(), running.All()}; !slices.Equal(got[0], []int{2}) || !slices.Equal(got[1], []int{1, 2}) {
			t.Errorf("paused and running have handled %v", got)
		}
		if left := query(t, f.Path, "SELECT count(*) FROM busgen_cancelled"); left[0] != "0" {
			t.Errorf("%s requests are left", left[0])
		}
		if got := query(t, f.Path, "SELECT actor, action, subscription, detail FROM busgen_audit ORDER BY id"); len(got) != 4 || got[0] != "ada|discard|paused|a test order" {
			t.Errorf("the audit says %q", got)
		}
		report, err := f.File.Check(t.Context(), nil)
		Must(t, err)
		if !report.OK() {
			t.Errorf("the file: %+v", report.Problems)
		}
	})
}

func TestHandledEventsAreReplayedToOneSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		var h, other Handled
		f.Subscribe("worker", func(n, a int) error {
			if n == 4 {
				return runtime.Permanent(ErrBroken)
			}
			if slices.Contains(h.All(), n) == (a == 1) {
				t.Errorf("event %d: attempt %d", n, a)
			}
			return h.Handle(n, a)
		})
		f.Subscribe("other", other.Handle)
		f.MustStart()
		began := time.Now()
		receipts := f.Publish(1, 2, 3, 4, 5)
		replay := func(s inspect.Selection) inspect.Counts {
			t.Helper()
			counts, err := f.File.Replay(t.Context(), "worker", s)
			Must(t, err)
			time.Sleep(time.Second)
			return counts
		}
		if got := replay(inspect.Selection{DryRun: true}); got != (inspect.Counts{Matched: 4}) || len(h.All()) != 4 {
			t.Errorf("a dry run: %+v, handled %v", got, h.All())
		}
		if got := replay(inspect.Selection{Filter: event.Filter{Types: []string{"order.*"}, Since: began.Add(30 * time.Second)}, Limit: 2}); got != (inspect.Counts{Matched: 3, Moved: 2}) {
			t.Errorf("by type and time: %+v", got)
		}
		if got := replay(inspect.Selection{Filter: event.Filter{Events: []uuidOf{receipts[0].ID, receipts[3].ID}}}); got != (inspect.Counts{Matched: 1, Moved: 1}) {
			t.Errorf("by id: %+v", got)
		}
		if want := []int{1, 2, 3, 5, 2, 3, 1}; !slices.Equal(h.All(), want) || len(other.All()) != 5 {
			t.Errorf("handled %v, want %v; the other %v", h.All(), want, other.All())
		}
		if got := replay(inspect.Selection{Filter: event.Filter{Types: []string{"user.*"}}}); got != (inspect.Counts{}) {
			t.Errorf("of another type: %+v", got)
		}
		if got := query(t, f.Path, "SELECT actor, action, subscription, count, detail FROM busgen_audit ORDER BY id"); len(got) != 2 || !strings.HasPrefix(got[0], "ada|replay|worker|2|type order.*, since ") {
			t.Errorf("the audit says %q", got)
		}
		one, err := f.File.Event(t.Context(), receipts[1].ID)
		Must(t, err)
		if len(one.Audit) != 1 || one.Audit[0].Action != "replay" || one.Audit[0].Subscription != "worker" {
			t.Errorf("the event shows %+v", one.Audit)
		}
		_, err = f.File.Replay(t.Context(), "wroker", inspect.Selection{})
		var missing *event.NotFoundError
		if !errors.As(err, &missing) {
			t.Errorf("for nobody: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.File.Replay(ended, "worker", inspect.Selection{}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	})
}
