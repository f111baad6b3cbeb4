package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestASubscriptionThatIsRemovedIsGoneWithItsBacklogAndStartsAsNew(t *testing.T) {
	for state, start := range map[string]bool{"running": true, "not started": false} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var seen Journal[int]
				fail := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					seen.Add(e.Payload.Number)
					if e.Payload.Number == 1 {
						return runtime.Permanent(ErrBoom)
					}
					return ErrBoom
				}
				f.Handle("other", numbersInto(&Journal[int]{}))
				s := f.Handle("old", fail, runtime.WithRetry(retry.BaseDelay(retry.Default().MaxDelay)))
				if start {
					f.MustStart()
				}
				receipts := f.Publish(1, 2, 3)
				synctest.Wait()
				Must(t, f.PauseSubscription(t.Context(), "old", ""))
				waited := make(chan error, 1)
				go func() {
					_, err := receipts[1].Wait(t.Context())
					waited <- err
				}()
				synctest.Wait()
				Must(t, f.Remove(t.Context(), "old"))
				if !start {
					f.MustStart()
				}
				Must(t, <-waited)
				f.Idle()
				handled := len(seen.All())
				f.Publish(4)
				f.Idle()
				if n := len(seen.All()); n != handled {
					t.Errorf("the handler was called %d times, and %d times after Remove", handled, n-handled)
				}
				lags, err := f.Lag(t.Context())
				Must(t, err)
				if len(lags) != 1 || lags[0].Subscription != "other" {
					t.Errorf("the file has %+v", lags)
				}
				if pauses, err := f.Pauses(t.Context()); err != nil || len(pauses) > 0 {
					t.Errorf("the pause is left: %v, %v", pauses, err)
				}
				var missing *event.NotFoundError
				if err := f.Remove(t.Context(), "old"); !errors.As(err, &missing) || !slices.Equal(missing.Known, []string{"other"}) {
					t.Errorf("a second Remove returned %v", err)
				}
				Must(t, s.Unsubscribe(t.Context()))
				var again Journal[int]
				f.Handle("old", numbersInto(&again))
				f.Publish(5)
				f.Idle()
				if got := again.All(); !slices.Equal(got, []int{5}) {
					t.Errorf("the new subscription has handled %v, want 5", got)
				}
				if start {
					file, err := env.OpenFile(t.Context(), f.Path)
					Must(t, err)
					defer file.Close()
					entries, _, err := file.Audit(t.Context(), event.AuditFilter{}, event.Page{})
					if err != nil || !slices.ContainsFunc(entries, func(e event.AuditEntry) bool {
						return e.Action == "remove" && e.Subscription == "old" && e.Count == 3
					}) {
						t.Errorf("the audit has %+v, %v", entries, err)
					}
				}
			})
		})
	}
}

func (env *Env) TestRemoveWaitsForTheRunningHandlerAndIsRefusedInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		release := make(chan struct{})
		var inside Journal[error]
		for _, member := range []string{"a", "b"} {
			f.Handle(member, func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
				inside.Add(f.Remove(ctx, "group"))
				<-release
				return nil
			}, runtime.InGroup("group"))
		}
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		results := make(chan error, 3)
		for range 3 {
			go func() { results <- f.Remove(t.Context(), "group") }()
		}
		synctest.Wait()
		if len(results) > 0 {
			t.Error("Remove returned while the handler ran")
		}
		close(release)
		removed := 0
		for range 3 {
			err := <-results
			var missing *event.NotFoundError
			if err == nil {
				removed++
			} else if !errors.As(err, &missing) {
				t.Error(err)
			}
		}
		if removed != 1 {
			t.Errorf("%d calls have removed it, want 1", removed)
		}
		if got := inside.All(); len(got) != 1 || !errors.Is(got[0], runtime.ErrInsideHandler) {
			t.Errorf("inside the handlers Remove returned %v", got)
		}
	})
}

func (env *Env) TestRemoveIsRefusedForDeclaredNamesBesideAnOwnerAndAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		declaring := runtime.Define(runtime.Spec[OrderPlaced]{
			Name: "order.placed", Settings: Within(retry.Default().MaxDelay, Exact()),
			Subscriptions: []declare.Subscription{{Name: "declared", Settings: Within(retry.Default().MaxDelay, Exact())}},
		})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(declaring))
		f.Handle("mine", numbersInto(&Journal[int]{}))
		f.MustStart()
		var refused *runtime.RemoveError
		if err := f.Remove(t.Context(), "declared"); !errors.As(err, &refused) || !strings.Contains(err.Error(), "catalogue") {
			t.Errorf("for a declared name: %v", err)
		}
		beside := env.ReopenWith(t, f.Path, runtime.NewCatalogue(declaring))
		var owned *event.OwnedError
		if err := beside.Remove(t.Context(), "mine"); !errors.As(err, &owned) {
			t.Errorf("beside an owner: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Remove(ended, "mine"); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		f.Stop()
		if err := f.Remove(t.Context(), "mine"); !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("after the shutdown: %v", err)
		}
	})
}

func (env *Env) TestRemovingBesidePublishersAndOtherSubscriptionsLosesNothingOfTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		var seen Journal[int]
		f.Handle("kept", numbersInto(&seen))
		var all sync.WaitGroup
		all.Go(func() { f.Publish(Numbers(1, 200)...) })
		all.Go(func() {
			for range 20 {
				f.Handle("comes and goes", numbersInto(&Journal[int]{}))
				Must(t, f.Remove(t.Context(), "comes and goes"))
			}
		})
		all.Wait()
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 200)) {
			t.Errorf("the other subscription has handled %v", got)
		}
	})
}
