package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

func (env *Env) TestABusWithABadScheduleIsNotOpened(t *testing.T) {
	for name, test := range map[string]struct {
		schedule declare.Schedule
		opts     []runtime.Option
		want     string
	}{
		"a zone that this machine does not know": {
			declare.Schedule{Name: "x", Cron: "@daily", TimeZone: "Europe/Atlantis"}, nil,
			"schedule x: this machine does not know the time zone Europe/Atlantis (unknown time zone Europe/Atlantis): " +
				"install its database of time zones, or import _ \"time/tzdata\" in the program",
		},
		"an unknown field":            {declare.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":"a","sort":1}`}, nil, "schedule x: the payload is not a valid report.requested: sort"},
		"a payload that is invalid":   {declare.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":""}`}, nil, "kind is empty"},
		"a payload whose code panics": {declare.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":"panic"}`}, nil, "no report"},
		"a payload that is too large": {
			declare.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":"much"}`}, []runtime.Option{runtime.WithPayloadLimit(10)}, "schedule x: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			catalogue := runtime.NewCatalogue(reportType(test.schedule))
			path := env.Target(t)
			_, err := env.OpenBus(t.Context(), path, catalogue, test.opts...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
			if _, isZone := errors.AsType[*runtime.TimeZoneError](err); isZone != strings.Contains(test.want, "zone") {
				t.Errorf("the error is a %T", err)
			}
			bus, err := env.OpenBus(t.Context(), path, catalogue, append(test.opts, runtime.WithoutSchedules())...)
			Must(t, err)
			Must(t, bus.Shutdown(context.Background()))
		})
	}
}

func (env *Env) TestAScheduleThatBusgenCannotHaveMadeIsRefused(t *testing.T) {
	for want, define := range map[string]func(){
		`runtime.Define(report.requested): schedule "x": a schedule has either an expression or an interval`: func() { reportType(declare.Schedule{Name: "x"}) },
		`runtime.Define(report.requested): schedule "x": Missed is "never": use once, skip or all`: func() {
			reportType(declare.Schedule{Name: "x", Every: time.Hour, Missed: "never"})
		},
		`runtime.Define(report.requested): schedule "x": the interval 1.000000001s is no multiple of a microsecond`: func() {
			reportType(declare.Schedule{Name: "x", Every: time.Second + 1}) // its times would not be those that the file has
		},
		`runtime.Define(report.requested): schedule "": its name is empty, too long, or has spaces around it or bytes that cannot be printed`: func() {
			reportType(declare.Schedule{Every: time.Hour})
		},
		`runtime.NewCatalogue: report.requested and report.requested both have a schedule "x"`: func() {
			runtime.NewCatalogue(reportType(declare.Schedule{Name: "x", Every: time.Hour}, declare.Schedule{Name: "x", Every: time.Hour}))
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("the panic is %s, want %s", got, want)
				}
			}()
			define()
		}()
	}
}

func (env *Env) TestAScheduleIsFiredByATest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openTimetable(t, env.Target(t), nightly(""), runtime.WithoutSchedules())
		f.MustStart()
		_, err := testhook.Fire(t.Context(), f.Bus, "nightly")
		Must(t, err)
		f.Idle()
		f.want("nightly 01-01 00:00:00")
		if _, err := testhook.Fire(t.Context(), f.Bus, "nightli"); err == nil || !strings.Contains(err.Error(), "nightly") {
			t.Errorf("an unknown name: %v", err)
		}
	})
}
