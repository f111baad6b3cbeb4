package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

var editing = inspect.WithEditing(jobCatalogue.Check)

func TestAnEditedLetterBecomesANewEventForTheOneThatHadFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openJobs(t)
		f.failing(func(n int) error {
			if n == 1 {
				return broken(n)
			}
			return nil
		})
		var mirrored []string
		_, err := runtime.SubscribePattern(f.Bus, "job.*", "mirror", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			mirrored = append(mirrored, string(e.Payload))
			return nil
		})
		must(t, err)
		receipt := f.publish(1)[0]
		i := f.inspect(editing)
		letter := i.newest()

		id, err := i.Edit(t.Context(), letter.Key, []byte(` { "number" : 7 } `))
		must(t, err)
		f.settle()
		if !slices.Equal(f.seen(), []int{7}) || len(mirrored) != 1 {
			t.Errorf("the worker has handled %v, the mirror %v; want 7 for the worker alone", f.seen(), mirrored)
		}
		outcome, err := receipt.Wait(t.Context())
		must(t, err)
		if d := outcome.Deliveries[0]; !d.Discarded || d.Reason != "edited into "+id.String() {
			t.Errorf("the outcome of the old event is %+v", outcome)
		}
		if got := queryRow(t, f.path, "SELECT type, payload, metadata, status FROM events WHERE id = '"+id.String()+"'"); got != `job.queued|{"number":7}|{"from":"test"}|done` {
			t.Errorf("the new event is %s", got)
		}
		if i.count() != 0 {
			t.Error("the letter is still there")
		}
		var missing *inspect.NotFoundError
		if _, err := i.DeadLetter(t.Context(), letter.Key); !errors.As(err, &missing) || !strings.Contains(err.Error(), "edited into "+id.String()) {
			t.Errorf("the old letter: %v", err)
		}
		if got, want := i.actions(), "ada edit 1: edited into "+id.String(); !slices.Equal(got, []string{want}) {
			t.Errorf("the audit says %q", got)
		}
	})
}

func TestEditingAgainIsLinkedToAllItCameFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		must(t, second(runtime.SubscribePattern(f.Bus, "job.*", "mirror", func(context.Context, runtime.Event[runtime.Raw]) error {
			return errors.New("the mirror's disk is full")
		}, runtime.FromBeginning())))
		f.settle()
		i := f.inspect(editing)
		key := inspect.Key{EventID: i.newest().EventID, Subscription: "worker"}
		mirror := inspect.Key{EventID: key.EventID, Subscription: "mirror"}
		ids := []uuid.UUID{key.EventID}
		for n := range 3 {
			id, err := i.Edit(t.Context(), key, fmt.Appendf(nil, `{"number":%d}`, n+2))
			must(t, err)
			f.settle() // it dies again
			key.EventID = id
			ids = append(ids, id)
		}
		last, err := i.DeadLetter(t.Context(), key)
		must(t, err)
		if want := []uuid.UUID{ids[2], ids[1], ids[0]}; !slices.Equal(last.MadeFrom, want) || last.EditedInto != nil || len(last.Audit) != 0 {
			t.Errorf("the last one is made from %v, want %v: %+v", last.MadeFrom, want, last)
		}
		// The first event is still dead for the mirror, and knows what the
		// worker's was edited into.
		first, err := i.DeadLetter(t.Context(), mirror)
		must(t, err)
		if want := []inspect.Key{{EventID: ids[1], Subscription: "worker"}}; !slices.Equal(first.EditedInto, want) || first.MadeFrom != nil {
			t.Errorf("the first was edited into %v, want %v", first.EditedInto, want)
		}
		encoded, err := json.Marshal(first)
		must(t, err)
		if text := string(encoded); !strings.HasPrefix(text, `{"letter":{"event_id":"`) || !strings.Contains(text, `"edited_into":[{"event_id":"`+ids[1].String()) {
			t.Errorf("as JSON it is %s", text)
		}
	})
}

func TestAnEditedEventIsNotForSubscriptionsThatComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		i := f.inspect(editing)
		f.repair()
		must(t, second(i.Edit(t.Context(), i.newest().Key, []byte(`{"number":7}`))))
		f.settle()
		var seen []string
		must(t, second(runtime.SubscribePattern(f.Bus, "*", "late", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen = append(seen, string(e.Payload))
			return nil
		}, runtime.FromBeginning())))
		f.idle()
		if !slices.Equal(seen, []string{`{"number":1}`}) {
			t.Errorf("the late subscription has seen %v, want the event as it was published", seen)
		}
		if got := queryRow(t, f.path, "SELECT count(*) FROM events WHERE status <> 'done'"); got != "0" {
			t.Errorf("%s events are not done", got)
		}
	})
}

func TestAnEditedEventSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		i := f.inspect(editing)
		f.stop()
		id, err := i.Edit(t.Context(), i.newest().Key, []byte(`{"number":7}`))
		must(t, err)
		if got := queryRow(t, f.path, "SELECT status FROM events WHERE id = '"+id.String()+"'"); got != "pending" {
			t.Errorf("the new event is %s", got)
		}
		f.repair()
		f.reopen()
		f.idle()
		if !slices.Equal(f.seen(), []int{7}) {
			t.Errorf("handled %v, want 7 only", f.seen())
		}
	})
}

func TestAnInvalidPayloadIsRefusedAndNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		i := f.inspect(editing)
		letter := i.newest()
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
		if got := i.list(inspect.Filter{}); fmt.Sprint(got) != fmt.Sprint([]inspect.DeadLetter{letter}) || i.actions() != nil ||
			queryRow(t, f.path, "SELECT count(*) FROM log") != "1" {
			t.Errorf("the letters are %+v", got)
		}
	})
}

func TestAPayloadThatIsNotJSONIsRefusedWhateverTheCheckSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := bury(t, 1).inspect(inspect.WithEditing(func(string, int, []byte) error { return nil }))
		var invalid *inspect.InvalidPayloadError
		if _, err := i.Edit(t.Context(), i.newest().Key, []byte(`{"number":`)); !errors.As(err, &invalid) {
			t.Errorf("got %v", err)
		}
	})
}

func TestEditingWhatWasRetriedMeanwhileIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		f.repair()
		var i *inspector
		// The check runs after the letter was found and before it is edited.
		i = f.inspect(inspect.WithEditing(func(string, int, []byte) error {
			must(t, second(i.Retry(t.Context(), inspect.Selection{})))
			f.settle()
			return nil
		}))
		var missing *inspect.NotFoundError
		if _, err := i.Edit(t.Context(), i.newest().Key, []byte(`{"number":7}`)); !errors.As(err, &missing) || !strings.Contains(err.Error(), "it was handled") {
			t.Errorf("got %v", err)
		}
		if !slices.Equal(f.seen(), []int{1}) || queryRow(t, f.path, "SELECT count(*) FROM log") != "1" {
			t.Errorf("handled %v, want 1 only", f.seen())
		}
	})
}

func TestOfARetryAndAnEditAtTheSameTimeOneHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := buryMany(t, 40)
		f.stop()
		one, other := f.inspect(editing), f.inspect(editing)
		edited := map[uuid.UUID]bool{}
		for _, letter := range one.list(inspect.Filter{}) {
			var both sync.WaitGroup
			both.Go(func() { one.Retry(t.Context(), inspect.Only(letter.Key)) })
			both.Go(func() {
				if id, err := other.Edit(t.Context(), letter.Key, []byte(`{"number":1000}`)); err == nil {
					edited[id] = true
				}
			})
			both.Wait()
		}
		if got, want := queryRow(t, f.path, "SELECT count(*), count(*) FILTER (WHERE state = 'waiting') FROM deliveries"), "40|40"; got != want {
			t.Errorf("there are %s deliveries and those that wait, want %s", got, want)
		}
		if got, want := queryRow(t, f.path, "SELECT count(*) FROM origins"), fmt.Sprint(len(edited)); got != want {
			t.Errorf("%s events were made, want the %s that were acknowledged", got, want)
		}
	})
}

func TestEditingIsOffUnlessEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := bury(t, 1).inspect()
		if _, err := i.Edit(t.Context(), i.newest().Key, []byte(`{"number":7}`)); !errors.Is(err, inspect.ErrEditingDisabled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnlyADeadLetterCanBeEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := openJobs(t).inspect(editing)
		key := inspect.Key{EventID: uuid.Max, Subscription: "worker"}
		var missing *inspect.NotFoundError
		if _, err := i.Edit(t.Context(), key, []byte(`{"number":7}`)); !errors.As(err, &missing) || missing.Key != key {
			t.Errorf("got %v", err)
		}
	})
}
