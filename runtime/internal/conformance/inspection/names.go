package inspection

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// renamed is a stopped bus whose subscription old is now called new. It has two events
// for that, of which the first is handled.
func (env *Env) renamed(t *testing.T) (*Fixture, []*runtime.Receipt) {
	t.Helper()
	f := env.Open(t)
	f.Subscribe("old", Fine)
	f.MustStart()
	handled := f.Publish(1)
	f.Stop()
	f = env.Reopen(t, f.Path)
	f.Subscribe("new", Fine, runtime.WithAliases("old"))
	receipts := append(handled, f.Publish(2)...)
	f.Stop()
	return f, receipts
}

func (env *Env) TestPausesAndDiscardsTakeAFormerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, receipts := env.renamed(t)
		Must(t, f.File.PauseSubscription(t.Context(), "old", ""))
		status, err := f.File.Status(t.Context())
		Must(t, err)
		if len(status.Pauses) != 1 || status.Pauses[0].Subscription != "new" {
			t.Errorf("the pauses are %+v, want one of new", status.Pauses)
		}
		Must(t, f.File.ResumeSubscription(t.Context(), "old"))
		names, err := f.File.DiscardEvent(t.Context(), receipts[1].ID, "old", "not wanted")
		if err != nil || !slices.Equal(names, []string{"new"}) {
			t.Errorf("discarded for %q (%v), want new", names, err)
		}
		if want := []string{"new discarded"}; !slices.Equal(f.States(receipts[1]), want) {
			t.Errorf("the states are %v, want %v", f.States(receipts[1]), want)
		}
	})
}

func (env *Env) TestReplaysAndUndoneDiscardsTakeAFormerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, receipts := env.renamed(t)
		counts, err := f.File.Replay(t.Context(), "old", inspect.Selection{})
		if err != nil || counts.Moved != 1 {
			t.Errorf("a replay: %+v, %v", counts, err)
		}
		Must(t, Second(f.File.DiscardEvent(t.Context(), receipts[1].ID, "new", "not wanted")))
		Must(t, env.Reopen(t, f.Path).Shutdown(t.Context()))
		undone, err := f.File.Undiscard(t.Context(), event.Undo{Event: receipts[1].ID, Subscription: "old"})
		if err != nil || undone.Due != 1 {
			t.Errorf("undone is %+v, %v", undone, err)
		}
		entries, _, err := f.File.Audit(t.Context(), event.AuditFilter{Subscription: "new"}, event.Page{})
		if err != nil || len(entries) == 0 || entries[0].Action != "undiscard" || entries[0].Subscription != "new" {
			t.Errorf("the audit of the new name is %+v, %v", entries, err)
		}
	})
}

func (env *Env) TestASubscriptionIsRemovedByItsPresentNameOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := env.renamed(t)
		var missing *event.NotFoundError
		if _, err := f.File.RemoveSubscription(t.Context(), "old"); !errors.As(err, &missing) || !slices.Equal(missing.Known, []string{"new"}) {
			t.Errorf("removing by the former name: %v, want NotFoundError", err)
		}
		Must(t, Second(f.File.RemoveSubscription(t.Context(), "new")))
	})
}

func (env *Env) TestOnlyOneOfManyConcurrentRemovalsOfASubscriptionSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		Must(t, f.Shutdown(t.Context()))
		for range 10 {
			bus := env.Reopen(t, f.Path)
			bus.Subscribe("old", Fine)
			bus.Stop()
			results := make([]error, 4)
			var all sync.WaitGroup
			for i := range results {
				all.Go(func() { results[i] = Second(f.File.RemoveSubscription(t.Context(), "old")) })
			}
			all.Wait()
			removed := 0
			for _, err := range results {
				var missing *event.NotFoundError
				switch {
				case err == nil:
					removed++
				case !errors.As(err, &missing):
					t.Errorf("removing what is removed: %v, want NotFoundError", err)
				}
			}
			if removed != 1 {
				t.Errorf("%d have removed the subscription, want 1", removed)
			}
		}
	})
}

func (env *Env) TestASubscriptionIsWithoutHandlerOnlyWhileItHasABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("leftover", Fine)
		f.Publish(1)
		f.Stop()
		f = env.Reopen(t, f.Path)
		f.MustStart()
		unhandled := func() bool {
			time.Sleep(Notice)
			status, err := f.File.Status(t.Context())
			Must(t, err)
			return status.Subscriptions[0].Unhandled
		}
		if !unhandled() {
			t.Error("nobody handles the subscription, and the status does not say so")
		}
		f.Subscribe("leftover", Fine) // the bus looks for subscriptions without handlers every few seconds
		if unhandled() {
			t.Error("a subscription without a backlog is said to have no handler")
		}
	})
}
