package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// The tables of schedules again, this time from publishing to the last
// execution and with the built-in circuit breaker. Package retry has them as
// arithmetic.

// A type with all that is built in, but for jitter.
var (
	builtinType = runtime.Define(runtime.Spec[OrderPlaced]{
		Name: "builtin.placed",
		Settings: func() declare.Settings {
			s := declare.DefaultSettings()
			s.Retry = Exact()
			return s
		}(),
	})
	builtin = runtime.NewCatalogue(builtinType)
)

// openBuiltin opens a bus with a subscription that has the built-in breaker.
func (env *Env) openBuiltin(t *testing.T, handler runtime.Handler[OrderPlaced], opts ...runtime.SubscribeOption) *Fixture {
	t.Helper()
	f := env.ReopenWith(t, env.Target(t), builtin)
	_, err := runtime.Subscribe(f.Bus, builtinType, "failing", handler, opts...)
	Must(t, err)
	f.MustStart()
	return f
}

// builtin publishes one order.
func (f *Fixture) builtin(number int) *runtime.Receipt {
	f.T.Helper()
	receipt, err := runtime.Publish(f.T.Context(), f.Bus, builtinType, OrderPlaced{OrderID: "A", Number: number})
	Must(f.T, err)
	return receipt
}

// executions publishes one event to a handler that always fails. It returns the times of
// the attempts, counted from publishing, and the outcome of the event.
func (env *Env) executions(t *testing.T, opts ...runtime.SubscribeOption) (times []time.Duration, outcome runtime.Outcome) {
	t.Helper()
	var seen Journal[time.Duration]
	began := time.Now()
	f := env.openBuiltin(t, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		seen.Add(time.Since(began))
		if want := len(seen.All()); e.Attempt != want {
			t.Errorf("execution %d is told that it is %d", want, e.Attempt)
		}
		return fmt.Errorf("failure %d", e.Attempt)
	}, opts...)
	began = time.Now()
	outcome, err := f.builtin(1).Wait(t.Context())
	Must(t, err)
	for _, at := range seen.All() {
		times = append(times, at.Round(time.Millisecond)) // a due time is stored in microseconds
	}
	f.neverOpened()
	return times, outcome
}

// neverOpened fails if a breaker has opened.
func (f *Fixture) neverOpened() {
	f.T.Helper()
	for _, line := range f.Log.Level(f.T, "WARN") {
		if strings.Contains(line["msg"].(string), "circuit breaker") {
			f.T.Fatalf("%s: %v of %v deliveries", line["msg"], line["failures"], line["samples"])
		}
	}
}

func seconds(s ...float64) (all []time.Duration) {
	for _, one := range s {
		all = append(all, time.Duration(one*float64(time.Second)).Round(time.Millisecond))
	}
	return all
}

func (env *Env) TestExecutionsHappenWhenTheTablesSaySo(t *testing.T) {
	tests := []struct {
		name string
		opts []retry.Option
		want []time.Duration // the executions, since publishing
	}{
		{"three retries from one second",
			[]retry.Option{retry.MaxAttempts(4)}, seconds(0, 1, 3, 7)},
		{"six retries up to thirty seconds",
			[]retry.Option{retry.MaxAttempts(7)}, seconds(0, 1, 3, 7, 15, 31, 61)},
		{"five retries from half a second",
			[]retry.Option{retry.MaxAttempts(6), retry.BaseDelay(500 * time.Millisecond)}, seconds(0, .5, 1.5, 3.5, 7.5, 15.5)},
		{"eight executions from half a second, the last at the cap",
			[]retry.Option{retry.MaxAttempts(9), retry.BaseDelay(500 * time.Millisecond)}, seconds(0, .5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5)},
		{"a long job: five executions up to five minutes",
			[]retry.Option{retry.MaxAttempts(5), retry.MaxDelay(300 * time.Second)}, seconds(0, 1, 3, 7, 15)},
		{"a long job with a longer budget",
			[]retry.Option{retry.MaxAttempts(8), retry.MaxDelay(300 * time.Second)}, seconds(0, 1, 3, 7, 15, 31, 63, 127)},
		{"a trial: three executions",
			[]retry.Option{retry.MaxAttempts(3), retry.MaxDelay(300 * time.Second)}, seconds(0, 1, 3)},
		{"a command: two executions, the second at once",
			[]retry.Option{retry.MaxAttempts(2), retry.WithBackoff(retry.None)}, seconds(0, 0)},
		{"linear in steps of five seconds",
			[]retry.Option{retry.MaxAttempts(5), retry.WithBackoff(retry.Linear), retry.BaseDelay(5 * time.Second), retry.MaxDelay(300 * time.Second)},
			seconds(0, 5, 15, 30, 50)},
		{"a limited API: linear in steps of ten seconds",
			[]retry.Option{retry.MaxAttempts(5), retry.WithBackoff(retry.Linear), retry.BaseDelay(10 * time.Second), retry.MaxDelay(300 * time.Second)},
			seconds(0, 10, 30, 60, 100)},
		{"constant",
			[]retry.Option{retry.MaxAttempts(4), retry.WithBackoff(retry.Constant), retry.BaseDelay(5 * time.Second)}, seconds(0, 5, 10, 15)},
		{"fast to fail",
			[]retry.Option{retry.MaxAttempts(1)}, seconds(0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				times, outcome := env.executions(t, runtime.WithRetry(append(tt.opts, retry.Jitter(0))...))
				if !slices.Equal(times, tt.want) {
					t.Errorf("executions at %v, want %v", times, tt.want)
				}
				d := outcome.Deliveries[0]
				if !d.Dead || d.Failures != len(tt.want) || d.Reason != "max_attempts" {
					t.Errorf("it ended as %+v", d)
				}
			})
		})
	}
}

