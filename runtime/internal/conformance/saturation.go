package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
)

// saturable is a bus whose only handler takes so long.
type saturable struct {
	*Fixture
	changes Journal[string] // of its health
}

func (env *Env) openSaturable(t *testing.T, takes time.Duration, opts ...runtime.SubscribeOption) *saturable {
	f := &saturable{}
	f.Fixture = env.Open(t, runtime.WithHealth(observe.DefaultHealth(), func(c observe.HealthCheck) {
		f.changes.Add(fmt.Sprint(c.Name, " ", c.Exceeded, " ", c.Value, " ", c.Mostly))
	}))
	f.Handle("reader", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		return nil
	}, opts...)
	f.MustStart()
	return f
}

// publishEvery publishes an event at each interval, for so long.
func (f *saturable) publishEvery(interval, long time.Duration) {
	f.T.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(interval) {
		f.Publish(1)
	}
}

// saturation returns what the log says about it, in short.
func (f *saturable) saturation() (lines []string) {
	for _, level := range []string{"WARN", "INFO"} {
		for _, line := range f.Log.Level(f.T, level) {
			if msg := line["msg"].(string); strings.Contains(msg, "saturated") {
				lines = append(lines, fmt.Sprint(level, " ", line["subscription_id"], " ", line["concurrency"], ": ", line["advice"]))
			}
		}
	}
	return lines
}

// shown tells whether the file says that it is saturated.
func (f *saturable) shown() bool {
	f.T.Helper()
	synctest.Wait()
	file, err := f.Env.OpenFile(f.T.Context(), f.Path)
	Must(f.T, err)
	defer file.Close()
	status, err := file.Status(f.T.Context())
	Must(f.T, err)
	return status.Subscriptions[0].Saturated
}

const moreHandlers = "run more handlers at once: concurrency: 8 in the catalogue, or WithConcurrency(8)"

func (env *Env) TestASaturatedSubscriptionSaysSoOncePerEpisode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openSaturable(t, 200*time.Millisecond)
		f.publishEvery(100*time.Millisecond, 65*time.Second) // twice what it can handle
		if got := f.saturation(); got != nil {
			t.Errorf("before it was busy for a minute and a look, the log says %q", got)
		}
		f.publishEvery(100*time.Millisecond, 60*time.Second)
		warned := "WARN reader 1: " + moreHandlers
		if got := f.saturation(); !slices.Equal(got, []string{warned}) {
			t.Errorf("the log says %q, want one line: %q", got, warned)
		}
		if !f.Stats().Subscriptions[0].Saturated || f.Health().Healthy {
			t.Errorf("Stats says saturated: %v, Health healthy: %v", f.Stats().Subscriptions[0].Saturated, f.Health().Healthy)
		}
		if !f.shown() {
			t.Error("for other processes it is not saturated")
		}
		f.Idle() // the backlog of hundreds is handled
		time.Sleep(20 * time.Second)
		if got, want := f.saturation(), []string{warned, "INFO reader 1: <nil>"}; !slices.Equal(got, want) {
			t.Errorf("at the end of the episode the log says %q, want %q", got, want)
		}
		if got, want := f.changes.All(), []string{"saturated true 1 reader", "saturated false 0 "}; !slices.Equal(got, want) {
			t.Errorf("the health changes were %q, want %q", got, want)
		}
		if f.Stats().Subscriptions[0].Saturated || !f.Health().Healthy {
			t.Error("it still counts as saturated")
		}
		if f.shown() {
			t.Error("for other processes it is still saturated")
		}
		f.publishEvery(100*time.Millisecond, 90*time.Second)
		if got := f.saturation(); len(got) != 3 {
			t.Errorf("after a second episode the log says %q, want another warning", got)
		}
	})
}

func (env *Env) TestABusySubscriptionThatKeepsUpIsNotSaturated(t *testing.T) {
	for name, test := range map[string]struct {
		takes    time.Duration
		backlog  int // at the beginning
		interval time.Duration
		opts     []runtime.SubscribeOption
	}{
		"its backlog stays":    {200 * time.Millisecond, 300, 200 * time.Millisecond, nil},
		"its backlog shrinks":  {200 * time.Millisecond, 600, 400 * time.Millisecond, nil},
		"its backlog is small": {200 * time.Millisecond, 0, 170 * time.Millisecond, nil},
		"it has idle workers":  {200 * time.Millisecond, 0, 120 * time.Millisecond, []runtime.SubscribeOption{runtime.WithConcurrency(2)}},
		"its handler is quick": {time.Millisecond, 500, 100 * time.Millisecond, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.openSaturable(t, test.takes, test.opts...)
				f.Publish(make([]int, test.backlog)...)
				f.publishEvery(test.interval, 95*time.Second)
				if got := f.saturation(); got != nil || f.Stats().Subscriptions[0].Saturated {
					t.Errorf("the log says %q", got)
				}
			})
		})
	}
}

func (env *Env) TestEventsThatAreNotDueDoNotSaturate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openSaturable(t, 200*time.Millisecond)
		f.Publish(make([]int, 300)...)
		for range 475 {
			f.Publish(1)
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A"}, runtime.WithDelay(time.Hour))
			Must(t, err)
			time.Sleep(200 * time.Millisecond)
		}
		if got := f.saturation(); got != nil {
			t.Errorf("the log says %q", got)
		}
	})
}

func (env *Env) TestAHandlerThatTakesMinutesSaturatesWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openSaturable(t, 10*time.Minute, runtime.WithConcurrency(2), runtime.WithoutTimeout(), runtime.WithSlowAfter(0))
		for n := range 400 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint(n)})
			Must(t, err)
			time.Sleep(250 * time.Millisecond)
		}
		want := []string{"WARN reader 2: raise concurrency in the catalogue, or WithConcurrency, or make the handler faster"}
		if got := f.saturation(); !slices.Equal(got, want) {
			t.Errorf("the log says %q, want %q", got, want)
		}
	})
}

func (env *Env) TestBatchesSaturateByTheTimeOfTheirHandler(t *testing.T) {
	for name, test := range map[string]struct {
		concurrency int
		want        int // warnings
	}{
		"one worker is busy all the time":                          {1, 1},
		"one of eight is, because the events have a key in common": {8, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &saturable{Fixture: env.Open(t)}
				_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "reader", func(ctx context.Context, _ []runtime.Event[OrderPlaced]) error {
					select {
					case <-time.After(5 * time.Second):
					case <-ctx.Done():
					}
					return nil
				}, runtime.WithBatch(25, 10*time.Second), runtime.WithConcurrency(test.concurrency))
				Must(t, err)
				f.MustStart()
				f.publishEvery(100*time.Millisecond, 95*time.Second) // twice what one worker can handle
				if got := f.saturation(); len(got) != test.want {
					t.Errorf("the log says %q, want %d lines", got, test.want)
				}
			})
		})
	}
}
