package runtime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// A payload as busgen would generate it.
type reportRequested struct {
	Kind string `json:"kind"`
}

func (reportRequested) Validate() error { return nil }

// The bus itself publishes the events of a schedule. Generated code has the schedules of
// the catalogue; this one is
//
//	schedules:
//	  frequent-report:
//	    event: report.requested
//	    every: 1s
//	    payload: { kind: short }
func ExampleSchedule() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	reports := runtime.Define(runtime.Spec[reportRequested]{
		Name: "report.requested", Settings: declare.DefaultSettings(),
		Schedules: []declare.Schedule{{Name: "frequent-report", Every: time.Second, Payload: `{"kind":"short"}`}},
	})
	bus, err := runtime.Open(ctx, path, runtime.NewCatalogue(reports), silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	handled := make(chan time.Time, 1)
	runtime.Subscribe(bus, reports, "write-reports", func(_ context.Context, e runtime.Event[reportRequested]) error {
		fmt.Println(e.Payload.Kind, "report for", e.Schedule)
		handled <- e.ScheduledFor
		return nil
	})
	started := time.Now().Truncate(time.Microsecond)
	bus.Start(ctx) // the first time is a second after the first start
	fmt.Println("after a second:", (<-handled).Sub(started) >= time.Second)
	// Output:
	// short report for frequent-report
	// after a second: true
}
