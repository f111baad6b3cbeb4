package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// A parcel is an event of which two programs know different versions. Its number has another name in the second.
type (
	parcelV1 struct {
		Order  string `json:"order"`
		Number int    `json:"number"`
	}
	parcelV2 struct {
		Order string `json:"order"`
		N     int    `json:"n"`
	}
)

func (parcelV1) Validate() error { return nil }

func (parcelV2) Validate() error { return nil }

// parcels are both programs, with settings.
type parcels struct {
	v1 *runtime.EventType[parcelV1]
	v2 *runtime.EventType[parcelV2]

	old, new *runtime.Catalogue
}

func parcelsWith(s declare.Settings) (p parcels) {
	p.v1 = runtime.Define(runtime.Spec[parcelV1]{Name: "parcel.sent", Settings: s, PartitionBy: func(p parcelV1) string { return p.Order }})
	p.v2 = runtime.Define(runtime.Spec[parcelV2]{Name: "parcel.sent", Settings: s, PartitionBy: func(p parcelV2) string { return p.Order }, Version: 2,
		Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(old parcelV1) (parcelV2, error) { return parcelV2{old.Order, old.Number}, nil })}})
	p.old, p.new = runtime.NewCatalogue(p.v1, PlacedType), runtime.NewCatalogue(p.v2, PlacedType)
	return p
}

func holding(after time.Duration) declare.Settings {
	s := Within(30*time.Second, Exact(retry.MaxAttempts(2)))
	s.HoldUnknown = after
	return s
}

// subscribed makes the subscriptions of both programs in a bus of one of them, which says what it saw.
func (p parcels) subscribed(t *testing.T, f *Fixture, seen *Journal[string], opts ...runtime.SubscribeOption) {
	t.Helper()
	note := func(order string, number, attempt int) { seen.Add(fmt.Sprintf("%s%d.%d", order, number, attempt)) }
	opts = append(opts, runtime.FromBeginning())
	if f.Catalogue() == p.old {
		_, err := runtime.Subscribe(f.Bus, p.v1, "reader", func(_ context.Context, e runtime.Event[parcelV1]) error {
			note(e.Payload.Order, e.Payload.Number, e.Attempt)
			return nil
		}, opts...)
		Must(t, err)
		return
	}
	_, err := runtime.Subscribe(f.Bus, p.v2, "reader", func(_ context.Context, e runtime.Event[parcelV2]) error {
		note(e.Payload.Order, e.Payload.N, e.Attempt)
		return nil
	}, opts...)
	Must(t, err)
}

// heldOf returns how much is held of a subscription, and what for its version.
func (f *Fixture) heldOf(subscription string) (held int, newer []event.Newer) {
	f.T.Helper()
	inspector, err := f.Env.OpenFile(f.T.Context(), f.Path)
	Must(f.T, err)
	defer inspector.Close()
	status, err := inspector.Status(f.T.Context())
	Must(f.T, err)
	for _, s := range status.Subscriptions {
		if s.Name == subscription {
			return s.Held, s.Newer
		}
	}
	f.T.Fatalf("there is no subscription %s", subscription)
	return 0, nil
}

func (env *Env) TestAnEventOfANewerVersionIsHeldUntilAProgramTakesOverThatKnowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, path := parcelsWith(holding(24*time.Hour)), env.Target(t)
		var seen Journal[string]
		env.program(t, path, p.new, func(f *Fixture) { publishAs(f, p.v2, parcelV2{"a", 1}, parcelV2{"b", 2}) })
		held := time.Now()
		for range 2 { // a restart changes nothing
			env.program(t, path, p.old, func(f *Fixture) {
				p.subscribed(t, f, &seen)
				f.MustStart()
				publishAs(f, p.v1, parcelV1{"a", 3})
				time.Sleep(time.Hour)
				n, newer := f.heldOf("reader")
				want := []event.Newer{{Type: "parcel.sent", Version: 2, Events: 2, Since: held.UTC()}}
				if diff := cmp.Diff(want, newer, cmp.Transformer("about", func(t time.Time) int64 { return t.UnixMilli() })); n != 2 || diff != "" {
					t.Errorf("%d are held: %s", n, diff)
				}
				for _, s := range f.Stats().Subscriptions {
					if s.Failed+s.Dead != 0 || s.Handled != 1 {
						t.Errorf("the counts are %+v", s)
					}
				}
				warnings := f.Log.Level(t, "WARN")
				if len(warnings) == 0 || warnings[0]["version"] != 2.0 || warnings[0]["known"] != 1.0 || warnings[0]["event_type"] != "parcel.sent" ||
					slices.ContainsFunc(warnings[1:], func(line map[string]any) bool { return strings.Contains(line["msg"].(string), "newer") }) {
					t.Errorf("the log says %v", warnings)
				}
			})
		}
		env.program(t, path, p.new, func(f *Fixture) {
			p.subscribed(t, f, &seen)
			f.MustStart()
			f.Idle()
			if n, newer := f.heldOf("reader"); n != 0 || len(newer) != 0 {
				t.Errorf("%d are held: %v", n, newer)
			}
		})
		if got, want := seen.All(), []string{"a3.1", "a3.1", "a1.1", "b2.1"}; !slices.Equal(got, want) {
			t.Errorf("seen: %v, want %v", got, want)
		}
		if letters := env.Dead(t, path); len(letters) != 0 {
			t.Errorf("dead letters: %v", letters)
		}
	})
}

