package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// Breakers and pauses by key: see runtime/internal/dispatch/bykey.go.

// hookJob has a breaker for each customer, with the default policy.
var hookJob = runtime.Define(runtime.Spec[Job]{
	Name: "job.hook", LimitKeys: jobKeys, PartitionBy: func(j Job) string { return j.Customer },
	Settings: func() declare.Settings {
		s := declare.DefaultSettings()
		s.Retry = Exact(retry.WithBackoff(retry.Constant), retry.BaseDelay(time.Second), retry.MaxAttempts(1000))
		s.Breaker = s.Breaker.With(breaker.By("customer"))
		return s
	}(),
})

// hooks calls the endpoints of customers, of which "dead" refuses until it is repaired.
type hooks struct {
	*Fixture
	crowd    crowd
	repaired atomic.Bool

	mu    sync.Mutex
	calls []time.Time // of the dead one
}

func (h *hooks) handle(ctx context.Context, e runtime.Event[Job]) error {
	if e.Payload.Customer == "dead" {
		h.mu.Lock()
		h.calls = append(h.calls, time.Now())
		h.mu.Unlock()
		if !h.repaired.Load() {
			return ErrBoom
		}
		e.Payload.Customer = "noisy"
	}
	return h.crowd.handle(ctx, e)
}

// called returns how often the dead one was called, and forgets it.
func (h *hooks) called() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.calls = nil }()
	return len(h.calls)
}

// begin opens the bus and subscribes.
func (h *hooks) begin(env *Env, t *testing.T, target string, opts ...runtime.SubscribeOption) *runtime.Subscription {
	t.Helper()
	h.Fixture = env.ReopenWith(t, target, runtime.NewCatalogue(hookJob))
	h.crowd.Fixture = h.Fixture
	if h.crowd.took == nil {
		h.crowd.took = map[string]bool{}
	}
	s, err := runtime.Subscribe(h.Bus, hookJob, "hooks", h.handle, opts...)
	Must(t, err)
	h.MustStart()
	return s
}

// healthy publishes for many customers, and tells how long the slowest has waited.
func (h *hooks) healthy(life string, n int) {
	h.T.Helper()
	h.crowd.publish(hookJob, n, func(i int) string { return fmt.Sprint(life, "-", i) })
	most := time.Duration(n)*6*time.Millisecond + 100*time.Millisecond
	time.Sleep(most)
	h.crowd.mu.Lock()
	defer h.crowd.mu.Unlock()
	if len(h.crowd.waited) != n || slices.Max(h.crowd.waited) > most {
		h.T.Errorf("in %s, %d of %d healthy ones were handled, the slowest after %v", life, len(h.crowd.waited), n, slices.Max(append(h.crowd.waited, 0)))
	}
	h.crowd.waited = nil
}

// One dead endpoint of 300 does not delay another's event: its breaker opens, its events wait in the file, one of them is
// tried every 30 s, and when it is repaired they come in order. So it is in a strict order, and after a kill.
func (env *Env) TestADeadEndpointDoesNotDelayOthers(t *testing.T) {
	const many = 2000
	for name, opts := range map[string][]runtime.SubscribeOption{
		"alone": nil, "beside others": {runtime.WithConcurrency(8)}, "in a strict order": {runtime.WithConcurrency(8), runtime.WithStrictOrder()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h hooks
				h.begin(env, t, env.Target(t), opts...)
				h.crowd.publish(hookJob, many, func(int) string { return "dead" })
				time.Sleep(5 * time.Second)
				h.healthy("life 1", 299)
				stats := h.Stats().Subscriptions[0]
				if name != "in a strict order" && (len(stats.OpenBreakers) != 1 || stats.OpenBreakers[0].Key != "dead" || stats.Breaker.State != "open") {
					t.Errorf("the open breakers are %+v", stats.OpenBreakers)
				}
				h.called()
				time.Sleep(5 * time.Minute)
				if got := h.called(); name != "in a strict order" && (got < 8 || got > 11) {
					t.Errorf("a breaker that is tried every 30s has let %d attempts through in 5m", got)
				}
				h.begin(env, t, h.Killed(), opts...)
				h.healthy("life 2", 299)
				time.Sleep(20 * time.Second)
				h.repaired.Store(true)
				h.Idle()
				if open := h.Stats().Subscriptions[0].OpenBreakers; len(open) != 0 {
					t.Errorf("the open breakers are %+v", open)
				}
				h.crowd.mu.Lock()
				got := slices.Clone(h.crowd.noisy)
				h.crowd.mu.Unlock()
				seen := map[int]bool{}
				for _, n := range got {
					seen[n] = true
				}
				if len(seen) != many || len(got) > many+1 {
					t.Errorf("%d of %d were handled, %d times", len(seen), many, len(got))
				}
				if name == "in a strict order" && !slices.IsSorted(got) {
					t.Error("they were not handled in order")
				}
			})
		})
	}
}

