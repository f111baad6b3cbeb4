package inspection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// Mixed makes a file with events in every status: orders 1 and 2 handled, 3
// dead, 4 pending a retry, 5 being handled; Ada created, Bob delayed.
func (env *Env) Mixed(t *testing.T) *Fixture {
	f := env.Open(t)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	f.Subscribe("printer", func(number, _ int) error {
		switch number {
		case 3, 4:
			return fmt.Errorf("order %d: %w", number, ErrBroken)
		case 5:
			<-hold
		}
		return nil
	}, runtime.WithConcurrency(4))
	_, err := runtime.Subscribe(f.Bus, UserType, "mailer", func(context.Context, runtime.Event[User]) error { return nil })
	Must(t, err)
	f.MustStart()
	f.Publish(1, 2, 3)
	_, err = runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Ada"}, runtime.WithCorrelationID("job-7"))
	Must(t, err)
	_, err = runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Bob"}, runtime.WithDelay(time.Hour))
	Must(t, err)
	for _, n := range []int{4, 5} {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: n})
		Must(t, err)
	}
	time.Sleep(time.Second / 2)
	return f
}

func payloads(events []event.Event) (texts []string) {
	for _, e := range events {
		texts = append(texts, string(e.Payload)+" "+e.Status)
	}
	return texts
}

func (env *Env) TestEventsAreListedNewestFirstByTheQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := env.Mixed(t)
		const (
			one, two, three = `{"number":1} done`, `{"number":2} done`, `{"number":3} dlq`
			four, five      = `{"number":4} pending`, `{"number":5} processing`
			ada, bob        = `{"name":"Ada"} done`, `{"name":"Bob"} pending`
		)
		tests := []struct {
			name   string
			filter event.Filter
			want   []string
		}{
			{"all", event.Filter{}, []string{five, four, bob, ada, three, two, one}},
			{"a type", event.Filter{Types: []string{"user.created"}}, []string{bob, ada}},
			{"globs", event.Filter{Types: []string{"nothing.*", "order.*"}}, []string{five, four, three, two, one}},
			{"a type that never was", event.Filter{Types: []string{"order.eaten"}}, nil},
			{"handled ones", event.Filter{Status: event.StatusDone}, []string{ada, two, one}},
			{"pending ones", event.Filter{Status: event.StatusPending}, []string{four, bob}},
			{"those that run", event.Filter{Status: event.StatusProcessing}, []string{five}},
			{"dead ones", event.Filter{Status: event.StatusDLQ}, []string{three}},
			{"since a time", event.Filter{Since: began.Add(2 * time.Minute)}, []string{five, four, bob, ada, three}},
			{"until a time", event.Filter{Until: began.Add(2 * time.Minute)}, []string{two, one}},
			{"a text of the payload", event.Filter{Text: "Ada"}, []string{ada}},
			{"a text of the metadata", event.Filter{Text: "job-"}, []string{ada}},
			{"a text of an error", event.Filter{Text: "order 3: the printer"}, []string{three}},
			{"a correlation id", event.Filter{CorrelationID: "job-7"}, []string{ada}},
			{"part of a correlation id", event.Filter{CorrelationID: "job"}, nil},
			{"several things", event.Filter{Types: []string{"order.*"}, Status: event.StatusDone, Text: "1"}, []string{one}},
		}
		for _, test := range tests {
			events, next, err := f.File.Events(t.Context(), test.filter, event.Page{})
			Must(t, err)
			if got := payloads(events); !slices.Equal(got, test.want) || next != "" {
				t.Errorf("%s: got %q (next %q), want %q", test.name, got, next, test.want)
			}
		}
	})
}