func (env *Env) TestAnEventThatNoProgramKnowsIsADeadLetterAfterHoldUnknown(t *testing.T) {
	for name, after := range map[string]time.Duration{"an hour": time.Hour, "off": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, path := parcelsWith(holding(after)), env.Target(t)
				var seen Journal[string]
				env.program(t, path, p.new, func(f *Fixture) { publishAs(f, p.v2, parcelV2{"a", 1}) })
				for range 2 { // what is held is held since then, also after a restart
					env.program(t, path, p.old, func(f *Fixture) {
						p.subscribed(t, f, &seen)
						f.MustStart()
						time.Sleep(after/2 - after/100)
						synctest.Wait()
						if after > 0 {
							if letters := env.Dead(t, path); len(letters) != 0 {
								t.Errorf("dead too early: %v", letters)
							}
						}
					})
				}
				env.program(t, path, p.old, func(f *Fixture) {
					p.subscribed(t, f, &seen)
					f.MustStart()
					time.Sleep(after/50 + time.Second)
				})
				letters := env.Dead(t, path)
				if len(letters) != 1 || letters[0].Reason != "decode" || letters[0].Failures != 1 || letters[0].Version != 2 ||
					!strings.Contains(letters[0].LastAttempt().Error, "published as version 2, and this program knows versions up to 1") {
					t.Fatalf("dead letters: %+v", letters)
				}
				if diff := cmp.Diff([]string(nil), seen.All()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func (env *Env) TestAnEventIsHeldForSevenDaysByDefaultButNotBeyondItsExpiry(t *testing.T) {
	for name, test := range map[string]struct{ expires, left time.Duration }{"by default": {0, 7 * 24 * time.Hour}, "with an expiry": {time.Hour, time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := declare.DefaultSettings()
				s.ExpiresAfter = test.expires
				p, path := parcelsWith(s), env.Target(t)
				var seen Journal[string]
				var id uuid.UUID
				env.program(t, path, p.new, func(f *Fixture) {
					receipt, err := runtime.Publish(t.Context(), f.Bus, p.v2, parcelV2{"a", 1})
					Must(t, err)
					id = receipt.ID
				})
				env.program(t, path, p.old, func(f *Fixture) {
					p.subscribed(t, f, &seen)
					f.MustStart()
					time.Sleep(time.Minute)
					inspector, err := env.OpenFile(t.Context(), path)
					Must(t, err)
					defer inspector.Close()
					history, err := inspector.Event(t.Context(), id)
					Must(t, err)
					one := history.Deliveries[0]
					if one.State != "held" || one.Held.IsZero() || one.Due.Sub(one.Held).Round(time.Second) != test.left {
						t.Errorf("the delivery is %+v", one)
					}
					if test.expires > 0 {
						time.Sleep(test.expires)
					}
				})
				if letters := env.Dead(t, path); test.expires > 0 && (len(letters) != 1 || letters[0].Reason != "expired") || test.expires == 0 && len(letters) != 0 {
					t.Errorf("dead letters: %+v", letters)
				}
			})
		})
	}
}

func (env *Env) TestAHeldEventKeepsItsPlaceInAStrictOrder(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"one worker":   {runtime.WithStrictOrder()},
		"four workers": {runtime.WithStrictOrder(), runtime.WithConcurrency(4)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, path := parcelsWith(holding(24*time.Hour)), env.Target(t)
				var seen Journal[string]
				env.program(t, path, p.old, func(f *Fixture) { publishAs(f, p.v1, parcelV1{"a", 1}, parcelV1{"b", 1}) })
				env.program(t, path, p.new, func(f *Fixture) { publishAs(f, p.v2, parcelV2{"a", 2}) })
				env.program(t, path, p.old, func(f *Fixture) { publishAs(f, p.v1, parcelV1{"a", 3}, parcelV1{"b", 3}) })
				for range 2 {
					env.program(t, path, p.old, func(f *Fixture) {
						p.subscribed(t, f, &seen, opts...)
						f.MustStart()
						time.Sleep(time.Hour)
					})
				}
				got := seen.All()
				slices.Sort(got)
				if want := []string{"a1.1", "b1.1", "b3.1"}; !slices.Equal(got, want) {
					t.Errorf("the old program saw %v, want %v", got, want)
				}
				seen = Journal[string]{}
				env.program(t, path, p.new, func(f *Fixture) {
					p.subscribed(t, f, &seen, opts...)
					f.MustStart()
					f.Idle()
				})
				if got, want := seen.All(), []string{"a2.1", "a3.1"}; !slices.Equal(got, want) {
					t.Errorf("the new program saw %v, want %v", got, want)
				}
			})
		})
	}
}

