package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// The tables of schedules again, this time from publishing to the last
// execution. Package retry has them as arithmetic.

// executions publishes one event to a handler that always fails, and returns
// when it ran, since publishing, and what the event ended with.
func executions(t *testing.T, opts ...runtime.SubscribeOption) (times []time.Duration, outcome runtime.Outcome) {
	t.Helper()
	f := open(t)
	var seen journal[time.Duration]
	began := time.Now()
	f.handle("failing", func(_ context.Context, e runtime.Event[orderPlaced]) error {
		seen.add(time.Since(began))
		if want := len(seen.all()); e.Attempt != want {
			t.Errorf("execution %d is told that it is %d", want, e.Attempt)
		}
		return fmt.Errorf("failure %d", e.Attempt)
	}, opts...)
	f.start()
	began = time.Now()
	receipt := f.publish(1)[0]
	outcome, err := receipt.Wait(t.Context())
	must(t, err)
	for _, at := range seen.all() {
		times = append(times, at.Round(time.Millisecond)) // a due time is stored in microseconds
	}
	return times, outcome
}

func seconds(s ...float64) (all []time.Duration) {
	for _, one := range s {
		all = append(all, time.Duration(one*float64(time.Second)).Round(time.Millisecond))
	}
	return all
}

func TestExecutionsHappenWhenTheTablesSaySo(t *testing.T) {
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
				times, outcome := executions(t, runtime.WithRetry(append(tt.opts, retry.Jitter(0))...))
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

func TestTenThousandRetriesHappenWithinTheirWindows(t *testing.T) {
	const events, retries = 500, 20
	policy := exact(retry.Jitter(0.2), retry.MaxAttempts(1+retries))
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		type run struct {
			id      uuid.UUID
			attempt int
			at      time.Time
		}
		var runs journal[run]
		f.handle("failing", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			runs.add(run{e.ID, e.Attempt, time.Now()})
			return errBoom
		}, runtime.WithRetry(retry.Jitter(policy.Jitter), retry.MaxAttempts(policy.MaxAttempts)))
		f.start()
		f.publish(numbers(1, events)...)
		f.idle()

		last := map[uuid.UUID]time.Time{}
		draws, thirds := 0, [3]int{} // of the windows
		for _, r := range runs.all() {
			if before, ok := last[r.id]; ok {
				draws++
				wait := r.at.Sub(before).Round(time.Microsecond)
				low, high := policy.Window(r.attempt)
				if wait < low-time.Microsecond || wait > high+time.Microsecond {
					t.Fatalf("execution %d of %s came after %v, outside of [%v, %v]", r.attempt, r.id, wait, low, high)
				}
				if want := policy.Jittered(r.attempt, r.id, "failing"); (wait - want).Abs() > time.Microsecond {
					t.Fatalf("execution %d of %s came after %v, and recomputed it is %v", r.attempt, r.id, wait, want)
				}
				thirds[min(2, max(0, 3*(wait-low)/(high-low)))]++
			}
			last[r.id] = r.at
		}
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

func TestAThousandExecutionsFollowTheScheduleToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The product would be infinite long before the end.
		times, outcome := executions(t, runtime.WithRetry(retry.MaxAttempts(1000), retry.Multiplier(1000),
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
