package inspection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

var Editing = inspect.WithEditing(jobCatalogue.Check)

func (env *Env) TestAnEventEditedTwiceIsLinkedToAllItsOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1)
		Must(t, Second(runtime.SubscribePattern(f.Bus, "job.*", "mirror", func(context.Context, runtime.Event[runtime.Raw]) error {
			return errors.New("the mirror's disk is full")
		}, runtime.FromBeginning())))
		f.Settle()
		i := f.Inspect(Editing)
		key := event.Key{EventID: i.Newest().EventID, Subscription: "worker"}
		mirror := event.Key{EventID: key.EventID, Subscription: "mirror"}
		ids := []uuid.UUID{key.EventID}
		for n := range 3 {
			id, err := i.Edit(t.Context(), key, fmt.Appendf(nil, `{"number":%d}`, n+2))
			Must(t, err)
			f.Settle() // it dies again
			key.EventID = id
			ids = append(ids, id)
		}
		last, err := i.DeadLetter(t.Context(), key)
		Must(t, err)
		if want := []uuid.UUID{ids[2], ids[1], ids[0]}; !slices.Equal(last.MadeFrom, want) || last.EditedInto != nil || len(last.Audit) != 0 {
			t.Errorf("the last one is made from %v, want %v: %+v", last.MadeFrom, want, last)
		}
		// The first event is still dead for the mirror, and knows what the
		// worker's was edited into.
		first, err := i.DeadLetter(t.Context(), mirror)
		Must(t, err)
		if want := []event.Key{{EventID: ids[1], Subscription: "worker"}}; !slices.Equal(first.EditedInto, want) || first.MadeFrom != nil {
			t.Errorf("the first was edited into %v, want %v", first.EditedInto, want)
		}
		encoded, err := json.Marshal(first)
		Must(t, err)
		if text := string(encoded); !strings.HasPrefix(text, `{"letter":{"event_id":"`) || !strings.Contains(text, `"edited_into":[{"event_id":"`+ids[1].String()) {
			t.Errorf("as JSON it is %s", text)
		}
	})
}

func (env *Env) TestAPayloadThatIsNotJSONIsRefusedWhateverTheCheckSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeDead(t, 1).Inspect(inspect.WithEditing(func(string, int, []byte) error { return nil }))
		var invalid *inspect.InvalidPayloadError
		if _, err := i.Edit(t.Context(), i.Newest().Key, []byte(`{"number":`)); !errors.As(err, &invalid) {
			t.Errorf("got %v", err)
		}
	})
}

func (env *Env) TestEditingIsOffUnlessEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeDead(t, 1).Inspect()
		if _, err := i.Edit(t.Context(), i.Newest().Key, []byte(`{"number":7}`)); !errors.Is(err, inspect.ErrEditingDisabled) {
			t.Errorf("got %v", err)
		}
	})
}

func (env *Env) TestOnlyADeadLetterCanBeEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.OpenJobs(t).Inspect(Editing)
		key := event.Key{EventID: uuid.Max, Subscription: "worker"}
		var missing *event.NotFoundError
		if _, err := i.Edit(t.Context(), key, []byte(`{"number":7}`)); !errors.As(err, &missing) || missing.Key != key {
			t.Errorf("got %v", err)
		}
	})
}