func (env *Env) TestWhoeverReadsPayloadsIsSparedANewerVersionAndWhoDoesNotGetsIt(t *testing.T) {
	type subscriber func(p parcels, f *Fixture, seen *Journal[string]) error
	note := func(seen *Journal[string], version int) { seen.Add(fmt.Sprint(version)) }
	for name, test := range map[string]struct {
		subscribe subscriber
		want      string // what the program with version 1 sees of events of versions 1 and 2
		held      int
	}{
		"a batch": {func(p parcels, f *Fixture, seen *Journal[string]) error {
			_, err := runtime.SubscribeBatch(f.Bus, p.v1, "reader", func(_ context.Context, all []runtime.Event[parcelV1]) error {
				for _, e := range all {
					note(seen, e.Version)
				}
				return nil
			}, runtime.FromBeginning())
			return err
		}, "[1]", 1},
		"a group": {func(p parcels, f *Fixture, seen *Journal[string]) error {
			_, err := runtime.SubscribePattern(f.Bus, "parcel.sent", "raw", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				note(seen, e.Version)
				return nil
			}, runtime.FromBeginning(), runtime.InGroup("reader"))
			if err == nil {
				_, err = runtime.Subscribe(f.Bus, p.v1, "typed", func(_ context.Context, e runtime.Event[parcelV1]) error {
					note(seen, e.Version)
					return nil
				}, runtime.FromBeginning(), runtime.InGroup("reader"))
			}
			return err
		}, "[1 1]", 1},
		"a namespace": {func(p parcels, f *Fixture, seen *Journal[string]) error {
			_, err := runtime.SubscribeNamespace(f.Bus, "parcel.*", "reader", func(_ context.Context, e runtime.Event[runtime.Payload]) error {
				note(seen, e.Version)
				return nil
			}, runtime.FromBeginning())
			return err
		}, "[1]", 1},
		"a pattern": {func(p parcels, f *Fixture, seen *Journal[string]) error {
			_, err := runtime.SubscribePattern(f.Bus, "parcel.*", "reader", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				note(seen, e.Version)
				return nil
			}, runtime.FromBeginning())
			return err
		}, "[1 2]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, path := parcelsWith(holding(24*time.Hour)), env.Target(t)
				env.program(t, path, p.old, func(f *Fixture) { publishAs(f, p.v1, parcelV1{"a", 1}) })
				env.program(t, path, p.new, func(f *Fixture) { publishAs(f, p.v2, parcelV2{"b", 2}) })
				var seen Journal[string]
				env.program(t, path, p.old, func(f *Fixture) {
					Must(t, test.subscribe(p, f, &seen))
					f.MustStart()
					time.Sleep(time.Hour)
					if n, _ := f.heldOf("reader"); n != test.held {
						t.Errorf("%d are held, want %d", n, test.held)
					}
				})
				if got := fmt.Sprint(seen.All()); got != test.want {
					t.Errorf("saw %v, want %v", got, test.want)
				}
				if letters := env.Dead(t, path); len(letters) != 0 {
					t.Errorf("dead letters: %v", letters)
				}
			})
		})
	}
}

func (env *Env) TestAnEphemeralSubscriptionDropsAnEventOfANewerVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, path := parcelsWith(holding(24*time.Hour)), env.Target(t)
		f := env.ReopenWith(t, path, p.old)
		other := env.ReopenWith(t, path, p.new)
		var seen Journal[int]
		_, err := runtime.Subscribe(f.Bus, p.v1, "reader", func(_ context.Context, e runtime.Event[parcelV1]) error {
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.Ephemeral())
		Must(t, err)
		f.MustStart()
		publishAs(other, p.v2, parcelV2{"a", 2})
		publishAs(f, p.v1, parcelV1{"a", 3})
		time.Sleep(time.Minute)
		if got := seen.All(); !slices.Equal(got, []int{3}) || len(f.Log.Level(t, "ERROR")) != 1 {
			t.Errorf("saw %v; the log says %v", got, f.Log.Level(t, "ERROR"))
		}
	})
}

