package conformance

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// wireNames are names on the wire that a file, a pattern or the subjects of a server could confuse.
var wireNames = []string{"OrderPlaced", "orderplaced", "com.acme.Order-Placed", "com.acme.größe.🎉", "a>b", "a_b", ">", "#1/x:y@z", "日本'語", "%2A", "x.$y", "<b>&amp;`~|;="}

func (env *Env) TestEventsOfAnyNameAreDeliveredAndFoundByIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var types []*runtime.EventType[note]
		var all []runtime.Definition
		for _, name := range wireNames {
			types = append(types, noteType(name, []string{"former." + name}))
			all = append(all, types[len(types)-1])
		}
		path, catalogue := env.Target(t), runtime.NewCatalogue(all...)
		var typed, byPattern, dead Journal[string]
		env.program(t, path, catalogue, func(f *Fixture) {
			for i, one := range types {
				reading(f, one, fmt.Sprint("reader-", i), &typed)
				_, err := runtime.SubscribeDead(f.Bus, one, fmt.Sprint("morgue-", i), func(_ context.Context, e runtime.Event[runtime.DeadLetter[note]]) error {
					dead.Add(e.Type)
					return nil
				})
				Must(t, err)
			}
			_, err := runtime.SubscribePattern(f.Bus, "com.acme.*", "acme", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				byPattern.Add(e.Type)
				return nil
			})
			Must(t, err)
			f.MustStart()
			for i, one := range types {
				_, err := runtime.Publish(t.Context(), f.Bus, one, note{i}, runtime.WithDedupeKey("same"))
				Must(t, err)
				f.Idle()
				if again, err := runtime.Publish(t.Context(), f.Bus, one, note{i}, runtime.WithDedupeKey("same")); err != nil || !again.Duplicate {
					t.Errorf("%s: its idempotency key is not known: %v", one.Name(), err)
				}
			}
		})
		var want []string
		for i, name := range wireNames {
			want = append(want, fmt.Sprint(name, " ", i))
		}
		if diff := cmp.Diff(want, typed.All()); diff != "" {
			t.Errorf("by type (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wireNames[2:4], byPattern.All()); diff != "" {
			t.Errorf("by pattern (-want +got):\n%s", diff)
		}
		env.program(t, path, catalogue, func(f *Fixture) {
			for i, one := range types {
				reading(f, one, fmt.Sprint("reader-", i), &typed)
				_, err := runtime.SubscribeDead(f.Bus, one, fmt.Sprint("morgue-", i), func(_ context.Context, e runtime.Event[runtime.DeadLetter[note]]) error {
					dead.Add(e.Type)
					return nil
				})
				Must(t, err)
				publishAs(f, one, note{-1})
			}
			f.MustStart()
			time.Sleep(time.Minute)
			synctest.Wait()
			inspector, err := env.OpenFile(t.Context(), path)
			Must(t, err)
			defer inspector.Close()
			for _, name := range wireNames {
				for _, filter := range []string{name, "$dead." + name} {
					if events, _, err := inspector.Events(t.Context(), event.Filter{Types: []string{filter}}, event.Page{}); err != nil || len(events) == 0 {
						t.Errorf("%s: %d events (%v)", filter, len(events), err)
					} else if events[0].Type != filter {
						t.Errorf("%s: found %s", filter, events[0].Type)
					}
				}
				letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{Types: []string{name}}, event.Page{})
				if err != nil || len(letters) != 1 || letters[0].Type != name {
					t.Errorf("%s: dead letters %v (%v)", name, letters, err)
				}
			}
		})
		announced := map[string]int{}
		for _, one := range dead.All() {
			announced[one]++
		}
		for _, name := range wireNames {
			if announced["$dead."+name] != 1 || len(announced) != len(wireNames) {
				t.Errorf("dead letters were announced as %v", announced)
				break
			}
		}
		env.RequireSound(t, path)
	})
}
