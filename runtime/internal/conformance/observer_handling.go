package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

type watchKey struct{}

// watcher is an observer that leaves something with each attempt, and notes how it ends.
func watcher(j *Journal[string]) observe.Observer {
	return observe.Observer{Handling: func(ctx context.Context, i observe.HandlingInfo) observe.Handling {
		name := fmt.Sprintf("%s#%d", i.Subscription, i.Attempt)
		return observe.Handling{
			Context: context.WithValue(ctx, watchKey{}, name),
			Logged:  []slog.Attr{slog.String("watch", name)},
			Ended: func(end observe.EndedInfo) {
				if end.Batch != nil {
					j.Add(fmt.Sprintf("%s batch of %d, %d done, %d failed", name, end.Batch.Size, end.Batch.Done, end.Batch.Failed))
					return
				}
				due := ""
				if !end.Due.IsZero() {
					due = "due in " + time.Until(end.Due).String()
				}
				text := fmt.Sprintln(name, end.Outcome, end.Took, end.Kind, end.Error, end.Reason, due)
				j.Add(strings.Join(strings.Fields(text), " "))
			},
		}
	}}
}

func (env *Env) TestAnObserverIsToldOnceWhatComesOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		f := env.Open(t, runtime.WithObserver(watcher(&told)))
		s := f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Second)
			switch n := e.Payload.Number; {
			case n == 1 && e.Attempt == 1:
				return ErrBoom
			case n == 2:
				<-ctx.Done()
				time.Sleep(time.Millisecond)
			case n == 3:
				return runtime.Discard("not ours")
			case n == 4 && e.Attempt == 1:
				return runtime.Snooze(time.Hour)
			case n == 5:
				panic("oh")
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		f.MustStart()
		for _, n := range Numbers(1, 5) {
			f.Publish(n)
			f.Idle()
		}
		f.PublishRaw(PlacedType, `{"number": "six"}`)
		f.Idle()
		got := told.All()
		for i, line := range got {
			if at := strings.Index(line, " decode "); at > 0 {
				got[i] = line[:at+7]
			}
		}
		want := []string{
			"reader#1 retried 1s error boom due in 1s", "reader#2 handled 1s",
			"reader#1 retried 30s timeout the handler did not finish within 30s due in 1s",
			"reader#2 dead 30s timeout the handler did not finish within 30s max_attempts",
			"reader#1 discarded 1s not ours",
			"reader#1 snoozed 1s due in 1h0m0s", "reader#2 handled 1s",
			"reader#1 retried 1s panic panic: oh due in 1s", "reader#2 dead 1s panic panic: oh max_attempts",
			"reader#1 dead 0s decode",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		Must(t, s.Unsubscribe(t.Context()))
	})
}

func (env *Env) TestAnObserverIsToldOfAnAttemptThatAShutdownPutsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		f := env.Open(t, runtime.WithObserver(watcher(&told)), runtime.WithShutdownTimeout(time.Second))
		f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			return ctx.Err()
		})
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		f.Shutdown(context.Background())
		synctest.Wait()
		if got := told.All(); !slices.Equal(got, []string{"reader#1 released 1s"}) {
			t.Errorf("the observer was told %q", got)
		}
	})
}

