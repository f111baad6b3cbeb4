package declare

import (
	"reflect"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/retry"
)

func TestRulesForErrorsAreLaidOverEachOther(t *testing.T) {
	defaults := &Override{
		Limits: []LimitUse{{Limit: "bank"}},
		Errors: []ErrorRule{{Class: "a", Permanent: true}, {Class: "b", Retry: []retry.Option{retry.MaxAttempts(9), retry.Jitter(0)}}, {Class: "c", Permanent: true}},
	}
	got := Resolve(nil, defaults, &Override{
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
		"one handler at a time, as in generated code": {Override{Concurrency: new(1)}, func(s *Settings) { s.Concurrency = 0 }},
		"a redrive that is switched on, as a whole":   {Override{Redrive: RedriveOverride{Off: new(false), Max: new(2)}}, func(s *Settings) { s.Redrive = Redrive{Every: time.Hour, Max: 2} }},
		"a redrive that is switched off":              {Override{Redrive: RedriveOverride{Off: new(true)}}, func(s *Settings) { s.Redrive = Redrive{} }},
		"a field of a redrive that stays switched on": {Override{Redrive: RedriveOverride{Max: new(2)}}, func(s *Settings) { s.Redrive.Max = 2 }},
		"half of a batch":                             {Override{BatchSize: new(7)}, func(s *Settings) { s.Batch = Batch{Size: 7, Wait: 100 * time.Millisecond} }},
	} {
		want := base
		test.want(&want)
		if got := base.With(test.o); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}