var races = short.Flag("races", 10000, 500, "how often two things happen at once of which each must see the other")

var scheduleEvents = short.Flag("schedule.events", 500, 50, "how many events are retried twenty times each to see their waits")

// An event after the other: together they would be a handler that fails, and
// the breaker would rightly open.
func (env *Env) TestTenThousandRetriesHappenWithinTheirWindows(t *testing.T) {
	const retries = 20
	events := scheduleEvents.N()
	policy := Exact(retry.Jitter(0.2), retry.MaxAttempts(1+retries), retry.BaseDelay(50*time.Millisecond), retry.MaxDelay(time.Second))
	synctest.Test(t, func(t *testing.T) {
		thirds := env.waitsWithin(t, policy, events)
		draws := thirds[0] + thirds[1] + thirds[2]
		if draws != events*retries {
			t.Errorf("%d draws, want %d", draws, events*retries)
		}
		for _, n := range thirds {
			if n < draws/4 {
				t.Errorf("the thirds of the windows have %v draws", thirds)
			}
		}
	})
}

// waitsWithin has so many events fail one after the other until they are dead,
// and compares the waits with the policy. It returns how many fell into which
// third of their window.
func (env *Env) waitsWithin(t *testing.T, policy retry.Policy, events int) (thirds [3]int) {
	t.Helper()
	type run struct {
		id      uuid.UUID
		attempt int
		at      time.Time
	}
	var runs Journal[run]
	f := env.openBuiltin(t, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		runs.Add(run{e.ID, e.Attempt, time.Now()})
		return ErrBoom
	}, runtime.WithRetry(retry.Jitter(policy.Jitter), retry.MaxAttempts(policy.MaxAttempts), retry.WithBackoff(policy.Backoff),
		retry.BaseDelay(policy.BaseDelay), retry.MaxDelay(policy.MaxDelay), retry.Multiplier(policy.Multiplier)))
	for n := range events {
		time.Sleep(20 * time.Second) // so that they are no more than three within a minute
		f.builtin(n)
		f.Idle()
	}
	f.neverOpened()
	last := map[uuid.UUID]time.Time{}
	for _, r := range runs.All() {
		if before, ok := last[r.id]; ok {
			wait := r.at.Sub(before).Round(time.Microsecond)
			low, high := policy.Window(r.attempt)
			if wait < low-time.Microsecond || wait > high+time.Microsecond {
				t.Fatalf("execution %d of %s came after %v, outside of [%v, %v]", r.attempt, r.id, wait, low, high)
			}
			if want := policy.Jittered(r.attempt, r.id, "failing"); (wait - want).Abs() > time.Microsecond {
				t.Fatalf("execution %d of %s came after %v, and recomputed it is %v", r.attempt, r.id, wait, want)
			}
			thirds[min(2, max(0, 3*(wait-low)/max(1, high-low)))]++
		}
		last[r.id] = r.at
	}
	return thirds
}

// The policies of the tables of package retry.
func (env *Env) TestWaitsAreThoseOfTheTables(t *testing.T) {
	const ms = time.Millisecond
	for name, policy := range map[string]retry.Policy{
		"a tenth of jitter, from one second to thirty": {
			MaxAttempts: 7, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Multiplier: 2, Jitter: 0.1},
		"a fifth of jitter, from half a second to thirty": {
			MaxAttempts: 9, BaseDelay: 500 * ms, MaxDelay: 30 * time.Second, Multiplier: 2, Jitter: 0.2},
		"a fifth of jitter, from one second to five minutes": {
			MaxAttempts: 11, BaseDelay: time.Second, MaxDelay: 300 * time.Second, Multiplier: 2, Jitter: 0.2},
		"linear in steps of five seconds": {
			MaxAttempts: 100, Backoff: retry.Linear, BaseDelay: 5 * time.Second, MaxDelay: 300 * time.Second, Multiplier: 2, Jitter: 0.2},
		"no waits": {
			MaxAttempts: 2, Backoff: retry.None, BaseDelay: time.Second, MaxDelay: 300 * time.Second, Multiplier: 2, Jitter: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const events = 2
				thirds := env.waitsWithin(t, policy, events)
				if got, want := thirds[0]+thirds[1]+thirds[2], events*(policy.MaxAttempts-1); got != want {
					t.Errorf("%d waits, want %d", got, want)
				}
			})
		})
	}
}

func (env *Env) TestAThousandExecutionsFollowTheScheduleToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The product would be infinite long before the end.
		times, outcome := env.executions(t, runtime.WithRetry(retry.MaxAttempts(1000), retry.Multiplier(1000),
			retry.BaseDelay(time.Millisecond), retry.MaxDelay(10*time.Second), retry.Jitter(0)))
		if len(times) != 1000 || outcome.Deliveries[0].Failures != 1000 {
			t.Fatalf("%d executions, and the outcome is %+v", len(times), outcome)
		}
		if got, want := times[:5], seconds(0, .001, 1.001, 11.001, 21.001); !slices.Equal(got, want) {
			t.Errorf("it begins with %v, want %v", got, want)
		}
		for n := 4; n < 1000; n++ {
			if wait := (times[n] - times[n-1]).Round(time.Millisecond); wait != 10*time.Second {
				t.Fatalf("execution %d came after %v, want the cap of 10s", n+1, wait)
			}
		}
	})
}
