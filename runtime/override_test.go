package runtime

import (
	"reflect"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

func TestTheMoreSpecificPlaceWinsFieldByField(t *testing.T) {
	shared := &CatalogueSettings{
		Defaults: Override{Timeout: new(20 * time.Second), MaxSnoozes: new(5), Retry: []retry.Option{retry.MaxAttempts(3), retry.Jitter(0)}, Concurrency: new(4)},
		Policies: []Policy{
			{Pattern: "order.placed", Settings: Override{SlowAfter: new(time.Duration(0)), Breaker: []breaker.Option{breaker.On()}}},
			{Pattern: "order.*", Settings: Override{SlowAfter: new(time.Second), Timeout: new(7 * time.Second), Breaker: []breaker.Option{breaker.Off()}, Priority: new(PriorityLow)}},
			{Pattern: "*", Settings: Override{Timeout: new(time.Hour), MaxSnoozes: new(9), BatchSize: new(7)}},
			{Pattern: "payment.*", Settings: Override{Timeout: new(time.Millisecond)}},
		},
	}
	got, priority, err := shared.resolve("order.placed",
		&Override{Retry: []retry.Option{retry.MaxAttempts(8)}, Concurrency: new(1)},
		&Override{ExpiresAfter: new(time.Minute), Priority: new(PriorityHigh), BatchWait: new(time.Duration(0))})
	want := DefaultSettings()
	want.Timeout, want.MaxSnoozes, want.SlowAfter, want.ExpiresAfter = 7*time.Second, 9, 0, time.Minute
	want.Retry.MaxAttempts, want.Retry.Jitter, want.Batch = 8, 0, Batch{Size: 7}
	if err != nil || priority != PriorityHigh || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v, %v\nwant %+v", got, priority, err, want)
	}
	var none *CatalogueSettings
	if got, _, _ := none.resolve("a"); !reflect.DeepEqual(got, DefaultSettings()) {
		t.Errorf("without a word the settings are %+v", got)
	}
	if _, _, err := (&CatalogueSettings{Policies: []Policy{{Pattern: "a..b"}}}).resolve("a"); err == nil {
		t.Error("a pattern that is none is accepted")
	}
}

func TestRulesForErrorsAreLaidOverEachOther(t *testing.T) {
	shared := &CatalogueSettings{Defaults: Override{
		Limits: []LimitUse{{Limit: "bank"}},
		Errors: []ErrorRule{{Class: "a", Permanent: true}, {Class: "b", Retry: []retry.Option{retry.MaxAttempts(9), retry.Jitter(0)}}, {Class: "c", Permanent: true}},
	}}
	got, _, _ := shared.resolve("e", &Override{
		Limits:  []LimitUse{},
		Errors:  []ErrorRule{{Class: "c", Retry: []retry.Option{retry.MaxAttempts(2)}}, {Class: "b", Retry: []retry.Option{retry.MaxAttempts(4)}}},
		Redrive: RedriveOverride{Off: new(false), Max: new(2)},
	})
	want := DefaultSettings()
	want.Errors = []ErrorRule{
		{Class: "c", Retry: []retry.Option{retry.MaxAttempts(2)}},
		{Class: "b", Retry: []retry.Option{retry.MaxAttempts(4), retry.Jitter(0)}},
		{Class: "a", Permanent: true},
	}
	want.Redrive = Redrive{Every: time.Hour, Max: 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAnOverrideIsLaidOverSettingsThatAreInForce(t *testing.T) {
	base := DefaultSettings()
	base.Redrive = Redrive{Reasons: []string{"crash"}, Every: 2 * time.Hour, Max: 9}
	base.Limits = []LimitUse{{Limit: "bank"}}
	base.Concurrency = 4
	for name, test := range map[string]struct {
		o    Override
		want func(*Settings)
	}{
		"nothing is set": {Override{}, func(*Settings) {}},
		"zeros are set":  {Override{Timeout: new(time.Duration(0)), Limits: []LimitUse{}}, func(s *Settings) { s.Timeout, s.Limits = 0, nil }},
		"one handler at a time, as in generated code":  {Override{Concurrency: new(1)}, func(s *Settings) { s.Concurrency = 0 }},
		"a redrive that is switched on, as a whole":    {Override{Redrive: RedriveOverride{Off: new(false), Max: new(2)}}, func(s *Settings) { s.Redrive = Redrive{Every: time.Hour, Max: 2} }},
		"a redrive that is switched off":               {Override{Redrive: RedriveOverride{Off: new(true)}}, func(s *Settings) { s.Redrive = Redrive{} }},
		"a field of a redrive that stays switched on":  {Override{Redrive: RedriveOverride{Max: new(2)}}, func(s *Settings) { s.Redrive.Max = 2 }},
		"half of a batch; a priority is of no account": {Override{BatchSize: new(7), Priority: new(PriorityLow)}, func(s *Settings) { s.Batch = Batch{Size: 7, Wait: 100 * time.Millisecond} }},
	} {
		want := base
		test.want(&want)
		if got := base.With(test.o); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}
