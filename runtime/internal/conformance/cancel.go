package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// wantCancelled fails the test unless the event was discarded by a cancel for the one subscription.
func (f *Fixture) wantCancelled(r *runtime.Receipt) {
	f.T.Helper()
	outcome, err := r.Wait(f.T.Context())
	Must(f.T, err)
	if d := outcome.Deliveries; len(d) != 1 || !d[0].Discarded || d[0].Reason != "cancelled" || !d[0].Cancelled || !errors.As(outcome.Err(), new(*runtime.CancelledError)) {
		f.T.Errorf("the outcome is %+v, want a delivery that is cancelled", outcome)
	}
}

// outside opens the log of the fixture without its bus.
func (f *Fixture) outside() *inspect.File {
	f.T.Helper()
	file, err := f.Env.OpenFile(f.T.Context(), f.Path, inspect.WithActor("ada"))
	Must(f.T, err)
	f.T.Cleanup(func() { file.Close() })
	return file
}

func (env *Env) TestACancelledEventIsNotHandled(t *testing.T) {
	for name, prepare := range map[string]func(f *Fixture) (handled *Journal[int], r *runtime.Receipt){
		"delayed": func(f *Fixture) (*Journal[int], *runtime.Receipt) {
			handled := f.journal("reader")
			f.MustStart()
			r, err := runtime.Publish(f.T.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 1}, runtime.WithDelay(time.Hour))
			Must(f.T, err)
			return handled, r
		},
		"not started": func(f *Fixture) (*Journal[int], *runtime.Receipt) {
			handled := f.journal("reader")
			return handled, f.Publish(1)[0]
		},
		"paused": func(f *Fixture) (*Journal[int], *runtime.Receipt) {
			handled := f.journal("reader")
			f.MustStart()
			Must(f.T, f.PauseTypes(f.T.Context(), "order.*", ""))
			r := f.Publish(1)[0]
			synctest.Wait()
			return handled, r
		},
		"behind another": func(f *Fixture) (*Journal[int], *runtime.Receipt) {
			handled := &Journal[int]{}
			f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number == 1 {
					handled.Add(1)
					return nil
				}
				time.Sleep(time.Second)
				return nil
			})
			f.MustStart()
			r := f.Publish(2, 1)[1]
			synctest.Wait()
			return handled, r
		},
		"waiting for its retry": func(f *Fixture) (*Journal[int], *runtime.Receipt) {
			handled := &Journal[int]{}
			f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Attempt == 1 {
					return ErrBoom
				}
				handled.Add(e.Attempt)
				return nil
			}, runtime.WithRetry(retry.BaseDelay(time.Hour), retry.MaxDelay(time.Hour), retry.MaxAttempts(9)))
			f.MustStart()
			r := f.Publish(1)[0]
			time.Sleep(time.Second)
			return handled, r
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				handled, r := prepare(f)
				Must(t, r.Cancel(t.Context()))
				switch name {
				case "not started":
					f.MustStart()
				case "paused":
					Must(t, f.ResumeTypes(t.Context(), "order.*"))
				}
				began := time.Now()
				f.wantCancelled(r)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it was settled after %v", took)
				}
				time.Sleep(2 * time.Hour)
				if all := handled.All(); len(all) > 0 {
					t.Errorf("after the cancel the handler has seen %v", all)
				}
				var settled *event.NotOpenError
				if err := f.Cancel(t.Context(), r.ID); !errors.As(err, &settled) || !slices.Equal(settled.States, []string{"reader discarded"}) {
					t.Errorf("cancelling it again: %v", err)
				}
			})
		})
	}
}

// journal subscribes a handler that notes what it handles.
func (f *Fixture) journal(name string) *Journal[int] {
	f.T.Helper()
	handled := &Journal[int]{}
	f.Handle(name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		handled.Add(e.Payload.Number)
		return nil
	})
	return handled
}

func (env *Env) TestACancelLetsRunningHandlersFinishAndTriesThemNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		attempts := &Journal[string]{}
		slow := func(name string, err error) {
			f.Handle(name, func(context.Context, runtime.Event[OrderPlaced]) error {
				attempts.Add(name)
				time.Sleep(time.Second)
				return err
			})
		}
		slow("fails", ErrBoom)
		slow("succeeds", nil)
		idle := f.journal("idle")
		Must(t, f.PauseSubscription(t.Context(), "idle", ""))
		f.MustStart()
		r := f.Publish(1)[0]
		time.Sleep(500 * time.Millisecond)
		var begun *event.BegunError
		err := r.Cancel(t.Context())
		if !errors.As(err, &begun) || begun.ID != r.ID || !slices.Equal(sorted(begun.Running), []string{"fails", "succeeds"}) || !slices.Equal(begun.Cancelled, []string{"idle"}) {
			t.Fatalf("the error is %v (%+v)", err, begun)
		}
		Must(t, f.ResumeSubscription(t.Context(), "idle"))
		outcome, err := r.Wait(t.Context())
		Must(t, err)
		got := map[string]string{}
		for _, d := range outcome.Deliveries {
			got[d.Subscription] = d.Reason
		}
		if got["fails"] != "cancelled" || got["idle"] != "cancelled" || got["succeeds"] != "" {
			t.Errorf("the reasons are %v", got)
		}
		time.Sleep(time.Hour)
		if !slices.Equal(sorted(attempts.All()), []string{"fails", "succeeds"}) || len(idle.All()) > 0 {
			t.Errorf("the attempts are %v and %v", attempts.All(), idle.All())
		}
	})
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

