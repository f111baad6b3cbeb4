package wire_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/templates/testdata/features"
)

func TestAGeneratedPayloadGoesThroughABusAsWithEncodingJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, err := features.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"),
			runtime.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer bus.Shutdown(context.Background())
		var stored runtime.Raw
		_, err = runtime.SubscribePattern(bus, "*", "stored", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			stored = e.Payload
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var handled []removed
		for _, name := range []string{"alone", "beside it"} {
			_, err = features.SubscribeOrderLineRemoved(bus, name, func(_ context.Context, e runtime.Event[removed]) error {
				mu.Lock()
				defer mu.Unlock()
				handled = append(handled, e.Payload)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := bus.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		payload := removed{
			Reason: features.Odd日本, Weekday: features.WeekdayFriday, Counter: features.Counter{Count: -1},
			Tree: features.Tree{Label: "<&>\u2028", Children: []features.Tree{{}}, ByName: map[string]features.Tree{"b": {}, "a": {}}},
		}
		if _, err := features.PublishOrderLineRemoved(t.Context(), bus, payload); err != nil {
			t.Fatal(err)
		}
		if err := bus.WaitIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(payload)
		if err != nil || string(stored) != string(want) {
			t.Errorf("stored as\n%s\nwant %v\n%s", stored, err, want)
		}
		if want := []removed{payload, payload}; !reflect.DeepEqual(handled, want) {
			t.Errorf("handled as\n%+v\nwant\n%+v", handled, want)
		}
	})
}
