package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
)

// rich has every shape that a payload can have, and some that generated ones
// do not have.
type rich struct {
	ID      uuid.UUID
	At      time.Time
	Day     runtime.Date
	Took    runtime.Duration
	Raw     json.RawMessage
	Bytes   []byte
	Tags    []string
	Nested  [][]int
	Labels  map[string]string
	ByName  map[string][]part
	Parts   []part
	Maybe   *part
	Number  *int
	Fixed   [2][]int
	Missing *part
	None    []int
}

type part struct {
	Name string
	Of   *string
	Subs []part
}

func (rich) Validate() error { return nil }

// loose cannot be copied faithfully.
type loose struct {
	Any any
}

func (loose) Validate() error { return nil }

func richPayload() rich {
	text, number := "text", 7
	return rich{
		ID: uuid.New(), At: time.Now().UTC(), Day: runtime.Date{Year: 2024, Month: 2, Day: 29}, Took: 90,
		Raw: json.RawMessage(`{"a":[1,2]}`), Bytes: []byte("bytes"), Tags: []string{"a", "b"}, Nested: [][]int{{1}, {2, 3}, nil},
		Labels: map[string]string{"k": "v"}, ByName: map[string][]part{"x": {{Name: "n", Of: &text}}},
		Parts: []part{{Name: "p", Subs: []part{{Name: "q", Of: &text}}}}, Maybe: &part{Name: "m", Subs: []part{{}}},
		Number: &number, Fixed: [2][]int{{1}, {2}},
	}
}

// scramble changes everything in a value that can be changed.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			scramble(v.Index(i))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scramble(v.Elem())
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			scramble(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
		if !v.IsNil() && v.Type().Key().Kind() == reflect.String {
			v.SetMapIndex(reflect.ValueOf("new"), reflect.Zero(v.Type().Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				scramble(v.Field(i))
			}
		}
	default:
		if v.CanSet() {
			v.SetZero()
		}
	}
}

func (env *Env) TestHandlersCannotChangeEachOthersPayloads(t *testing.T) {
	richType := runtime.Define(runtime.Spec[rich]{Name: "rich", Settings: Within(time.Minute, Exact())})
	looseType := runtime.Define(runtime.Spec[loose]{Name: "loose", Settings: Within(time.Minute, Exact())})
	synctest.Test(t, func(t *testing.T) {
		bus, err := env.OpenBus(t.Context(), env.Target(t), runtime.NewCatalogue(richType, looseType))
		Must(t, err)
		defer bus.Shutdown(context.Background())
		want, wantLoose := richPayload(), loose{Any: map[string]any{"list": []any{1.0, "two"}}}
		var mu sync.Mutex // one handler after the other, so that each sees what was left to it
		seen := 0
		for i := range 5 {
			_, err := runtime.Subscribe(bus, richType, fmt.Sprintf("rich %d", i), func(_ context.Context, e runtime.Event[rich]) error {
				mu.Lock()
				defer mu.Unlock()
				seen++
				if !reflect.DeepEqual(e.Payload, want) {
					t.Errorf("handler %d was given\n%+v\nwant\n%+v", i, e.Payload, want)
				}
				scramble(reflect.ValueOf(&e.Payload).Elem())
				return nil
			})
			Must(t, err)
			_, err = runtime.Subscribe(bus, looseType, fmt.Sprintf("loose %d", i), func(_ context.Context, e runtime.Event[loose]) error {
				mu.Lock()
				defer mu.Unlock()
				seen++
				if !reflect.DeepEqual(e.Payload, wantLoose) {
					t.Errorf("handler %d was given %+v, want %+v", i, e.Payload, wantLoose)
				}
				e.Payload.Any.(map[string]any)["list"].([]any)[0] = "changed"
				return nil
			})
			Must(t, err)
		}
		Must(t, bus.Start(t.Context()))
		_, err = runtime.Publish(t.Context(), bus, richType, want)
		Must(t, err)
		_, err = runtime.Publish(t.Context(), bus, looseType, wantLoose)
		Must(t, err)
		Must(t, bus.WaitIdle(t.Context()))
		if seen != 10 {
			t.Errorf("%d deliveries, want 10", seen)
		}
	})
}
