package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAnEditedDeadLetterBecomesANewEventForItsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		f.Failing(func(n int) error {
			if n == 1 {
				return Broken(n)
			}
			return nil
		})
		var mirrored []string
		_, err := runtime.SubscribePattern(f.Bus, "job.*", "mirror", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			mirrored = append(mirrored, string(e.Payload))
			return nil
		})
		Must(t, err)
		receipt := f.Publish(1)[0]
		i := f.Inspect(Editing)
		letter := i.Newest()

		id, err := i.Edit(t.Context(), letter.Key, []byte(` { "number" : 7 } `))
		Must(t, err)
		f.Settle()
		if !slices.Equal(f.Seen(), []int{7}) || len(mirrored) != 1 {
			t.Errorf("the worker has handled %v, the mirror %v; want 7 for the worker alone", f.Seen(), mirrored)
		}
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Discarded || d.Reason != "edited into "+id.String() {
			t.Errorf("the outcome of the old event is %+v", outcome)
		}
		if got := queryRow(t, f.Path, "SELECT type, payload, metadata, status FROM events WHERE id = '"+id.String()+"'"); got != `job.queued|{"number":7}|{"from":"test"}|done` {
			t.Errorf("the new event is %s", got)
		}
		if i.Count() != 0 {
			t.Error("the letter is still there")
		}
		var missing *event.NotFoundError
		if _, err := i.DeadLetter(t.Context(), letter.Key); !errors.As(err, &missing) || !strings.Contains(err.Error(), "edited into "+id.String()) {
			t.Errorf("the old letter: %v", err)
		}
		if got, want := i.Actions(), "ada edit 1: edited into "+id.String(); !slices.Equal(got, []string{want}) {
			t.Errorf("the audit says %q", got)
		}
	})
}

func TestAnEditedEventIsNotDeliveredToLaterSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1)
		i := f.Inspect(Editing)
		f.Repair()
		Must(t, Second(i.Edit(t.Context(), i.Newest().Key, []byte(`{"number":7}`))))
		f.Settle()
		var seen []string
		Must(t, Second(runtime.SubscribePattern(f.Bus, "*", "late", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen = append(seen, string(e.Payload))
			return nil
		}, runtime.FromBeginning())))
		f.Idle()
		if !slices.Equal(seen, []string{`{"number":1}`}) {
			t.Errorf("the late subscription has seen %v, want the event as it was published", seen)
		}
		if got := queryRow(t, f.Path, "SELECT count(*) FROM events WHERE status <> 'done'"); got != "0" {
			t.Errorf("%s events are not done", got)
		}
	})
}

func TestAnEditedEventSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1)
		i := f.Inspect(Editing)
		f.Stop()
		id, err := i.Edit(t.Context(), i.Newest().Key, []byte(`{"number":7}`))
		Must(t, err)
		if got := queryRow(t, f.Path, "SELECT status FROM events WHERE id = '"+id.String()+"'"); got != "pending" {
			t.Errorf("the new event is %s", got)
		}
		f.Repair()
		f.Reopen()
		f.Idle()
		if !slices.Equal(f.Seen(), []int{7}) {
			t.Errorf("handled %v, want 7 only", f.Seen())
		}
	})
}

func TestAnInvalidPayloadIsRefusedAndNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1)
		i := f.Inspect(Editing)
		letter := i.Newest()
		for payload, want := range map[string]string{
			`{"number":"x"}`:         "number: is a JSON string, which does not fit int",
			`{"number":-1}`:          "number: is negative",
			`{}`:                     "number: is missing",
			`{"number":1,"nubmer":}`: "invalid character",
			`{"number":1,"extra":2}`: "extra: is not a field",
			``:                       "unexpected end",
		} {
			id, err := i.Edit(t.Context(), letter.Key, []byte(payload))
			var invalid *inspect.InvalidPayloadError
			if !errors.As(err, &invalid) || invalid.Key != letter.Key || invalid.EventType != "job.queued" || !strings.Contains(err.Error(), want) || id != uuid.Nil {
				t.Errorf("%s: %v, want %s", payload, err, want)
			}
			var cause *runtime.InvalidPayloadError
			if !errors.As(err, &cause) {
				t.Errorf("%s: the error of the check is lost: %v", payload, err)
			}
		}
		if got := i.List(event.Filter{}); fmt.Sprint(got) != fmt.Sprint([]event.DeadLetter{letter}) || i.Actions() != nil ||
			queryRow(t, f.Path, "SELECT count(*) FROM busgen_log") != "1" {
			t.Errorf("the letters are %+v", got)
		}
	})
}

func TestEditingADeadLetterThatWasRetriedMeanwhileIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1)
		f.Repair()
		var i *Inspector
		// The check runs after the letter was found and before it is edited.
		i = f.Inspect(inspect.WithEditing(func(string, int, []byte) error {
			Must(t, Second(i.Retry(t.Context(), inspect.Selection{})))
			f.Settle()
			return nil
		}))
		var missing *event.NotFoundError
		if _, err := i.Edit(t.Context(), i.Newest().Key, []byte(`{"number":7}`)); !errors.As(err, &missing) || !strings.Contains(err.Error(), "it was handled") {
			t.Errorf("got %v", err)
		}
		if !slices.Equal(f.Seen(), []int{1}) || queryRow(t, f.Path, "SELECT count(*) FROM busgen_log") != "1" {
			t.Errorf("handled %v, want 1 only", f.Seen())
		}
	})
}

func TestOnlyOneOfAConcurrentRetryAndEditHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 40)
		f.Stop()
		one, other := f.Inspect(Editing), f.Inspect(Editing)
		edited := map[uuid.UUID]bool{}
		for _, letter := range one.List(event.Filter{}) {
			var both sync.WaitGroup
			both.Go(func() { one.Retry(t.Context(), inspect.Only(letter.Key)) })
			both.Go(func() {
				if id, err := other.Edit(t.Context(), letter.Key, []byte(`{"number":1000}`)); err == nil {
					edited[id] = true
				}
			})
			both.Wait()
		}
		if got, want := queryRow(t, f.Path, "SELECT count(*), count(*) FILTER (WHERE state = 'waiting') FROM busgen_deliveries"), "40|40"; got != want {
			t.Errorf("there are %s deliveries and those that wait, want %s", got, want)
		}
		if got, want := queryRow(t, f.Path, "SELECT count(*) FROM busgen_origins"), fmt.Sprint(len(edited)); got != want {
			t.Errorf("%s events were made, want the %s that were acknowledged", got, want)
		}
	})
}