// TestEventsAreChosenByTheStatesOfTheirDeliveries compares a filter with what each event says of its deliveries.
func (env *Env) TestEventsAreChosenByTheStatesOfTheirDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Mixed(t)
		_, err := runtime.SubscribePattern(f.Bus, "*", "late", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		Must(t, err)
		Must(t, f.File.PauseTypes(t.Context(), "order.*", ""))
		time.Sleep(time.Second)
		for _, n := range []int{8, 9} {
			Must(t, Second(runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: n})))
		}
		time.Sleep(Notice)
		all, _, err := f.File.Events(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		Must(t, Second(f.File.DiscardEvent(t.Context(), all[0].ID, "late", "not needed")))
		time.Sleep(Notice)
		found := map[string]int{}
		for _, subscriptions := range [][]string{nil, {"printer"}, {"mailer"}, {"late"}, {"printer", "late"}, {"nobody"}} {
			for _, state := range append(inspect.States(), "") {
				if len(subscriptions) == 0 && state == "" {
					continue
				}
				filter := event.Filter{Subscriptions: subscriptions, State: state}
				var want []uuid.UUID
				for _, e := range all {
					history, err := f.File.Event(t.Context(), e.ID)
					Must(t, err)
					if slices.ContainsFunc(history.Deliveries, func(d event.DeliveryState) bool {
						return (subscriptions == nil || slices.Contains(subscriptions, d.Subscription)) && (state == "" || d.State == state)
					}) {
						want = append(want, e.ID)
					}
				}
				var got []uuid.UUID
				page := event.Page{Limit: 2}
				for {
					part, err := f.File.SearchEvents(t.Context(), filter, page, 3)
					Must(t, err)
					for _, e := range part.Events {
						got = append(got, e.ID)
					}
					if page.After = part.Next; page.After == "" {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%v: found %v, want %v", filter, got, want)
				}
				listed, _, err := f.File.Events(t.Context(), filter, event.Page{})
				Must(t, err)
				if len(listed) != len(want) {
					t.Errorf("%v: listed %d, want %d", filter, len(listed), len(want))
				}
				found[state] += len(want)
			}
		}
		for _, state := range []string{event.StateRunning, event.StateWaiting, event.StateHeld, event.StateDone, event.StateDead, event.StateDiscarded} {
			if found[state] == 0 {
				t.Errorf("no delivery of the test is %s", state)
			}
		}
	})
}

func (env *Env) TestPagesFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Mixed(t)
		var all []string
		page := event.Page{Limit: 3}
		for rounds := 1; ; rounds++ {
			events, next, err := f.File.Events(t.Context(), event.Filter{Types: []string{"order.*"}}, page)
			Must(t, err)
			all = append(all, payloads(events)...)
			if page.After = next; page.After == "" {
				if rounds != 2 {
					t.Errorf("5 events came in %d pages of 3", rounds)
				}
				break
			}
			f.Publish(6) // not on a later page
		}
		if len(all) != 5 || !strings.HasPrefix(all[0], `{"number":5}`) || !strings.HasPrefix(all[4], `{"number":1}`) {
			t.Errorf("got %q", all)
		}
	})
}

func (env *Env) TestAQueryThatMakesNoSenseIsRefused(t *testing.T) {
	f := env.Open(t)
	for want, query := range map[string]struct {
		filter event.Filter
		page   event.Page
	}{
		"must be a whole segment":                {event.Filter{Types: []string{"order.pla*"}}, event.Page{}},
		`there is no status "dead": use one`:     {event.Filter{Status: "dead"}, event.Page{}},
		`there is no state "dlq": use one`:       {event.Filter{State: "dlq"}, event.Page{}},
		"the limit is -1":                        {event.Filter{}, event.Page{Limit: -1}},
		`"page 2" is not the end of a page: use`: {event.Filter{}, event.Page{After: "page 2"}},
	} {
		_, _, err := f.File.Events(t.Context(), query.filter, query.page)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func (env *Env) TestAnEventShowsTheStateOfEachDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		hold := make(chan struct{})
		defer close(hold)
		f.Subscribe("dead", Fail)
		f.Subscribe("done", func(_, attempt int) error {
			if attempt == 1 {
				return ErrBroken
			}
			return nil
		})
		f.Subscribe("discarded", func(int, int) error { return runtime.Discard("a test order") })
		f.Subscribe("running", func(int, int) error { <-hold; return nil }, runtime.WithTimeout(time.Hour))
		f.Subscribe("waiting", func(int, int) error { return runtime.Snooze(time.Hour) })
		f.Subscribe("pending", Fine)
		Must(t, f.PauseSubscription(t.Context(), "pending", ""))
		f.MustStart()
		began := time.Now().UTC()
		receipt := f.Publish(1)[0]
		f.Subscribe("younger", Fine)

		got, err := f.File.Event(t.Context(), receipt.ID)
		Must(t, err)
		var lines []string
		for _, d := range got.Deliveries {
			line := fmt.Sprintf("%s %s %d counted of %d failures", d.Subscription, d.State, d.Counted, d.Failures)
			if d.Reason != "" {
				line += ", " + d.Reason
			}
			lines = append(lines, line)
		}
		want := []string{
			"dead dead 2 counted of 2 failures, max_attempts",
			"discarded discarded 0 counted of 0 failures, a test order",
			"done done 0 counted of 1 failures",
			"pending pending 0 counted of 0 failures",
			"running running 0 counted of 0 failures",
			"waiting waiting 0 counted of 0 failures",
		}
		for i, line := range want {
			if i >= len(lines) || !strings.HasSuffix(lines[i], line) {
				t.Fatalf("the deliveries are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
			}
		}
		dead, waiting := got.Deliveries[0], got.Deliveries[5]
		if len(got.Deliveries) != 6 {
			t.Errorf("there are %d deliveries: a younger subscription is not concerned", len(got.Deliveries))
		}
		if a := dead.Attempts[0]; a.Kind != "error" || a.Error != ErrBroken.Error() || a.ErrorType != "*errors.errorString" || !a.Started.Equal(began) {
			t.Errorf("the first attempt is %+v", a)
		}
		if dead.Settled.Sub(began).Round(time.Second) != time.Second || waiting.Due.Sub(began) != time.Hour {
			t.Errorf("dead since %v, waiting until %v", dead.Settled.Sub(began), waiting.Due.Sub(began))
		}
		if got.Status != event.StatusProcessing || got.Type != "order.placed" || string(got.Payload) != `{"number":1}` || got.Failures != 2 {
			t.Errorf("the event is %+v", got.Event)
		}
	})
}

func (env *Env) TestAHeldEventIsShownAsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		_, err := runtime.SubscribePattern(f.Bus, "*", "mirror", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		Must(t, err)
		f.MustStart()
		Must(t, f.File.PauseTypes(t.Context(), "order.*", ""))
		time.Sleep(time.Second)
		receipt := f.Publish(1)[0]
		got, err := f.File.Event(t.Context(), receipt.ID)
		Must(t, err)
		if len(got.Deliveries) != 1 || got.Deliveries[0].State != event.StateHeld || got.Status != event.StatusPending {
			t.Errorf("the deliveries are %+v", got.Deliveries)
		}
	})
}

func (env *Env) TestAnEventIsFoundByTheBeginningOfItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		receipts := f.Publish(1, 2)
		one := receipts[0].ID
		for _, prefix := range []string{one.String(), strings.ToUpper(one.String()), one.String()[:18], strings.ReplaceAll(one.String(), "-", "")} {
			if got, err := f.File.FindEvent(t.Context(), prefix); got != one || err != nil {
				t.Errorf("Find(%s) = %s, %v", prefix, got, err)
			}
		}
		var ambiguous *inspect.AmbiguousError
		if _, err := f.File.FindEvent(t.Context(), one.String()[:5]); !errors.As(err, &ambiguous) || len(ambiguous.IDs) != 2 || ambiguous.More {
			t.Errorf("the beginning of both: %v", err)
		}
		var missing *event.NotFoundError
		if _, err := f.File.FindEvent(t.Context(), "ffff"); !errors.As(err, &missing) || missing.Name != "ffff" {
			t.Errorf("the beginning of none: %v", err)
		}
		if _, err := f.File.Event(t.Context(), uuid.Max); !errors.As(err, &missing) {
			t.Errorf("an event that is not there: %v", err)
		}
		for _, text := range []string{"", "xyz", strings.Repeat("0", 33)} {
			if _, err := f.File.FindEvent(t.Context(), text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
				t.Errorf("Find(%q): %v", text, err)
			}
		}
	})
}

func (env *Env) TestACursorOfAnotherListOrVersionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("worker", Fail)
		f.MustStart()
		f.Publish(1, 2)
		_, ofEvents, err := f.File.Events(t.Context(), event.Filter{}, event.Page{Limit: 1})
		Must(t, err)
		_, ofDeadLetters, err := f.File.DeadLetters(t.Context(), event.Filter{}, event.Page{Limit: 1})
		Must(t, err)
		_, number, found := strings.Cut(ofEvents, ".")
		if !found || number == "" {
			t.Fatalf("the cursor %q has no version", ofEvents)
		}
		for _, after := range []string{ofDeadLetters, number, "3." + number, ofEvents + "AA"} {
			_, _, err := f.File.Events(t.Context(), event.Filter{}, event.Page{After: after})
			var wrong *event.PageError
			if !errors.As(err, &wrong) || wrong.After != after {
				t.Errorf("after %q: %v, want PageError", after, err)
			}
		}
		if events, _, err := f.File.Events(t.Context(), event.Filter{}, event.Page{After: ofEvents}); err != nil || len(events) != 1 {
			t.Errorf("after its own cursor: %d events, %v", len(events), err)
		}
	})
}