func (env *Env) TestACancelOfWhatIsNotOpenSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.journal("reader")
		var staged *runtime.Receipt
		f.Handle("writer", func(ctx context.Context, e runtime.Event[OrderPlaced]) (err error) {
			staged, err = runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: "Ada"})
			return err
		})
		f.MustStart()
		r := f.Publish(1)[0]
		_, err := r.Wait(t.Context())
		Must(t, err)
		var settled *event.NotOpenError
		if err := r.Cancel(t.Context()); !errors.As(err, &settled) || !slices.Equal(sorted(settled.States), []string{"reader done", "writer done"}) {
			t.Errorf("of a handled event: %v", err)
		}
		var missing *event.NotFoundError
		if err := f.Cancel(t.Context(), uuid.New()); !errors.As(err, &missing) || missing.Thing != "event" {
			t.Errorf("of an unknown event: %v", err)
		}
		if err := staged.Cancel(t.Context()); err != runtime.ErrStaged {
			t.Errorf("of a staged event: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Cancel(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
		f.Stop()
		if err := r.Cancel(t.Context()); err != runtime.ErrShutdown {
			t.Errorf("after the shutdown: %v", err)
		}
	})
}

func (env *Env) TestACancelSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.journal("reader")
		r := f.Publish(1, 2)[0]
		Must(t, r.Cancel(t.Context()))
		f.Stop()
		f = env.Reopen(t, f.Path)
		handled := f.journal("reader")
		f.MustStart()
		f.Idle()
		if all := handled.All(); !slices.Equal(all, []int{2}) {
			t.Errorf("handled %v, want 2", all)
		}
	})
}

// The members of a group are handlers of one delivery.
func (env *Env) TestACancelEndsAGroupAfterTheMemberThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		members := &Journal[string]{}
		for _, name := range []string{"first", "second"} {
			f.Handle(name, func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
				members.Add(name)
				time.Sleep(time.Second)
				_, err := runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: name})
				return err
			}, runtime.InGroup("both"))
		}
		users := &Journal[string]{}
		_, err := runtime.Subscribe(f.Bus, UserType, "users", func(_ context.Context, e runtime.Event[UserCreated]) error {
			users.Add(e.Payload.Name)
			return nil
		})
		Must(t, err)
		f.MustStart()
		r := f.Publish(1)[0]
		time.Sleep(500 * time.Millisecond)
		var begun *event.BegunError
		if err := r.Cancel(t.Context()); !errors.As(err, &begun) || !slices.Equal(begun.Running, []string{"both"}) {
			t.Errorf("the error is %v", err)
		}
		f.wantCancelled(r)
		f.Idle()
		if !slices.Equal(members.All(), []string{"first"}) || !slices.Equal(users.All(), []string{"first"}) {
			t.Errorf("the members %v were called, and %v is published", members.All(), users.All())
		}
	})
}

func (env *Env) TestAStrictOrderGoesOnAfterACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		handled := &Journal[int]{}
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				return ErrBoom
			}
			handled.Add(e.Payload.Number)
			return nil
		}, runtime.WithStrictOrder(), runtime.WithRetry(retry.BaseDelay(time.Hour), retry.MaxDelay(time.Hour), retry.MaxAttempts(9)))
		f.MustStart()
		r := f.Publish(1, 2)[0]
		time.Sleep(time.Second)
		Must(t, r.Cancel(t.Context()))
		time.Sleep(time.Second)
		if all := handled.All(); !slices.Equal(all, []int{2}) {
			t.Errorf("handled %v, want 2", all)
		}
	})
}