func (env *Env) TestAnObserverIsToldOfADeadLetterWhoseHandlerWasNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		var metadata Journal[map[string]string]
		o := watcher(&told)
		left := o.Handling
		o.Handling = func(ctx context.Context, i observe.HandlingInfo) observe.Handling {
			for e := range i.Events() {
				metadata.Add(e.Metadata())
			}
			return left(ctx, i)
		}
		f := env.Open(t, runtime.WithObserver(o))
		s := f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithExpiry(time.Second),
			runtime.WithMetadata(map[string]string{"tenant": "acme"}))
		Must(t, err)
		time.Sleep(time.Minute)
		f.MustStart()
		f.Idle()
		if got := told.All(); !slices.Equal(got, []string{s.Name() + "#1 dead 0s it was not handled within 1s expired"}) {
			t.Errorf("the observer was told %q", got)
		}
		if diff := cmp.Diff([]map[string]string{{"tenant": "acme"}}, metadata.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestAnObserverGivesEveryKindOfHandlerItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told, got Journal[string]
		foreign := observe.Observer{Handling: func(context.Context, observe.HandlingInfo) observe.Handling {
			return observe.Handling{Context: context.Background()} // is no use, and does no harm
		}}
		f := env.Open(t, runtime.WithObserver(watcher(&told)), runtime.WithObserver(foreign))
		see := func(ctx context.Context, name string) error {
			if value, _ := ctx.Value(watchKey{}).(string); value != name+"#1" {
				got.Add(name + " has " + value)
			}
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}) // which is staged
			return err
		}
		handler := func(name string) runtime.Handler[OrderPlaced] {
			return func(ctx context.Context, _ runtime.Event[OrderPlaced]) error { return see(ctx, name) }
		}
		f.Handle("plain", handler("plain"))
		f.Handle("middle", handler("middle"), runtime.WithHandlerMiddleware(func(next runtime.Next) runtime.Next { return next }))
		f.Handle("member-1", handler("member-1"), runtime.InGroup("group"))
		f.Handle("member-2", handler("member-2"), runtime.InGroup("group"))
		f.Batches("batched", func(ctx context.Context, _ []runtime.Event[OrderPlaced]) error {
			return errors.Join(see(ctx, "batched"), see(runtime.ItemContext(ctx, 0), "batched"))
		}, runtime.WithBatch(1, 0))
		_, err := runtime.SubscribePattern(f.Bus, "order.placed", "pattern", func(ctx context.Context, _ runtime.Event[runtime.Raw]) error { return see(ctx, "pattern") })
		Must(t, err)
		f.MustStart()
		f.Handle("fleeting", handler("fleeting"), runtime.Ephemeral())
		f.Publish(1)
		f.Idle()
		synctest.Wait()
		if wrong := got.All(); len(wrong) > 0 {
			t.Errorf("handlers have other contexts: %q", wrong)
		}
		ended := told.All()
		slices.Sort(ended)
		want := []string{
			"batched#1 batch of 1, 1 done, 0 failed", "batched#1 handled 0s", "fleeting#1 handled 0s", "member-1#1 handled 0s",
			"member-2#1 handled 0s", "middle#1 handled 0s", "pattern#1 handled 0s", "plain#1 handled 0s",
		}
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestAnObserverIsToldOfEachEventOfABatchAndThenOfTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		o := watcher(&told)
		left := o.Handling
		o.Handling = func(ctx context.Context, i observe.HandlingInfo) observe.Handling {
			n := 0
			for e := range i.Events() {
				if n++; e.Info.ID == [16]byte{} || e.Info.Attempt == 0 {
					t.Errorf("an event of the batch is %+v", e.Info)
				}
			}
			told.Add(fmt.Sprintf("batch %v of %d, which are %d", i.Batch, i.Size(), n))
			return left(ctx, i)
		}
		f := env.Open(t, runtime.WithObserver(o))
		f.Batches("batched", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			var failed runtime.BatchError
			failed.Set(1, runtime.Permanent(ErrBoom))
			return failed.Err()
		}, runtime.WithBatch(3, time.Minute))
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		want := []string{
			"batch true of 3, which are 3", "batched#1 handled 0s", "batched#1 dead 0s error boom permanent", "batched#1 handled 0s",
			"batched#1 batch of 3, 2 done, 1 failed",
		}
		if diff := cmp.Diff(want, told.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestAnObserverAddsAttributesToAllLinesAboutAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		f := env.Open(t, runtime.WithObserver(watcher(&told)))
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			runtime.Logger(e).Info("at work")
			return runtime.Permanent(ErrBoom)
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		for _, message := range []string{"at work", "event handler failed", "event is dead-lettered"} {
			lines := f.saying(message)
			if len(lines) != 1 || lines[0]["watch"] != "reader#1" || lines[0]["subscription_id"] != "reader" {
				t.Errorf("the lines %q are %v", message, lines)
			}
		}
	})
}

// saying returns the lines of the log with a message.
func (f *Fixture) saying(message string) (lines []map[string]any) {
	for _, level := range []string{"INFO", "WARN", "ERROR"} {
		for _, line := range f.Log.Level(f.T, level) {
			if line["msg"] == message {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
