package retry_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/retry"
)

// The schedules that people expect, as tables: delays before the executions
// from the second on, and how far jitter may move them.

const ms = time.Millisecond

func TestDelaysAndWindowsOfCommonSchedules(t *testing.T) {
	type row struct {
		execution      int
		delay, low, hi time.Duration
	}
	tests := []struct {
		name   string
		policy retry.Policy
		rows   []row
	}{
		{"a tenth of jitter, from one second to thirty", retry.Policy{
			MaxAttempts: 7, BaseDelay: sec, MaxDelay: 30 * sec, Multiplier: 2, Jitter: 0.1,
		}, []row{
			{1, 0, 0, 0},
			{2, 1 * sec, 900 * ms, 1100 * ms},
			{3, 2 * sec, 1800 * ms, 2200 * ms},
			{4, 4 * sec, 3600 * ms, 4400 * ms},
			{5, 8 * sec, 7200 * ms, 8800 * ms},
			{6, 16 * sec, 14400 * ms, 17600 * ms},
			{7, 30 * sec, 27 * sec, 30 * sec}, // never above the cap
		}},
		{"a fifth of jitter, from half a second to thirty", retry.Policy{
			MaxAttempts: 9, BaseDelay: 500 * ms, MaxDelay: 30 * sec, Multiplier: 2, Jitter: 0.2,
		}, []row{
			{2, 500 * ms, 400 * ms, 600 * ms},
			{3, 1 * sec, 800 * ms, 1200 * ms},
			{4, 2 * sec, 1600 * ms, 2400 * ms},
			{5, 4 * sec, 3200 * ms, 4800 * ms},
			{8, 30 * sec, 24 * sec, 30 * sec},
			{9, 30 * sec, 24 * sec, 30 * sec},
		}},
		{"a fifth of jitter, from one second to five minutes", retry.Policy{
			MaxAttempts: 11, BaseDelay: sec, MaxDelay: 300 * sec, Multiplier: 2, Jitter: 0.2,
		}, []row{
			{2, 1000 * ms, 800 * ms, 1200 * ms},
			{3, 2000 * ms, 1600 * ms, 2400 * ms},
			{4, 4000 * ms, 3200 * ms, 4800 * ms},
			{5, 8000 * ms, 6400 * ms, 9600 * ms},
			{6, 16000 * ms, 12800 * ms, 19200 * ms},
			{7, 32000 * ms, 25600 * ms, 38400 * ms},
			{11, 300 * sec, 240 * sec, 300 * sec},
		}},
		{"linear in steps of five seconds", retry.Policy{
			MaxAttempts: 100, Backoff: retry.Linear, BaseDelay: 5 * sec, MaxDelay: 300 * sec, Multiplier: 2, Jitter: 0.2,
		}, []row{
			{2, 5000 * ms, 4000 * ms, 6000 * ms},
			{3, 10000 * ms, 8000 * ms, 12000 * ms},
			{4, 15000 * ms, 12000 * ms, 18000 * ms},
			{5, 20000 * ms, 16000 * ms, 24000 * ms},
			{61, 300 * sec, 240 * sec, 300 * sec},
			{62, 300 * sec, 240 * sec, 300 * sec},
		}},
		{"no waits", retry.Policy{
			MaxAttempts: 2, Backoff: retry.None, BaseDelay: sec, MaxDelay: 300 * sec, Multiplier: 2, Jitter: 0.2,
		}, []row{{1, 0, 0, 0}, {2, 0, 0, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.policy.Validate(); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.rows {
				low, hi := tt.policy.Window(want.execution)
				if got := (row{want.execution, tt.policy.Delay(want.execution), low, hi}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			}
		})
	}
}

func TestTenThousandDrawsStayInTheirWindowAndFillIt(t *testing.T) {
	const draws = 10_000
	for _, jitter := range []float64{0.1, 0.2, 0.5} {
		p := retry.Default().With(retry.Jitter(jitter), retry.MaxDelay(300*sec))
		for n := 2; n <= 10; n++ { // the tenth is at the cap
			low, hi := p.Window(n)
			least, most := hi, low
			for i := range draws {
				d := p.Jittered(n, eventID(i), "mailer")
				if d < low || d > hi {
					t.Fatalf("jitter %v: draw %d before execution %d is %v, outside of [%v, %v]", jitter, i, n, d, low, hi)
				}
				least, most = min(least, d), max(most, d)
			}
			if width := hi - low; least > low+width/100 || most < hi-width/100 {
				t.Errorf("jitter %v: the draws before execution %d are in [%v, %v], which leaves some of [%v, %v] out", jitter, n, least, most, low, hi)
			}
		}
	}
}

func TestTheThousandthExecutionDoesNotOverflow(t *testing.T) {
	tests := []struct {
		backoff    retry.Backoff
		base, want time.Duration
	}{
		{retry.Exponential, 1, retry.LimitDelay},
		{retry.Exponential, sec, retry.LimitDelay},
		{retry.Exponential, retry.LimitDelay, retry.LimitDelay},
		{retry.Linear, 1, 999},
		{retry.Linear, time.Hour, retry.LimitDelay},
		{retry.Linear, retry.LimitDelay, retry.LimitDelay},
		{retry.Constant, retry.LimitDelay, retry.LimitDelay},
		{retry.None, retry.LimitDelay, 0},
	}
	for _, tt := range tests {
		p := retry.Policy{
			MaxAttempts: 1000, Backoff: tt.backoff, BaseDelay: tt.base, MaxDelay: retry.LimitDelay,
			Multiplier: retry.LimitMultiplier, Jitter: retry.LimitJitter,
		}
		last := time.Duration(0)
		for _, step := range p.Schedule() {
			if step.Delay < last || step.Lo < 0 || step.Hi < step.Lo || step.Hi > p.MaxDelay || step.Total < step.Delay {
				t.Fatalf("%v from %v: step %+v after %v", tt.backoff, tt.base, step, last)
			}
			last = step.Delay
		}
		if last != tt.want {
			t.Errorf("%v from %v: the last delay is %v, want %v", tt.backoff, tt.base, last, tt.want)
		}
		if d := p.Delay(math.MaxInt); d < last || d > retry.LimitDelay {
			t.Errorf("%v from %v: the delay of the last execution that can be counted is %v", tt.backoff, tt.base, d)
		}
	}
}

func TestOverridesOfAGroupAreMergedToTheMostPermissive(t *testing.T) {
	type opts = []retry.Option
	base := retry.Default()
	tests := []struct {
		name      string
		overrides []opts
		want      retry.Policy
	}{
		{"without overrides it is the policy itself", []opts{nil, {}}, base},
		{"the most attempts", []opts{{retry.MaxAttempts(2)}, {retry.MaxAttempts(6)}, {retry.MaxAttempts(3)}}, base.With(retry.MaxAttempts(6))},
		{"the shortest base delay", []opts{{retry.BaseDelay(5 * sec)}, {retry.BaseDelay(2 * sec)}}, base.With(retry.BaseDelay(2 * sec))},
		{"the highest cap", []opts{{retry.MaxDelay(5 * sec)}, {retry.MaxDelay(20 * sec)}}, base.With(retry.MaxDelay(20 * sec))},
		{"the highest multiplier", []opts{{retry.Multiplier(1.5)}, {retry.Multiplier(1.2)}}, base.With(retry.Multiplier(1.5))},
		{"the widest jitter", []opts{{retry.Jitter(0)}, {retry.Jitter(0.05)}}, base.With(retry.Jitter(0.05))},
		{"the backoff of the first", []opts{nil, {retry.WithBackoff(retry.Linear)}, {retry.WithBackoff(retry.None)}}, base.With(retry.WithBackoff(retry.Linear))},
		{"lower than the policy where that was meant", []opts{{retry.MaxAttempts(1)}, {retry.MaxAttempts(2), retry.Jitter(0)}},
			base.With(retry.MaxAttempts(2), retry.Jitter(0))},
		{"field by field", []opts{{retry.MaxAttempts(6), retry.BaseDelay(500 * ms)}, {retry.MaxDelay(10 * sec)}},
			base.With(retry.MaxAttempts(6), retry.BaseDelay(500*ms), retry.MaxDelay(10*sec))},
		{"the last of one member's options", []opts{{retry.MaxAttempts(9), retry.MaxAttempts(2)}, {retry.MaxAttempts(3)}}, base.With(retry.MaxAttempts(3))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, base.MostPermissive(tt.overrides...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The order in which members joined the group matters for the backoff only.
func TestTheOrderOfOverridesDoesNotMatterForNumbers(t *testing.T) {
	a := []retry.Option{retry.MaxAttempts(6), retry.BaseDelay(ms), retry.Jitter(0.3)}
	b := []retry.Option{retry.MaxAttempts(2), retry.BaseDelay(sec), retry.MaxDelay(time.Hour), retry.Multiplier(5)}
	c := []retry.Option{retry.Jitter(0.1), retry.MaxDelay(time.Minute)}
	want := retry.Default().MostPermissive(a, b, c)
	for _, order := range [][][]retry.Option{{a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
		if got := retry.Default().MostPermissive(order...); got != want {
			t.Errorf("got %s, want %s", fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
