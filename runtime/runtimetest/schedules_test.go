package runtimetest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/runtimetest"
)

type report struct {
	Kind string `json:"kind"`
}

func (report) Validate() error { return nil }

var reportType = runtime.Define(runtime.Spec[report]{
	Name: "report.requested", Settings: declare.DefaultSettings(),
	Schedules: []declare.Schedule{{Name: "often", Cron: "*/10 * * * *", Payload: `{"kind":"short"}`}},
})

func TestSchedulesOfAKitAreOffUnlessTheTestAsksForThem(t *testing.T) {
	for name, test := range map[string]struct {
		opts []runtime.Option
		want []string
	}{
		"off": {nil, []string{"00:25"}},
		"on":  {[]runtime.Option{runtimetest.WithSchedules()}, []string{"00:10", "00:20", "00:25", "00:30"}},
	} {
		t.Run(name, func(t *testing.T) {
			runtimetest.Run(t, runtime.NewCatalogue(reportType), func(t *testing.T, kit *runtimetest.Kit) {
				var got []string
				kit.Setup(func(bus *runtime.Bus) error {
					_, err := runtime.Subscribe(bus, reportType, "reports", func(_ context.Context, e runtime.Event[report]) error {
						if e.Schedule == "often" && e.Payload.Kind == "short" {
							got = append(got, e.ScheduledFor.Format("15:04"))
						}
						return nil
					})
					return err
				})
				kit.Advance(25 * time.Minute)
				kit.Fire("often")
				kit.Advance(6 * time.Minute)
				if !slices.Equal(got, test.want) {
					t.Errorf("handled %v, want %v", got, test.want)
				}
			}, test.opts...)
		})
	}
}
