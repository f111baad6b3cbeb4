package declare_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

func TestALimitThatCannotBeKeptSaysWhy(t *testing.T) {
	good := declare.Limit{Name: "mail", AtOnce: 2, Rate: 7, Per: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(l *declare.Limit)
		want   string
	}{
		{func(l *declare.Limit) { l.Name = "" }, "a limit needs a name"},
		{func(l *declare.Limit) { l.Name = " mail" }, "a limit needs a name"},
		{func(l *declare.Limit) { l.Name = strings.Repeat("x", 1000) }, "the name has 1000 bytes"},
		{func(l *declare.Limit) { l.Name = "a\nb" }, "bytes that cannot be printed"},
		{func(l *declare.Limit) { l.AtOnce = -1 }, "AtOnce is -1"},
		{func(l *declare.Limit) { l.AtOnce = 1_000_001 }, "AtOnce is 1000001"},
		{func(l *declare.Limit) { l.Rate = -1 }, "Rate is -1"},
		{func(l *declare.Limit) { *l = declare.Limit{Name: "mail"} }, "it limits nothing"},
		{func(l *declare.Limit) { l.Per = 0 }, "Per is 0s"},
		{func(l *declare.Limit) { l.Per = time.Microsecond }, "Per is 1µs"},
		{func(l *declare.Limit) { l.Per = 367 * 24 * time.Hour }, "Per is 8808h0m0s"},
		{func(l *declare.Limit) { l.Rate = 0 }, "Per is 1s without a Rate"},
	} {
		l := good
		c.change(&l)
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", l, err, c.want)
		}
	}
}

func TestSettingsNameEachLimitOnce(t *testing.T) {
	for _, c := range []struct {
		uses []declare.LimitUse
		want string
	}{
		{[]declare.LimitUse{{Limit: ""}}, "a limit needs a name"},
		{[]declare.LimitUse{{Limit: "mail"}, {Limit: "mail", By: "to"}}, `the limit "mail" is there twice`},
	} {
		settings := declare.DefaultSettings()
		settings.Limits = c.uses
		if err := settings.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.uses, err, c.want)
		}
	}
}

func TestTheJSONOfSettingsHasTheirLimits(t *testing.T) {
	settings := declare.DefaultSettings()
	settings.Limits = []declare.LimitUse{{Limit: "mail"}, {Limit: "stripe", By: "customer.id"}}
	encoded, err := json.Marshal(settings)
	if want := `"limits":[{"limit":"mail"},{"limit":"stripe","by":"customer.id"}]`; err != nil || !strings.Contains(string(encoded), want) {
		t.Fatalf("got %s, %v; want %s", encoded, err, want)
	}
}

func TestACatalogueRefusesLimitsThatAreNotValid(t *testing.T) {
	mail := declare.Limit{Name: "mail", AtOnce: 1}
	for _, c := range []struct {
		limits []declare.Limit
		want   string
	}{
		{[]declare.Limit{{Name: "mail"}}, `limit "mail": neither AtOnce nor Rate`},
		{[]declare.Limit{mail, mail}, `two limits are named "mail"`},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, c.want) {
					t.Errorf("%v: the panic is %q, want %q", c.limits, text, c.want)
				}
			}()
			runtime.NewCatalogue().WithLimits(c.limits...)
		}()
	}
	if limits := runtime.NewCatalogue().WithLimits(mail).Limits(); len(limits) != 1 || limits[0] != mail {
		t.Errorf("the catalogue has the limits %v", limits)
	}
}
