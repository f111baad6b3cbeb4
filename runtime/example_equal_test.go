package runtime_test

import (
	"fmt"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
)

// A copy shares nothing with the original. Equal compares times as moments, which == and reflect.DeepEqual do not.
func ExampleClone() {
	order := eventstest.SampleOrderPlaced()
	changed := runtime.Clone(order)
	changed.Lines[0].Quantity++
	fmt.Println("the original is as before:", runtime.Equal(order, eventstest.SampleOrderPlaced()))
	fmt.Println("the copy is equal:", runtime.Equal(order, changed))
	// Output:
	// the original is as before: true
	// the copy is equal: false
}

func ExampleEqual() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(runtime.Equal(
		events.SystemBackupFinished{FinishedAt: noon},
		events.SystemBackupFinished{FinishedAt: noon.In(time.FixedZone("CET", 3600))},
	))
	// Output: true
}
