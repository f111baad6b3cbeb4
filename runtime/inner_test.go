package runtime_test

import (
	"context"
	"strings"
	"testing"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// Who has not looked at the error of Open has no bus. It should say so.
func TestWithoutABusThereIsAPanicWithWords(t *testing.T) {
	for name, bus := range map[string]*runtime.Bus{"a nil bus": nil, "the zero Bus": {}} {
		for what, use := range map[string]func(){
			"Start":    func() { bus.Start(context.Background()) },
			"Health":   func() { bus.Health() },
			"Shutdown": func() { bus.Shutdown(context.Background()) },
			"Subscribe": func() {
				events.SubscribeOrderPlaced(bus, events.UndeclaredOrderPlaced("a"), func(context.Context, runtime.Event[events.OrderPlaced]) error { return nil })
			},
			"Transact": func() { runtime.Transact(context.Background(), bus, func(runtime.Tx) error { return nil }) },
		} {
			func() {
				defer func() {
					if said, ok := recover().(string); !ok || !strings.Contains(said, "use what Open returns") {
						t.Errorf("%s of %s panics with %v", what, name, said)
					}
				}()
				use()
			}()
		}
	}
}
