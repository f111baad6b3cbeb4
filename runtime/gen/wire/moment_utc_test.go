package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// birth has a type that only encoding/json can write, and moments in every kind of place.
type birth struct {
	At      time.Time             `json:"at"`
	Baptism *time.Time            `json:"baptism"`
	Visits  []visit               `json:"visits"`
	ByName  map[string]visit      `json:"by_name"`
	Any     any                   `json:"any"`
	Two     [2]time.Time          `json:"two"`
	Stamped stamp                 `json:"stamped"`
	Next    *birth                `json:"next,omitempty"`
	Deep    map[string][]*visit   `json:"deep,omitempty"`
	kept    map[string]*time.Time // not in the JSON
}

type visit struct {
	On time.Time `json:"on"`
}

type stamp struct{ time.Time }

func (birth) Validate() error { return nil }

// old returns a moment whose offset from UTC has seconds, as that of Amsterdam had before 1937.
func old(hour int) time.Time {
	return time.Date(1900, 1, 1, hour, 0, 0, 0, time.FixedZone("", 19*60+32))
}

func oldBirth() birth {
	baptism, kept := old(2), old(20)
	return birth{
		At: old(1), Baptism: &baptism, Visits: []visit{{old(3)}, {}, {old(4)}}, ByName: map[string]visit{"a": {old(5)}, "b": {}}, Any: old(6),
		Two: [2]time.Time{{}, old(7)}, Stamped: stamp{old(8)}, Next: &birth{At: old(9)}, Deep: map[string][]*visit{"c": {nil, {old(10)}}},
		kept: map[string]*time.Time{"d": &kept},
	}
}

func requireOldBirth(t *testing.T, got birth) {
	t.Helper()
	same := func(where string, got time.Time, hour int) {
		t.Helper()
		if !got.Equal(old(hour)) {
			t.Errorf("%s is %v, want %v", where, got, old(hour))
		}
	}
	same("at", got.At, 1)
	same("baptism", *got.Baptism, 2)
	same("visits[0]", got.Visits[0].On, 3)
	same("visits[2]", got.Visits[2].On, 4)
	same("by_name", got.ByName["a"].On, 5)
	same("two", got.Two[1], 7)
	same("stamped", got.Stamped.Time, 8)
	same("next", got.Next.At, 9)
	same("deep", got.Deep["c"][1].On, 10)
	if want := fmt.Sprint(old(6).UTC().Format(time.RFC3339)); got.Any != want {
		t.Errorf("any is %v, want %v", got.Any, want)
	}
}

func TestAMomentWhoseOffsetHasSecondsIsKeptByTypesThatEncodingJSONWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		born := runtime.Define(runtime.Spec[birth]{Name: "child.born", Settings: declare.DefaultSettings()})
		bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), runtime.NewCatalogue(born),
			runtime.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer bus.Shutdown(context.Background())
		handled := 0
		_, err = runtime.Subscribe(bus, born, "register", func(_ context.Context, e runtime.Event[birth]) error {
			handled++
			requireOldBirth(t, e.Payload)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := bus.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		payload := oldBirth()
		if _, err := runtime.Publish(t.Context(), bus, born, payload); err != nil {
			t.Fatal(err)
		}
		if err := bus.WaitIdle(t.Context()); err != nil || handled != 1 {
			t.Errorf("handled %d, %v", handled, err)
		}
		if _, offset := payload.Visits[0].On.Zone(); offset != 19*60+32 || payload.Baptism.Location() == time.UTC || payload.ByName["a"].On.Location() == time.UTC {
			t.Errorf("the value of the publisher was changed: %+v", payload)
		}
	})
}

func TestAValueThatContainsItselfIsAnErrorOfEncodingJSON(t *testing.T) {
	cycle := birth{Next: &birth{}}
	cycle.Next.Next = cycle.Next
	cycle.Next.Any = cycle.Next // two ways at each step
	_, want := json.Marshal(&cycle)
	if _, err := wire.NewCodec[birth]().Encode(cycle); err == nil || err.Error() != want.Error() {
		t.Errorf("got %v, want %v", err, want)
	}
}
