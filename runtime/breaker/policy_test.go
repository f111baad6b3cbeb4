package breaker_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
)

func TestTheDefaultIsThatOfTheDocumentation(t *testing.T) {
	want := breaker.Policy{Threshold: 0.5, MinSamples: 4, Window: time.Minute, OpenFor: 30 * sec}
	if got := breaker.Default(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWithChangesACopy(t *testing.T) {
	p := breaker.Default()
	q := p.With(breaker.Threshold(0.25), breaker.MinSamples(9), breaker.Window(2*sec), breaker.OpenFor(3*sec), breaker.Off())
	if p != breaker.Default() {
		t.Errorf("the receiver changed to %+v", p)
	}
	want := breaker.Policy{Off: true, Threshold: 0.25, MinSamples: 9, Window: 2 * sec, OpenFor: 3 * sec}
	if q != want {
		t.Errorf("got %+v, want %+v", q, want)
	}
}

func TestAnOptionChangesItsFieldOnly(t *testing.T) {
	set := breaker.Policy{Off: true, Threshold: 0.25, MinSamples: 9, Window: 2 * sec, OpenFor: 3 * sec}
	tests := []struct {
		name   string
		option breaker.Option
		reset  func(*breaker.Policy)
	}{
		{"none", breaker.Option{}, func(*breaker.Policy) {}},
		{"Off", breaker.Off(), func(*breaker.Policy) {}},
		{"Threshold", breaker.Threshold(0), func(p *breaker.Policy) { p.Threshold = 0 }},
		{"MinSamples", breaker.MinSamples(0), func(p *breaker.Policy) { p.MinSamples = 0 }},
		{"Window", breaker.Window(0), func(p *breaker.Policy) { p.Window = 0 }},
		{"OpenFor", breaker.OpenFor(0), func(p *breaker.Policy) { p.OpenFor = 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := set
			tt.reset(&want)
			if got := set.With(tt.option); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	if got := breaker.Default().With(breaker.MinSamples(5), breaker.MinSamples(6)).MinSamples; got != 6 {
		t.Errorf("the last option should win, but MinSamples is %d", got)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name string
		opt  breaker.Option
		want string // part of the error; "" for none
	}{
		{"takes the default", breaker.Option{}, ""},
		{"takes one that is off", breaker.Off(), ""},
		{"takes threshold 0", breaker.Threshold(0), ""},
		{"takes a threshold below 1", breaker.Threshold(0.999), ""},
		{"refuses threshold 1, which nothing exceeds", breaker.Threshold(1), "Threshold is 1: "},
		{"refuses a negative threshold", breaker.Threshold(-0.1), "Threshold is -0.1: "},
		{"refuses a threshold that is no number", breaker.Threshold(math.NaN()), "Threshold is NaN: "},
		{"takes one sample", breaker.MinSamples(1), ""},
		{"takes ten thousand samples", breaker.MinSamples(10_000), ""},
		{"refuses no samples", breaker.MinSamples(0), "MinSamples is 0: it must be between 1 and 10000"},
		{"refuses too many samples", breaker.MinSamples(10_001), "MinSamples is 10001: "},
		{"takes a window of a second", breaker.Window(sec), ""},
		{"takes a window of a day", breaker.Window(24 * time.Hour), ""},
		{"refuses a shorter window", breaker.Window(sec - 1), "Window is 999.999999ms: it must be between 1s and 24h0m0s"},
		{"refuses a longer window", breaker.Window(24*time.Hour + 1), "Window is 24h0m0.000000001s: "},
		{"takes a millisecond of being open", breaker.OpenFor(time.Millisecond), ""},
		{"takes a day of being open", breaker.OpenFor(24 * time.Hour), ""},
		{"refuses less", breaker.OpenFor(time.Millisecond - 1), "OpenFor is 999.999µs: it must be between 1ms and 24h0m0s"},
		{"refuses more", breaker.OpenFor(24*time.Hour + 1), "OpenFor is 24h0m0.000000001s: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := breaker.Default().With(tt.opt).Validate()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestValidateNamesEveryProblemAtOnce(t *testing.T) {
	err := breaker.Policy{Off: true, Threshold: 2}.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, field := range []string{"Threshold", "MinSamples", "Window", "OpenFor"} {
		if !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("%s is missing in:\n%v", field, err)
		}
	}
}