func (env *Env) TestAPauseOfATypeAndAHoldForItsVersionEndEachForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, path := parcelsWith(holding(24*time.Hour)), env.Target(t)
		var seen Journal[string]
		env.program(t, path, p.new, func(f *Fixture) { publishAs(f, p.v2, parcelV2{"a", 1}) })
		env.program(t, path, p.old, func(f *Fixture) {
			p.subscribed(t, f, &seen)
			_, err := runtime.Subscribe(f.Bus, PlacedType, "other", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			Must(t, err)
			Must(t, f.PauseTypes(t.Context(), "parcel.*", ""))
			f.MustStart()
			time.Sleep(time.Minute)
			Must(t, f.ResumeTypes(t.Context(), "parcel.*"))
			time.Sleep(time.Minute)
			if n, newer := f.heldOf("reader"); n != 1 || len(newer) != 1 {
				t.Errorf("after the pause %d are held: %v", n, newer)
			}
			Must(t, f.PauseTypes(t.Context(), "parcel.*", ""))
		})
		env.program(t, path, p.new, func(f *Fixture) {
			p.subscribed(t, f, &seen)
			f.MustStart()
			time.Sleep(time.Minute)
			if got := seen.All(); len(got) != 0 {
				t.Errorf("saw %v of a paused type", got)
			}
			Must(t, f.ResumeTypes(t.Context(), "parcel.*"))
			f.Idle()
			if got := seen.All(); !slices.Equal(got, []string{"a1.1"}) {
				t.Errorf("saw %v", got)
			}
		})
	})
}

func (env *Env) TestAHeldEventOfANewerVersionCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, path := parcelsWith(holding(24*time.Hour)), env.Target(t)
		var seen Journal[string]
		var receipt *runtime.Receipt
		env.program(t, path, p.new, func(f *Fixture) {
			var err error
			receipt, err = runtime.Publish(t.Context(), f.Bus, p.v2, parcelV2{"a", 1})
			Must(t, err)
		})
		env.program(t, path, p.old, func(f *Fixture) {
			p.subscribed(t, f, &seen, runtime.WithStrictOrder())
			f.MustStart()
			publishAs(f, p.v1, parcelV1{"a", 2})
			time.Sleep(time.Minute)
			if got := seen.All(); len(got) != 0 {
				t.Errorf("%v has overtaken what is held", got)
			}
			Must(t, f.Cancel(t.Context(), receipt.ID))
			f.Idle()
			if got := seen.All(); !slices.Equal(got, []string{"a2.1"}) {
				t.Errorf("saw %v", got)
			}
		})
	})
}

func (env *Env) TestHealthNamesTheVersionThatIsHeldAndIsUnwellAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, path := parcelsWith(holding(24*time.Hour)), env.Target(t)
		var seen Journal[string]
		var changes Journal[string]
		env.program(t, path, p.new, func(f *Fixture) { publishAs(f, p.v2, parcelV2{"a", 1}, parcelV2{"b", 2}) })
		f := env.ReopenWith(t, path, p.old, runtime.WithHealth(observe.DefaultHealth(), func(c observe.HealthCheck) {
			changes.Add(fmt.Sprintf("%s %v: %d, mostly %s", c.Name, c.Exceeded, c.Samples, c.Mostly))
		}))
		p.subscribed(t, f, &seen)
		f.MustStart()
		time.Sleep(time.Minute)
		status := f.Health()
		if !status.Healthy || len(status.Newer) != 1 || status.Newer[0].Type != "parcel.sent" || status.Newer[0].Version != 2 ||
			status.Newer[0].Events != 2 || time.Since(status.Newer[0].Since).Round(time.Second) != time.Minute {
			t.Errorf("after a minute the health is %+v", status)
		}
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"newer_versions true: 2, mostly parcel.sent version 2"}, changes.All()); diff != "" || f.Health().Healthy {
			t.Error("after an hour: ", diff)
		}
		lags, err := f.Lag(t.Context())
		Must(t, err)
		if diff := cmp.Diff(status.Newer, lags[0].Newer); diff != "" || lags[0].Held != 2 {
			t.Error("the lag: ", diff)
		}
		f.Stop()
		env.program(t, path, p.new, func(f *Fixture) {
			p.subscribed(t, f, &seen)
			f.MustStart()
			f.Idle()
			time.Sleep(time.Minute)
			if status := f.Health(); !status.Healthy || len(status.Newer) != 0 {
				t.Errorf("in the end the health is %+v", status)
			}
		})
	})
}
