package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// alarmed is a bus that notes the alerts of batches.
type alarmed struct {
	*Fixture
	types  map[string]*runtime.EventType[UserCreated]
	alerts Journal[string]
}

func (env *Env) openAlarmed(t *testing.T) *alarmed {
	f := &alarmed{}
	var catalogue *runtime.Catalogue
	f.types, catalogue = jobs()
	f.Fixture = env.ReopenWith(t, env.Target(t), catalogue, runtime.WithObserver(observe.Observer{
		Alert: func(i observe.AlertInfo) {
			if b := i.Batch; b == nil {
				f.alerts.Add("dead " + i.Type)
			} else {
				f.alerts.Add(fmt.Sprint(i.Type, " ", i.Subscription, " ", i.Reason, " of ", b.Size, " failed ", b.Failed, " late ", b.TimedOut, ": ", i.LastError))
			}
		},
	}))
	return f
}

// batches handles events of a type in batches of at most 10, with attempts for all day.
func (f *alarmed) batches(word string, handler runtime.BatchHandler[UserCreated]) {
	f.T.Helper()
	_, err := runtime.SubscribeBatch(f.Bus, f.types[word], word, handler, runtime.WithBatch(10, 0),
		runtime.WithRetry(retry.MaxAttempts(100), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)), runtime.WithBreaker(breaker.Off()))
	Must(f.T, err)
}

func (f *alarmed) publish(word string, n int, opts ...runtime.PublishOption) {
	f.T.Helper()
	_, err := runtime.PublishBatch(f.T.Context(), f.Bus, f.types[word], make([]UserCreated, n), opts...)
	Must(f.T, err)
	synctest.Wait()
}

func (f *alarmed) heard(want ...string) {
	f.T.Helper()
	synctest.Wait()
	if got := f.alerts.All(); !slices.Equal(got, want) {
		f.T.Errorf("alerts are %q, want %q", got, want)
	}
	logged := 0
	for _, line := range f.Log.Level(f.T, "ERROR") {
		if line["alert"] == "critical" {
			logged++
		}
	}
	if logged != len(want) {
		f.T.Errorf("the log has %d alerts, want %d", logged, len(want))
	}
}

func (env *Env) TestABatchOfCriticalEventsThatFailsAsAWholeIsOneAlertUntilSomethingIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openAlarmed(t)
		var outage atomic.Bool
		handler := func(_ context.Context, events []runtime.Event[UserCreated]) error {
			switch {
			case !outage.Load():
				return nil
			case len(events) == 4: // only one of them
				return &runtime.BatchError{Items: map[int]error{2: ErrBoom}}
			}
			return ErrBoom
		}
		f.batches("critical", handler)
		f.batches("high", handler)
		outage.Store(true)
		f.MustStart()
		f.publish("critical", 4)
		f.heard() // one of four is no alert
		outage.Store(false)
		time.Sleep(2 * time.Minute) // the retry is handled
		synctest.Wait()
		outage.Store(true)
		f.publish("high", 7)
		f.heard()
		f.publish("critical", 7)
		first := "job.critical critical batch of 7 failed 7 late false: boom"
		f.heard(first)
		f.publish("critical", 8)
		time.Sleep(10 * time.Minute)
		f.heard(first) // the same outage
		outage.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		outage.Store(true)
		f.publish("critical", 3)
		f.heard(first, "job.critical critical batch of 3 failed 3 late false: boom")
		outage.Store(false)
		f.Idle()
	})
}

func (env *Env) TestABatchOfCriticalEventsThatOutlivesItsDeadlineIsAnAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openAlarmed(t)
		f.batches("critical", func(ctx context.Context, events []runtime.Event[UserCreated]) error {
			if events[0].Attempt == 1 {
				<-ctx.Done()
			}
			return nil
		})
		f.batches("low", func(_ context.Context, events []runtime.Event[UserCreated]) error {
			if events[0].Attempt == 1 {
				panic("boom")
			}
			return nil
		})
		f.MustStart()
		f.publish("critical", 4)
		f.publish("low", 2)
		f.Idle()
		late := f.alerts.All()
		if len(late) != 1 {
			t.Fatalf("alerts are %q, want one of the batch that was late", late)
		}
		f.heard("job.critical critical batch of 4 failed 4 late true: the handler did not finish within 30s")

		// An event may be critical whatever its type is.
		f.publish("low", 2, runtime.WithPriority(runtime.PriorityCritical))
		f.Idle()
		f.heard(late[0], "job.low low batch of 2 failed 2 late false: panic: boom")
	})
}
