package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/memory"
)

// note is the payload of an event.
type note struct{}

func (note) Validate() error { return nil }

var noted = runtime.Define(runtime.Spec[note]{Name: "note.taken", Settings: runtime.DefaultSettings()})

func TestABusWithoutTablesSaysSo(t *testing.T) {
	ctx := t.Context()
	open := func(opts ...runtime.Option) (*runtime.Bus, error) {
		return runtime.Open(ctx, "notes", runtime.NewCatalogue(noted), append(opts, runtime.WithEngine(memory.New()))...)
	}
	bus, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Shutdown(context.Background())
	_, joining := runtime.Publish(ctx, runtime.In(bus, nil), noted, note{})
	_, beginning := runtime.DB(bus).Begin()
	for what, err := range map[string]error{
		"Tx": runtime.Transact(ctx, bus, func(runtime.Tx) error { return nil }),
		"In": joining, "DB": runtime.DB(bus).Ping(), "BeginTx": beginning, "a statement": runtime.DB(bus).QueryRow("SELECT 1").Scan(new(int)),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s gives %v", what, err)
		}
	}
}