// Events with an even number are handled at once; those with an odd one fail and are tried
// again at once, until they are cancelled or dead.
func (env *Env) TestAnEventIsEitherCancelledOrBegun(t *testing.T) {
	const size, most = 40, 1000
	rounds := max(races.N()/size, 1)
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal))
		attempts := make([]atomic.Int32, rounds*size)
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if attempts[e.Payload.Number].Add(1); e.Payload.Number%2 == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithConcurrency(2), runtime.WithRetry(retry.WithBackoff(retry.None), retry.MaxAttempts(most)), runtime.WithBreaker(breaker.Off()))
		f.MustStart()
		type ended struct {
			err      error
			attempts int32 // when Cancel returned
		}
		all := make([]ended, len(attempts))
		for round := range rounds {
			orders := make([]OrderPlaced, size)
			for i := range orders {
				orders[i] = OrderPlaced{OrderID: "A", Number: round*size + i}
			}
			receipts, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, orders)
			Must(t, err)
			var cancelling sync.WaitGroup
			for i, r := range receipts {
				cancelling.Go(func() {
					one := &all[round*size+i]
					one.err = r.Cancel(t.Context())
					one.attempts = attempts[round*size+i].Load()
				})
			}
			cancelling.Wait()
			f.Idle()
		}
		count := map[string]int{}
		for n, one := range all {
			var begun *event.BegunError
			var settled *event.NotOpenError
			after := attempts[n].Load()
			switch {
			case one.err == nil:
				count["cancelled"]++
				if after != one.attempts || n%2 == 0 && after > 0 {
					t.Fatalf("event %d was cancelled after %d attempts, and has %d", n, one.attempts, after)
				}
			case errors.As(one.err, &begun):
				count["begun"]++
				if after == 0 || after > one.attempts+1 {
					t.Fatalf("event %d was begun; it had %d attempts and has %d", n, one.attempts, after)
				}
			case errors.As(one.err, &settled) && n%2 == 0:
				count["handled before"]++
				if after != 1 {
					t.Fatalf("event %d was handled %d times", n, after)
				}
			case errors.As(one.err, &settled) && after == most: // on a busy machine, before Cancel had its turn
				count["dead before"]++
			default:
				t.Fatalf("event %d: %v", n, one.err)
			}
		}
		t.Log(count)
		if count["cancelled"] == 0 || count["begun"]+count["handled before"] == 0 {
			t.Errorf("there was no race: %v", count)
		}
	})
}

func (env *Env) TestAnEventIsCancelledFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		handled := &Journal[int]{}
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			handled.Add(e.Payload.Number)
			time.Sleep(10 * time.Second)
			return nil
		})
		f.MustStart()
		receipts := f.Publish(1, 2)
		time.Sleep(time.Second)
		file, began := f.outside(), time.Now()
		var begun *event.BegunError
		if _, err := file.CancelEvent(t.Context(), receipts[0].ID, ""); !errors.As(err, &begun) || !slices.Equal(begun.Running, []string{"reader"}) {
			t.Errorf("cancelling what runs: %v", err)
		}
		cancelled, err := file.CancelEvent(t.Context(), receipts[1].ID, "reader")
		if err != nil || !slices.Equal(cancelled, []string{"reader"}) {
			t.Errorf("cancelling what waits: %v, %v", cancelled, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the answers took %v", took)
		}
		f.wantCancelled(receipts[1])
		if all := handled.All(); !slices.Equal(all, []int{1}) {
			t.Errorf("handled %v, want 1", all)
		}
		entries, _, err := file.Audit(t.Context(), event.AuditFilter{Actions: []string{"cancel"}}, event.Page{})
		Must(t, err)
		if len(entries) != 2 || entries[0].Actor != "ada" || entries[0].EventID != receipts[1].ID || entries[0].Subscription != "reader" {
			t.Errorf("the audit has %+v", entries)
		}
		var missing *event.NotFoundError
		if _, err := file.CancelEvent(t.Context(), receipts[1].ID, "raeder"); !errors.As(err, &missing) || missing.Thing != "subscription" {
			t.Errorf("for an unknown subscription: %v", err)
		}
	})
}

// A bus that is not started publishes beside one that dispatches.
func (env *Env) TestAnEventIsCancelledByABusThatDoesNotDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		handled := f.journal("reader")
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), "reader", ""))
		other := env.Reopen(t, f.Path)
		receipts := other.Publish(1, 2)
		time.Sleep(time.Second)
		Must(t, receipts[0].Cancel(t.Context()))
		Must(t, f.ResumeSubscription(t.Context(), "reader"))
		f.wantCancelled(receipts[0])
		f.Idle()
		if all := handled.All(); !slices.Equal(all, []int{2}) {
			t.Errorf("handled %v, want 2", all)
		}
	})
}

// A bus that stands by and takes over knows what was cancelled before it begins.
func (env *Env) TestACancelHoldsWhenAnotherBusTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.journal("reader")
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), "reader", ""))
		standby := env.Reopen(t, f.Path, runtime.WithStandby())
		handled := standby.journal("reader")
		started := make(chan error)
		go func() { started <- standby.Start(context.Background()) }()
		receipts := f.Publish(1, 2)
		time.Sleep(time.Second)
		Must(t, standby.Cancel(t.Context(), receipts[0].ID))
		f.Stop()
		Must(t, <-started)
		Must(t, standby.ResumeSubscription(t.Context(), "reader"))
		standby.Idle()
		if all := handled.All(); !slices.Equal(all, []int{2}) {
			t.Errorf("handled %v, want 2", all)
		}
	})
}