// Events that come while others of their key wait behind an open breaker are handled after these.
func (env *Env) TestEventsGoBehindThoseThatWaitForTheirBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hooks
		s := h.begin(env, t, env.Target(t), runtime.WithRetry(retry.MaxAttempts(1)))
		h.crowd.publish(hookJob, 500, func(int) string { return "dead" })
		time.Sleep(time.Second)
		if got := h.called(); got != 4 {
			t.Fatalf("%d attempts before the breaker opened, want 4", got)
		}
		h.repaired.Store(true)
		if s.CloseBreakerOf("another") || !s.CloseBreakerOf("dead") || s.CloseBreaker() {
			t.Error("the breaker of one key was to be closed")
		}
		for n := 500; n < 600; n++ {
			_, err := runtime.Publish(t.Context(), h.Bus, hookJob, Job{"dead", n})
			Must(t, err)
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		h.Idle()
		if got := h.crowd.noisy; len(got) != 596 || !slices.IsSorted(got) {
			t.Errorf("%d were handled, in order: %v: %v", len(got), slices.IsSorted(got), got)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("that took %v", took)
		}
	})
}

// A pause of a key holds its deliveries, and nothing else, over a restart; then they come in order.
func (env *Env) TestAKeyIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hooks
		h.repaired.Store(true)
		h.begin(env, t, env.Target(t))
		Must(t, h.PauseKey(t.Context(), "hooks", "dead", "it asked for that"))
		h.crowd.publish(hookJob, 1000, func(int) string { return "dead" })
		h.healthy("life 1", 100)
		time.Sleep(time.Minute)
		h.begin(env, t, h.Killed())
		h.healthy("life 2", 100)
		time.Sleep(time.Minute)
		if got := h.called(); got != 0 {
			t.Errorf("%d were handled during the pause", got)
		}
		pauses, err := h.Pauses(t.Context())
		Must(t, err)
		if len(pauses) != 1 || pauses[0].Key != "dead" || pauses[0].Subscription != "hooks" || h.Stats().Subscriptions[0].Paused {
			t.Errorf("the pauses are %+v", pauses)
		}
		began := time.Now()
		Must(t, h.ResumeKey(t.Context(), "hooks", "dead"))
		for n := 1000; n < 1100; n++ {
			_, err := runtime.Publish(t.Context(), h.Bus, hookJob, Job{"dead", n})
			Must(t, err)
			time.Sleep(time.Millisecond)
		}
		h.Idle()
		if got := h.crowd.noisy; len(got) != 1100 || !slices.IsSorted(got) {
			t.Errorf("%d were handled, in order: %v", len(got), slices.IsSorted(got))
		}
		if took := time.Since(began); took > 1100*6*time.Millisecond+time.Second {
			t.Errorf("that took %v", took)
		}
	})
}

