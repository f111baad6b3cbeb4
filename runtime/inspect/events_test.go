package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestTheStatusOfAnEventIsThatOfTheView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Mixed(t)
		events, _, err := f.File.Events(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprintf("%s|%s|%d", e.ID, e.Status, e.Failures))
		}
		want := query(t, f.Path, "SELECT id, status, retry_count FROM events ORDER BY id DESC")
		slices.SortFunc(got, func(a, b string) int { return strings.Compare(b, a) })
		if !slices.Equal(got, want) || len(want) != 7 {
			t.Errorf("got  %q\nview %q", got, want)
		}
	})
}

func TestADelayedEventThatWasHandledIsDoneWhereverItsSubscriptionStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		f.MustStart()
		receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 1}, runtime.WithDelay(time.Minute))
		Must(t, err)
		time.Sleep(2 * time.Minute)
		f.Stop()
		query(t, f.Path, "UPDATE busgen_subscriptions SET cursor = 0")
		got, err := f.File.Event(t.Context(), receipt.ID)
		Must(t, err)
		if got.Status != event.StatusDone || got.Deliveries[0].State != event.StateDone || got.Due.Sub(got.PublishedAt) != time.Minute {
			t.Errorf("the event is %+v", got)
		}
		if report, err := f.File.Check(t.Context(), nil); err != nil || report.Open != 0 {
			t.Errorf("%d deliveries are open (%v), want none", report.Open, err)
		}
	})
}
