package bind

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

func TestTheMoreSpecificPlaceWinsFieldByField(t *testing.T) {
	shared := &CatalogueSettings{
		Defaults: declare.Override{Timeout: new(20 * time.Second), MaxSnoozes: new(5), Retry: []retry.Option{retry.MaxAttempts(3), retry.Jitter(0)}, Concurrency: new(4)},
		Priority: new(runtime.PriorityCritical),
		Policies: []Policy{
			{Pattern: "order.placed", Settings: declare.Override{SlowAfter: new(time.Duration(0)), Breaker: []breaker.Option{breaker.On()}}},
			{Pattern: "order.*", Settings: declare.Override{SlowAfter: new(time.Second), Timeout: new(7 * time.Second), Breaker: []breaker.Option{breaker.Off()}}, Priority: new(runtime.PriorityLow)},
			{Pattern: "*", Settings: declare.Override{Timeout: new(time.Hour), MaxSnoozes: new(9), BatchSize: new(7)}, Priority: new(runtime.PriorityCritical)},
			{Pattern: "payment.*", Settings: declare.Override{Timeout: new(time.Millisecond)}},
		},
	}
	d := &Description{
		Name: "order.placed", Shared: shared, Priority: new(runtime.PriorityHigh),
		Own: declare.Override{Retry: []retry.Option{retry.MaxAttempts(8)}, Concurrency: new(1)},
		Subscriptions: []Declaration{
			{Name: "s", Own: declare.Override{ExpiresAfter: new(time.Minute), BatchWait: new(time.Duration(0))}},
			{Name: "plain"},
		},
	}
	want := declare.DefaultSettings()
	want.Timeout, want.MaxSnoozes, want.SlowAfter = 7*time.Second, 9, 0
	want.Retry.MaxAttempts, want.Retry.Jitter, want.Batch = 8, 0, declare.Batch{Size: 7, Wait: 100 * time.Millisecond}
	got := d.spec()
	if got.Priority != runtime.PriorityHigh || !reflect.DeepEqual(got.Settings, want) || !reflect.DeepEqual(got.Subscriptions[1].Settings, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got.Settings, got.Priority, want)
	}
	want.ExpiresAfter, want.Batch = time.Minute, declare.Batch{Size: 7}
	if got := got.Subscriptions[0].Settings; !reflect.DeepEqual(got, want) {
		t.Errorf("the subscription:\ngot  %+v\nwant %+v", got, want)
	}
	for _, c := range []struct {
		d    *Description
		want runtime.Priority
	}{
		{&Description{Name: "order.placed", Shared: shared}, runtime.PriorityLow},
		{&Description{Name: "payment.captured", Shared: shared}, runtime.PriorityCritical},
		{&Description{Name: "payment.captured", Shared: &CatalogueSettings{Priority: new(runtime.PriorityLow)}}, runtime.PriorityLow},
		{&Description{Name: "a"}, runtime.PriorityNormal},
	} {
		if got := c.d.spec().Priority; got != c.want {
			t.Errorf("%s has the priority %v, want %v", c.d.Name, got, c.want)
		}
	}
	if got := (&Description{Name: "a"}).spec().Settings; !reflect.DeepEqual(got, declare.DefaultSettings()) {
		t.Errorf("without a word the settings are %+v", got)
	}
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, `bind.Describe(a): policy "a..b":`) {
			t.Errorf("a pattern that is none: panic %q", text)
		}
	}()
	(&Description{Name: "a", Shared: &CatalogueSettings{Policies: []Policy{{Pattern: "a..b"}}}}).spec()
}

func TestPoliciesReplaceHeadersByName(t *testing.T) {
	shared := &CatalogueSettings{
		Headers: []declare.Header{{Name: "tenant", Type: "string"}, {Name: "region", Type: "string"}},
		Policies: []Policy{
			{Pattern: "order.placed", Headers: []declare.Header{{Name: "tenant", Type: "string"}}},
			{Pattern: "order.*", Headers: []declare.Header{{Name: "tenant", Type: "string", Required: true}, {Name: "page", Type: "int"}}},
		},
	}
	for label, want := range map[string][]declare.Header{
		"user.created": {{Name: "tenant", Type: "string"}, {Name: "region", Type: "string"}},
		"order.paid":   {{Name: "region", Type: "string"}, {Name: "tenant", Type: "string", Required: true}, {Name: "page", Type: "int"}},
		"order.placed": {{Name: "region", Type: "string"}, {Name: "page", Type: "int"}, {Name: "tenant", Type: "string"}},
	} {
		d := Description{Name: "x", Label: label, Shared: shared}
		if got := d.spec().Headers; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", label, got, want)
		}
	}
}