// One that is parked for a pause holds up what comes after it in its partition key, until it is cancelled.
func (env *Env) TestWhatIsParkedGoesOnWhenTheOneBeforeItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := runtime.Define(runtime.Spec[Job]{Name: "job.done", PartitionBy: func(j Job) string { return j.Customer }, Settings: Within(30*time.Second, Exact())})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(of))
		var handled []int
		_, err := runtime.Subscribe(f.Bus, of, "work", func(_ context.Context, e runtime.Event[Job]) error {
			if e.Payload.Number == 0 {
				return runtime.RetryAfter(time.Second, ErrBoom)
			}
			handled = append(handled, e.Payload.Number)
			return nil
		}, runtime.WithStrictOrder())
		Must(t, err)
		f.MustStart()
		first, err := runtime.Publish(t.Context(), f.Bus, of, Job{"acme", 0})
		Must(t, err)
		synctest.Wait()
		Must(t, f.PauseKey(t.Context(), "work", "acme", ""))
		time.Sleep(2 * time.Second) // it has come again, and is parked
		for n := range 100 {
			_, err := runtime.Publish(t.Context(), f.Bus, of, Job{"acme", 1 + n})
			Must(t, err)
		}
		time.Sleep(2 * time.Second)
		Must(t, f.Cancel(t.Context(), first.ID))
		time.Sleep(time.Second)
		if len(handled) > 0 {
			t.Errorf("%d were handled during the pause", len(handled))
		}
		Must(t, f.ResumeKey(t.Context(), "work", "acme"))
		time.Sleep(time.Second)
		if len(handled) != 100 || !slices.IsSorted(handled) {
			t.Errorf("a second after the pause %d were handled, want 100: %v", len(handled), handled)
		}
	})
}

// What cannot have a breaker or a pause by key is refused, and what makes no difference is not.
func (env *Env) TestWhatHasNoKeyIsRefused(t *testing.T) {
	f := env.Open(t)
	handler := func(context.Context, runtime.Event[UserCreated]) error { return nil }
	for name, opts := range map[string][]runtime.SubscribeOption{
		`user.created has no function for this path (it has name)`: {runtime.WithBreaker(breaker.On(), breaker.By("email"))},
		`a member of a group has one breaker`:                      {runtime.WithBreaker(breaker.On(), breaker.By("name")), runtime.InGroup("team")},
	} {
		_, err := runtime.Subscribe(f.Bus, UserType, "one", handler, opts...)
		saysWhy(t, err, name)
	}
	_, err := runtime.SubscribeBatch(f.Bus, UserType, "batch", func(context.Context, []runtime.Event[UserCreated]) error { return nil },
		runtime.WithBreaker(breaker.On(), breaker.By("name")))
	saysWhy(t, err, "a batch has events of several values")
	f.handleUsers("two", handler)
	saysWhy(t, f.PauseKey(t.Context(), "two", "A", ""), "has no keys: give its events a partition_by")
	f.handleUsers("", handler, runtime.Ephemeral(), runtime.WithBreaker(breaker.On(), breaker.By("name")))
	f.handleUsers("three", handler, runtime.WithBreaker(breaker.On(), breaker.By("name")))
	Must(t, f.PauseKey(t.Context(), "three", "A", ""))
	Must(t, f.ResumeKey(t.Context(), "three", "A"))
	Must(t, f.ResumeKey(t.Context(), "three", "A"))
}

// Only the keys that opened first are shown, and how many there are besides.
func (env *Env) TestTheKeysThatOpenedFirstAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(hookJob))
		s, err := runtime.Subscribe(f.Bus, hookJob, "hooks", func(context.Context, runtime.Event[Job]) error { return ErrBoom },
			runtime.WithRetry(retry.MaxAttempts(1)), runtime.WithBreaker(breaker.MinSamples(1)))
		Must(t, err)
		f.MustStart()
		for n := range 50 {
			_, err := runtime.Publish(t.Context(), f.Bus, hookJob, Job{fmt.Sprintf("c%02d", n), n})
			Must(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		stats := f.Stats().Subscriptions[0]
		if len(stats.OpenBreakers) != event.MaxBreakers || stats.MoreBreakers != 50-event.MaxBreakers || stats.OpenBreakers[0].Key != "c00" {
			t.Errorf("%d are shown, and %d more: %+v", len(stats.OpenBreakers), stats.MoreBreakers, stats.OpenBreakers)
		}
		if !s.CloseBreakerOf("c49") || !s.CloseBreaker() || s.CloseBreaker() {
			t.Error("all were to be closed")
		}
		if stats := f.Stats().Subscriptions[0]; len(stats.OpenBreakers) != 0 || stats.Breaker.State != "closed" {
			t.Errorf("it has %+v", stats.OpenBreakers)
		}
	})
}

// saysWhy fails the test unless an error has a text.
func saysWhy(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want an error that says %q", err, text)
	}
}
