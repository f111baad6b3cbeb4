package inspection

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func (env *Env) TestWhatAnOperatorPublishesIsHandledInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenJobs(t)
		i := f.Inspect(Editing, inspect.WithActor("ann"))
		published, err := i.Publish(t.Context(), []inspect.NewEvent{
			{Type: "job.queued", Payload: []byte(` { "number" : 1 } `), Metadata: map[string]string{"why": "a test", "correlation_id": "c"}},
			{Type: "task.queued", Payload: []byte(`{"number":2}`), DedupeKey: "two"},
			{Type: "job.queued", Payload: []byte(`{"number":4}`), Delay: time.Hour},
			{Type: "job.queued", Payload: []byte(`{"number":3}`)},
		})
		Must(t, err)
		time.Sleep(time.Minute)
		if got := f.Seen(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("handled were %v", got)
		}
		time.Sleep(time.Hour)
		if got := f.Seen(); !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Errorf("an hour later handled were %v", got)
		}
		history, err := i.Event(t.Context(), published[0].ID)
		Must(t, err)
		if string(history.Payload) != `{"number":1}` || string(history.Metadata) != `{"correlation_id":"c","why":"a test"}` {
			t.Errorf("the first is %s with %s", history.Payload, history.Metadata)
		}
		entries, _, err := i.Audit(t.Context(), event.AuditFilter{Actions: []string{"publish"}}, event.Page{})
		Must(t, err)
		if len(entries) != 1 || entries[0].Actor != "ann" || entries[0].Count != 4 || entries[0].Detail != "job.queued" {
			t.Errorf("the audit has %+v", entries)
		}
	})
}

func (env *Env) TestAnOperatorPublishesAKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenJobs(t)
		i := f.Inspect(Editing)
		publish := func(payload string) ([]inspect.Published, error) {
			return i.Publish(t.Context(), []inspect.NewEvent{{Type: "job.queued", Payload: []byte(payload), DedupeKey: "k"}})
		}
		first, err := publish(`{"number":1}`)
		Must(t, err)
		again, err := publish(`{ "number": 1 }`)
		Must(t, err)
		if !again[0].Duplicate || again[0].ID != first[0].ID || first[0].Duplicate {
			t.Errorf("first %+v, again %+v", first, again)
		}
		var conflict *event.ConflictError
		if _, err := publish(`{"number":2}`); !errors.As(err, &conflict) || conflict.First != first[0].ID {
			t.Errorf("another payload: %v", err)
		}
		// The key is one with those of the program.
		receipt, err := runtime.Publish(t.Context(), f.Bus, jobType, job{Number: 1}, runtime.WithDedupeKey("k"))
		Must(t, err)
		if !receipt.Duplicate || receipt.ID != first[0].ID {
			t.Errorf("the program: %+v", receipt)
		}
		f.Settle()
		if got := f.Seen(); !slices.Equal(got, []int{1}) {
			t.Errorf("handled were %v", got)
		}
	})
}

func (env *Env) TestNothingIsPublishedIfOneEventIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenJobs(t)
		i := f.Inspect(Editing)
		fine := inspect.NewEvent{Type: "job.queued", Payload: []byte(`{"number":1}`)}
		for problem, one := range map[string]inspect.NewEvent{
			"a type that is not there":  {Type: "job.quedue", Payload: fine.Payload},
			"a type of the bus":         {Type: "$dead.job.queued", Payload: fine.Payload},
			"a payload that is invalid": {Type: "job.queued", Payload: []byte(`{"number":-1}`)},
			"an unknown field":          {Type: "job.queued", Payload: []byte(`{"number":1,"other":2}`)},
			"a hidden value":            {Type: "job.queued", Payload: []byte(`{"number":1,"note":"` + inspect.HiddenValue + `"}`)},
			"a key of the bus":          {Type: "job.queued", Payload: fine.Payload, Metadata: map[string]string{"parent_id": "x"}},
			"a delay that is negative":  {Type: "job.queued", Payload: fine.Payload, Delay: -1},
			"metadata that is no text":  {Type: "job.queued", Payload: fine.Payload, Metadata: map[string]string{"a": "\xff"}},
		} {
			_, err := i.Publish(t.Context(), []inspect.NewEvent{fine, one})
			if invalid, ok := errors.AsType[*inspect.InvalidEventError](err); !ok || invalid.Index != 1 {
				t.Errorf("%s: %v", problem, err)
			}
		}
		if _, err := f.Inspect().Publish(t.Context(), []inspect.NewEvent{fine}); !errors.Is(err, inspect.ErrEditingDisabled) {
			t.Errorf("without a check: %v", err)
		}
		f.Settle()
		if got := f.Seen(); len(got) > 0 {
			t.Errorf("handled were %v", got)
		}
	})
}
