// Command drill is many programs in one, each with the code of its own catalogue: those that
// make the file of a bus, and those that open it after a change of the catalogue.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// main runs the programs that are named on the command line, each with its file: "before shop.db".
func main() {
	for i := 1; i+1 < len(os.Args); i += 2 {
		name, path := os.Args[i], os.Args[i+1]
		if name == "yesterday" {
			yesterday(path)
			say(line{Program: name})
			continue
		}
		program := programs[name]
		bus, err := tryOpen(program.open, path)
		if other, ok := errors.AsType[*event.SchemaError](err); ok {
			say(line{Unopened: other.Problem})
			say(line{Program: name})
			continue
		}
		must(err)
		program.subscribe(bus)
		must(bus.Start(context.Background()))
		must(bus.WaitIdle(context.Background()))
		must(bus.Shutdown(context.Background()))
		say(line{Program: name})
	}
}

// program is the Open function of a catalogue, and a function that makes all subscriptions
// which the catalogue declares.
type program struct {
	open      func(context.Context, string, ...runtime.Option) (*runtime.Bus, error)
	subscribe func(bus *runtime.Bus)
}

func open(f func(context.Context, string, ...runtime.Option) (*runtime.Bus, error), path string) *runtime.Bus {
	bus, err := tryOpen(f, path)
	must(err)
	return bus
}

func tryOpen(f func(context.Context, string, ...runtime.Option) (*runtime.Bus, error), path string) (*runtime.Bus, error) {
	return f(context.Background(), path, runtime.WithDurability(runtime.Normal), runtime.WithLogger(slog.New(&warnings{})))
}

// refusing makes handlers fail for good, so that their events become dead letters.
var refusing bool

// subscribe shows what a handler gets.
func subscribe[T runtime.Payload, Name any](
	bus *runtime.Bus, f func(*runtime.Bus, Name, runtime.Handler[T], ...runtime.SubscribeOption) (*runtime.Subscription, error), name Name,
) {
	_, err := f(bus, name, func(_ context.Context, e runtime.Event[T]) error {
		if refusing {
			return runtime.Permanent(errors.New("not today"))
		}
		say(line{Row: e.CorrelationID, Subscription: e.Subscription, Handled: show(reflect.ValueOf(e.Payload))})
		return nil
	})
	must(err)
}

// line is what the test reads, as JSON.
type line struct {
	Program      string `json:",omitempty"` // that has ended; the lines before are its own
	Row          string `json:",omitempty"`
	Subscription string `json:",omitempty"`
	Handled      string `json:",omitempty"`
	Warning      string `json:",omitempty"`
	Unopened     string `json:",omitempty"` // why the bus is not opened
}

var saying sync.Mutex

func say(l line) {
	saying.Lock()
	defer saying.Unlock()
	must(json.NewEncoder(os.Stdout).Encode(l))
}

// show writes a value so that values of different types and different values differ.
func show(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return show(v.Elem())
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			return at.Format(time.RFC3339Nano)
		}
		var fields []string
		for i := range v.NumField() {
			fields = append(fields, v.Type().Field(i).Name+":"+show(v.Field(i)))
		}
		return v.Type().Name() + "{" + strings.Join(fields, " ") + "}"
	case reflect.Slice:
		if raw, ok := v.Interface().([]byte); ok {
			return fmt.Sprintf("0x%x", raw)
		}
		var elements []string
		for i := range v.Len() {
			elements = append(elements, show(v.Index(i)))
		}
		return "[" + strings.Join(elements, " ") + "]"
	case reflect.Map:
		var entries []string
		for _, key := range v.MapKeys() {
			entries = append(entries, show(key)+":"+show(v.MapIndex(key)))
		}
		slices.Sort(entries)
		return "[" + strings.Join(entries, " ") + "]"
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	case reflect.Float64:
		return fmt.Sprintf("%g as a float", v.Float())
	}
	return fmt.Sprint(v.Interface()) // of an enum its name
}

// warnings prints the warnings of the bus.
type warnings struct{}

func (*warnings) Enabled(_ context.Context, level slog.Level) bool { return level == slog.LevelWarn }
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler             { return w }
func (w *warnings) WithGroup(string) slog.Handler                  { return w }

func (*warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "subscription_id" || a.Key == "event_type" {
			text += ": " + a.Value.String()
		}
		return true
	})
	say(line{Warning: text})
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
