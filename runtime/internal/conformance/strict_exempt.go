package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/retry"
)

// Event 1 comes out of its order, and is put off for two hours. Event 2 is published meanwhile.
func (env *Env) TestAStrictOrderDoesNotWaitForDelayedEventsAndRetriedDeadLetters(t *testing.T) {
	for name, come := range map[string]func(*Fixture){
		"delayed": func(f *Fixture) { f.publishDelayed(1) },
		"retried": func(f *Fixture) {
			f.Publish(1)
			time.Sleep(10 * time.Second)
			_, err := f.outside().Retry(f.T.Context(), inspect.Selection{})
			Must(f.T, err)
		},
		"replayed and retried": func(f *Fixture) {
			f.Publish(0)
			time.Sleep(10 * time.Second)
			_, err := f.Replay(f.T.Context(), "strict", event.ReplayFilter{})
			Must(f.T, err)
			time.Sleep(10 * time.Second)
			_, err = f.outside().Retry(f.T.Context(), inspect.Selection{})
			Must(f.T, err)
		},
		"redriven": func(f *Fixture) {
			settings := PlacedType.Any().Settings()
			settings.Redrive = declare.Redrive{Every: time.Minute, Max: 1}
			Must(f.T, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}))
			f.Publish(1)
			time.Sleep(10 * time.Minute)
		},
		"edited": func(f *Fixture) {
			f.Publish(1)
			time.Sleep(10 * time.Second)
			file, err := env.OpenFile(f.T.Context(), f.Path, inspect.WithEditing(Catalogue.Check))
			Must(f.T, err)
			defer file.Close()
			_, err = file.Edit(f.T.Context(), env.Letter(f.T, f.Path).Key, []byte(`{"order_id":"A","number":1,"weight":0}`))
			Must(f.T, err)
		},
		"retried, discarded and undone": func(f *Fixture) {
			f.Publish(1)
			time.Sleep(10 * time.Second)
			file := f.outside()
			key := env.Letter(f.T, f.Path).Key
			_, err := file.Retry(f.T.Context(), inspect.Selection{})
			Must(f.T, err)
			time.Sleep(10 * time.Second)
			_, err = file.DiscardEvent(f.T.Context(), key.EventID, "", "why")
			Must(f.T, err)
			time.Sleep(10 * time.Second)
			_, err = file.Undiscard(f.T.Context(), event.Undo{Event: key.EventID})
			Must(f.T, err)
		},
	} {
		for how, put := range map[string]error{"failed": ErrBoom, "snoozed": runtime.Snooze(2 * time.Hour)} {
			for when, restart := range map[string]bool{"in one life": false, "after a restart": true} {
				t.Run(name+", "+how+", "+when, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := env.Open(t)
						var seen Journal[int]
						calls, dies := 0, 1
						switch name {
						case "delayed":
							dies = 0
						case "replayed and retried":
							dies = 2
						}
						subscribe := func() {
							f.Handle("strict", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
								if e.Payload.Number == 2 {
									seen.Add(2)
									return nil
								}
								switch calls++; {
								case name == "replayed and retried" && calls == 1:
									return nil
								case calls <= dies:
									return runtime.Permanent(ErrBoom)
								}
								seen.Add(1)
								return put
							}, runtime.WithStrictOrder(), twoHours(6))
						}
						subscribe()
						f.MustStart()
						come(f)
						time.Sleep(10 * time.Second)
						if restart {
							f.Stop()
							f = env.Reopen(t, f.Path)
							subscribe()
							f.MustStart()
						}
						f.Publish(2)
						time.Sleep(time.Minute)
						if all := seen.All(); len(all) < 2 || all[0] != 1 || all[len(all)-1] != 2 {
							t.Errorf("saw %v, want 2 after 1, which waits", all)
						}
					})
				})
			}
		}
	}
}

// twoHours has a delay of two hours between attempts.
func twoHours(attempts int) runtime.SubscribeOption {
	return runtime.WithRetry(retry.MaxAttempts(attempts), retry.WithBackoff(retry.Constant), retry.BaseDelay(2*time.Hour), retry.MaxDelay(2*time.Hour), retry.Jitter(0))
}

// publishDelayed publishes an order that is due in a second.
func (f *Fixture) publishDelayed(number int) {
	f.T.Helper()
	_, err := runtime.Publish(f.T.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: number}, runtime.WithDelay(time.Second))
	Must(f.T, err)
}

// All others are not exempt, however they were put off, and whether the process has ended meanwhile or not.
func (env *Env) TestAStrictOrderWaitsForWhateverWasPutOff(t *testing.T) {
	for _, name := range []string{"published", "replayed"} {
		for how, put := range map[string]error{"failed": ErrBoom, "snoozed": runtime.Snooze(2 * time.Hour)} {
			for when, restart := range map[string]bool{"in one life": false, "after a restart": true} {
				t.Run(name+", "+how+", "+when, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := env.Open(t)
						var seen Journal[string]
						replayed, puts := name == "replayed", 0
						subscribe := func() {
							f.Handle("strict", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
								seen.Add(fmt.Sprint(e.Payload.Number))
								if e.Payload.Number == 1 && e.Replayed == replayed && puts == 0 {
									puts++
									return put
								}
								return nil
							}, runtime.WithStrictOrder(), twoHours(6))
						}
						subscribe()
						f.MustStart()
						f.Publish(1)
						want := []string{"1", "1", "2"}
						if replayed {
							time.Sleep(time.Second)
							_, err := f.Replay(t.Context(), "strict", event.ReplayFilter{})
							Must(t, err)
							want = []string{"1", "1", "1", "2"}
						}
						time.Sleep(10 * time.Second)
						if restart {
							f.Stop()
							f = env.Reopen(t, f.Path)
							subscribe()
							f.MustStart()
						}
						f.Publish(2)
						time.Sleep(5 * time.Hour)
						if all := seen.All(); !slices.Equal(all, want) {
							t.Errorf("saw %v, want %v", all, want)
						}
					})
				})
			}
		}
	}
}

// Nobody else tells the worker when to ask for it again: there was more to read when the window was filled.
func (env *Env) TestAStrictOrderWhoseWindowIsFullGoesOnAfterACrashLoop(t *testing.T) {
	dispatch.WatchStalls = false
	defer func() { dispatch.WatchStalls = true }()
	env.hold(t, 8, 8, 8)
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		fails := 0
		open := func(work time.Duration) {
			f.Handle("strict", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if rest(ctx, work); ctx.Err() != nil {
					return ctx.Err()
				}
				if fails++; fails == 1 {
					return ErrBoom // its next attempt is the last one
				}
				seen.Add(e.Payload.Number)
				return nil
			}, runtime.WithStrictOrder(), runtime.WithConcurrency(4), runtime.WithRetry(retry.MaxAttempts(3), retry.BaseDelay(time.Second), retry.Jitter(0)))
			f.MustStart()
		}
		open(time.Hour)
		f.Publish(Numbers(1, 100)...)
		time.Sleep(time.Second)
		f = env.Reopen(t, f.Killed())
		open(time.Millisecond)
		time.Sleep(5 * time.Minute)
		if all := seen.All(); !slices.Equal(all, Numbers(1, 100)) {
			t.Errorf("saw %v", all)
		}
	})
}
