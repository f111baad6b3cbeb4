package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestAnEventThatFailsForALongTimeIsReportedAsSlowOnce(t *testing.T) {
	minutes := runtime.WithRetry(retry.MaxAttempts(100), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute))
	for name, test := range map[string]struct {
		opts []runtime.Option
		at   int // minutes until it is slow; 0 for never
	}{
		"by default": {nil, 5},
		"earlier":    {[]runtime.Option{runtime.WithSlowEventAfter(2 * time.Minute)}, 2},
		"never":      {[]runtime.Option{runtime.WithSlowEventAfter(0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told Journal[string]
				f := env.Open(t, append(test.opts, runtime.WithObserver(runtime.Observer{SlowEvent: func(i runtime.SlowEventInfo) {
					told.Add(fmt.Sprint(i.Subscription, " after ", i.Age.Round(time.Minute), ": ", i.Error))
					panic("boom") // harms nobody
				}}))...)
				handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					switch {
					case time.Since(e.PublishedAt) > 20*time.Minute:
						return nil
					case e.Payload.Number == 2:
						return runtime.Snooze(30 * time.Second) // on purpose
					}
					return ErrBoom
				}
				f.Handle("a", handler, minutes)
				f.Handle("b", handler, minutes)
				f.Handle("quick", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
				f.MustStart()
				f.Publish(1, 2)
				if test.at > 0 {
					time.Sleep(time.Duration(test.at)*time.Minute - 40*time.Second)
					if got := told.All(); len(got) != 0 {
						t.Errorf("too early: %q", got)
					}
				}
				f.Idle()
				var want []string
				if test.at > 0 {
					for _, name := range []string{"a", "b"} {
						want = append(want, fmt.Sprint(name, " after ", time.Duration(test.at)*time.Minute, ": boom"))
					}
				}
				got := told.All()
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("observers are told %q, want %q", got, want)
				}
				logged := 0
				for _, line := range f.Log.Level(t, "WARN") {
					if line["msg"] == "an event is slow: it was tried in vain for a long time" {
						logged++
					}
				}
				if logged != len(want) {
					t.Errorf("the log has %d warnings, want %d", logged, len(want))
				}
			})
		})
	}
}
