package templates

import (
	"testing"

	"github.com/busgen/busgen/runtime"
)

func TestContractIsTheNewestThatTheRuntimeKnows(t *testing.T) {
	if Contract != runtime.NewestContract {
		t.Errorf("the generator emits contract %d, the runtime knows %d", Contract, runtime.NewestContract)
	}
}

func TestGeneratedCodeChecksThatTheRuntimeFits(t *testing.T) {
	emits(t, `
// contract is the version of the agreement between this code and the runtime
// package.
const contract = 1

// If a line below does not compile, the versions of this code and of the
// runtime package do not fit.
const (
	// This code is older than the runtime understands: run go generate.
	_ = runtime.FitsGenerated(contract - runtime.OldestContract)
	// The runtime is older than this code: run go get -u github.com/busgen/busgen.
	_ = runtime.FitsGenerated(runtime.NewestContract - contract)
)
`, contract(), contractCheck())
}

func TestTheCatalogueHoldsEveryTypeAndOpensABus(t *testing.T) {
	c := parsed(t, `
events:
  order.placed: {}
  order.paid: {}
`)
	emits(t, `
// Catalogue holds every event type of events.yaml.
var Catalogue = runtime.NewCatalogue(
	OrderPlacedType,
	OrderPaidType,
)

// Open opens the bus whose events are in the file at path, and creates the file
// if there is none. Call Shutdown on the bus when done with it. See
// [runtime.Open].
func Open(ctx context.Context, path string, opts ...runtime.Option) (*runtime.Bus, error) {
	return runtime.Open(ctx, path, Catalogue, opts...)
}
`, catalogueVar(c), open())
}
