package inspection

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/event"
)

func (env *Env) TestASearchOfEventsGoesOnWhereItHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Mixed(t)
		for _, filter := range []event.Filter{
			{}, {Types: []string{"user.created"}}, {Types: []string{"order.eaten"}}, {Text: "Ada"}, {Text: "nowhere"}, {CorrelationID: "job-7"},
			{Status: event.StatusDone}, {Status: event.StatusPending}, {Status: event.StatusProcessing}, {Status: event.StatusDLQ},
			{Subscriptions: []string{"printer"}}, {Subscriptions: []string{"mailer"}, State: event.StateWaiting}, {State: event.StateDone},
		} {
			want, _, err := f.File.Events(t.Context(), filter, event.Page{})
			Must(t, err)
			for most := 1; most < 12; most++ {
				for _, limit := range []int{1, 3, 50} {
					var got []event.Event
					page := event.Page{Limit: limit}
					for pages := 1; ; pages++ {
						part, err := f.File.SearchEvents(t.Context(), filter, page, most)
						Must(t, err)
						if !part.Back.IsZero() && (part.Next == "" || len(part.Events) > most) {
							t.Errorf("%v, %d at a time: %d events back to %v, next %q", filter, most, len(part.Events), part.Back, part.Next)
						}
						got = append(got, part.Events...)
						if page.After = part.Next; page.After == "" || pages == 40 {
							break
						}
					}
					if page.After != "" || !slices.Equal(payloads(got), payloads(want)) {
						t.Errorf("%v, %d at a time, %d on a page: got %q (next %q), want %q", filter, most, limit, payloads(got), page.After, payloads(want))
					}
				}
			}
		}
	})
}

func (env *Env) TestASearchOfEventsLooksThroughNoMoreThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Mixed(t) // Ada is the fourth of seven
		all, _, err := f.File.Events(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		for most, want := range map[int]int{1: 0, 3: 0, 4: 1, 100: 1} {
			part, err := f.File.SearchEvents(t.Context(), event.Filter{Text: "Ada"}, event.Page{}, most)
			Must(t, err)
			if len(part.Events) != want {
				t.Errorf("%d events were looked through, and %d found", most, len(part.Events))
			}
			if most < len(all) && !part.Back.Equal(all[most-1].PublishedAt) || most > len(all) && (!part.Back.IsZero() || part.Next != "") {
				t.Errorf("%d events were looked through, back to %v, next %q", most, part.Back, part.Next)
			}
		}
		for _, most := range []int{0, -1} {
			if _, err := f.File.SearchEvents(t.Context(), event.Filter{}, event.Page{}, most); err == nil {
				t.Errorf("a search through %d events is none", most)
			}
		}
	})
}
