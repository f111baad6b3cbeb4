package retry_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/retry"
)

const sec = time.Second

func TestDelayFollowsTheFormulaOfItsBackoff(t *testing.T) {
	tests := []struct {
		name   string
		policy retry.Policy
		want   []time.Duration // before execution 1, 2, 3, …
	}{
		{
			name:   "the default doubles from one second up to thirty",
			policy: retry.Default(),
			want:   []time.Duration{0, 1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 30 * sec, 30 * sec},
		},
		{
			name:   "a cap of five minutes lets the sixth retry wait 32 seconds",
			policy: retry.Default().With(retry.MaxDelay(300 * sec)),
			want:   []time.Duration{0, 1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 64 * sec, 128 * sec, 256 * sec, 300 * sec},
		},
		{
			name:   "exponential from half a second",
			policy: retry.Default().With(retry.BaseDelay(500 * time.Millisecond)),
			want:   []time.Duration{0, sec / 2, 1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 30 * sec},
		},
		{
			name:   "a broken multiplier is rounded to the nanosecond, not cut",
			policy: retry.Default().With(retry.Multiplier(1.15)),
			want:   []time.Duration{0, sec, 1150 * time.Millisecond, 1322500 * time.Microsecond},
		},
		{
			name:   "multiplier one never grows",
			policy: retry.Default().With(retry.Multiplier(1)),
			want:   []time.Duration{0, sec, sec, sec},
		},
		{
			name:   "linear in steps of ten seconds",
			policy: retry.Default().With(retry.WithBackoff(retry.Linear), retry.BaseDelay(10*sec), retry.MaxDelay(300*sec)),
			want:   []time.Duration{0, 10 * sec, 20 * sec, 30 * sec, 40 * sec},
		},
		{
			name:   "linear is capped",
			policy: retry.Default().With(retry.WithBackoff(retry.Linear), retry.BaseDelay(5*sec), retry.MaxDelay(12*sec)),
			want:   []time.Duration{0, 5 * sec, 10 * sec, 12 * sec, 12 * sec},
		},
		{
			name:   "constant",
			policy: retry.Default().With(retry.WithBackoff(retry.Constant), retry.BaseDelay(5*sec)),
			want:   []time.Duration{0, 5 * sec, 5 * sec, 5 * sec},
		},
		{
			name:   "none retries at once",
			policy: retry.Default().With(retry.WithBackoff(retry.None)),
			want:   []time.Duration{0, 0, 0},
		},
		{
			name:   "no base delay retries at once",
			policy: retry.Default().With(retry.BaseDelay(0)),
			want:   []time.Duration{0, 0, 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []time.Duration
			for n := 1; n <= len(tt.want); n++ {
				got = append(got, tt.policy.Delay(n))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("delays before executions 1, 2, … (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExecutionsBeforeTheFirstDoNotWait(t *testing.T) {
	for _, n := range []int{1, 0, -1, math.MinInt} {
		if d := retry.Default().Delay(n); d != 0 {
			t.Errorf("Delay(%d) = %v, want 0", n, d)
		}
	}
}

func TestTotalsOfTheUsualRetryBudgets(t *testing.T) {
	fiveMinutes := retry.Default().With(retry.MaxDelay(300 * sec))
	tests := []struct {
		name   string
		policy retry.Policy
		want   time.Duration
	}{
		{"the default waits seven seconds in all", retry.Default(), 7 * sec},
		{"five executions of a long job wait fifteen seconds", fiveMinutes.With(retry.MaxAttempts(5)), 15 * sec},
		{"six executions of a long job wait thirty-one seconds", fiveMinutes.With(retry.MaxAttempts(6)), 31 * sec},
		{"a command of two immediate executions waits for nothing", fiveMinutes.With(retry.MaxAttempts(2), retry.WithBackoff(retry.None)), 0},
		{"one execution waits for nothing", retry.Default().With(retry.MaxAttempts(1)), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			steps := tt.policy.Schedule()
			if len(steps) != tt.policy.MaxAttempts {
				t.Fatalf("got %d steps, want %d", len(steps), tt.policy.MaxAttempts)
			}
			if got := steps[len(steps)-1].Total; got != tt.want {
				t.Errorf("total wait is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestExhaustedCountsTheFirstExecution(t *testing.T) {
	p := retry.Default().With(retry.MaxAttempts(3))
	for failures, want := range []bool{0: false, 1: false, 2: false, 3: true, 4: true} {
		if got := p.Exhausted(failures); got != want {
			t.Errorf("Exhausted(%d) = %v, want %v", failures, got, want)
		}
	}
}

func TestWithChangesACopy(t *testing.T) {
	p := retry.Default()
	q := p.With(retry.MaxAttempts(9), retry.WithBackoff(retry.Linear), retry.BaseDelay(2*sec),
		retry.MaxDelay(9*sec), retry.Multiplier(3), retry.Jitter(0.3))
	if p != retry.Default() {
		t.Errorf("the receiver changed to %+v", p)
	}
	want := retry.Policy{MaxAttempts: 9, Backoff: retry.Linear, BaseDelay: 2 * sec, MaxDelay: 9 * sec, Multiplier: 3, Jitter: 0.3}
	if q != want {
		t.Errorf("got %+v, want %+v", q, want)
	}
}

func TestBackoffNamesRoundTrip(t *testing.T) {
	if got, want := strings.Join(retry.BackoffNames(), " "), "exponential linear constant none"; got != want {
		t.Errorf("names are %q, want %q", got, want)
	}
	for _, name := range retry.BackoffNames() {
		b, err := retry.ParseBackoff(name)
		if err != nil || b.String() != name {
			t.Errorf("ParseBackoff(%q) = %v, %v", name, b, err)
		}
	}
	_, err := retry.ParseBackoff("Linear")
	if want := `unknown backoff "Linear": use exponential, linear, constant, none`; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if got := retry.Backoff(9).String(); got != "Backoff(9)" {
		t.Errorf("got %q", got)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name string
		opts []retry.Option
		want string // part of the error; "" for none
	}{
		{"takes the default", []retry.Option{retry.MaxAttempts(4)}, ""},
		{"takes a thousand executions", []retry.Option{retry.MaxAttempts(1000)}, ""},
		{"takes a cap of thirty days", []retry.Option{retry.MaxDelay(30 * 24 * time.Hour)}, ""},
		{"takes a base delay of thirty days", []retry.Option{retry.BaseDelay(30 * 24 * time.Hour), retry.MaxDelay(30 * 24 * time.Hour)}, ""},
		{"takes no delay at all", []retry.Option{retry.BaseDelay(0), retry.MaxDelay(0)}, ""},
		{"ignores the cap of a policy that never waits", []retry.Option{retry.WithBackoff(retry.None), retry.MaxDelay(0)}, ""},
		{"refuses no execution", []retry.Option{retry.MaxAttempts(0)}, "MaxAttempts is 0"},
		{"refuses unlimited executions", []retry.Option{retry.MaxAttempts(1001)}, "MaxAttempts is 1001"},
		{"refuses an unknown backoff", []retry.Option{retry.WithBackoff(4)}, "Backoff is Backoff(4)"},
		{"refuses a negative base delay", []retry.Option{retry.BaseDelay(-1)}, "BaseDelay is -1ns"},
		{"refuses a cap above thirty days", []retry.Option{retry.MaxDelay(30*24*time.Hour + 1)}, "MaxDelay is 720h0m0.000000001s"},
		{"refuses a base delay above the cap", []retry.Option{retry.BaseDelay(time.Minute)}, "BaseDelay 1m0s is longer than MaxDelay 30s"},
		{"refuses a shrinking multiplier", []retry.Option{retry.Multiplier(0.99)}, "Multiplier is 0.99"},
		{"refuses a multiplier that is no number", []retry.Option{retry.Multiplier(math.NaN())}, "Multiplier is NaN"},
		{"refuses an infinite multiplier", []retry.Option{retry.Multiplier(math.Inf(1))}, "Multiplier is +Inf"},
		{"refuses negative jitter", []retry.Option{retry.Jitter(-0.1)}, "Jitter is -0.1"},
		{"refuses jitter above a half", []retry.Option{retry.Jitter(0.51)}, "Jitter is 0.51"},
		{"refuses jitter that is no number", []retry.Option{retry.Jitter(math.NaN())}, "Jitter is NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := retry.Default().With(tt.opts...).Validate()
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
	err := retry.Policy{Backoff: 7, BaseDelay: -1, MaxDelay: -2, Jitter: 2}.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, field := range []string{"MaxAttempts", "Backoff", "BaseDelay", "MaxDelay", "Multiplier", "Jitter"} {
		if !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("%s is missing in:\n%v", field, err)
		}
	}
}

// validPolicy draws multipliers with three decimals: growth by less than a
// float's precision per step is not growth that anyone can write.
func validPolicy(t *rapid.T) retry.Policy {
	limit := int64(retry.LimitDelay)
	maxDelay := rapid.Int64Range(0, limit).Draw(t, "max delay")
	p := retry.Policy{
		MaxAttempts: rapid.IntRange(1, retry.LimitAttempts).Draw(t, "max attempts"),
		Backoff:     retry.Backoff(rapid.IntRange(0, 3).Draw(t, "backoff")),
		BaseDelay:   time.Duration(rapid.Int64Range(0, maxDelay).Draw(t, "base delay")),
		MaxDelay:    time.Duration(maxDelay),
		Multiplier:  float64(rapid.IntRange(1000, 1000*retry.LimitMultiplier).Draw(t, "multiplier·1000")) / 1000,
		Jitter:      rapid.Float64Range(0, retry.LimitJitter).Draw(t, "jitter"),
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("the generator made an invalid policy: %v", err)
	}
	return p
}

func execution(t *rapid.T) int {
	return rapid.OneOf(
		rapid.IntRange(1, 12),
		rapid.IntRange(1, retry.LimitAttempts),
		rapid.SampledFrom([]int{1000, math.MaxInt32, math.MaxInt - 1, math.MaxInt}),
	).Draw(t, "execution")
}

func TestWaitsGrowAndStayInTheirWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, n := validPolicy(t), execution(t)
		d := p.Delay(n)
		if n >= 3 && d < p.Delay(n-1) {
			t.Errorf("Delay(%d) = %v is below Delay(%d) = %v", n, d, n-1, p.Delay(n-1))
		}
		lo, hi := p.Window(n)
		if lo < 0 || lo > d || d > hi || hi > p.MaxDelay {
			t.Errorf("want 0 ≤ lo %v ≤ delay %v ≤ hi %v ≤ max %v", lo, d, hi, p.MaxDelay)
		}
		var id [16]byte
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		subscription := rapid.String().Draw(t, "subscription")
		wait := p.Jittered(n, id, subscription)
		if wait < lo || wait > hi {
			t.Errorf("Jittered(%d) = %v is outside [%v, %v]", n, wait, lo, hi)
		}
		if again := p.Jittered(n, id, subscription); again != wait {
			t.Errorf("the same draw gave %v and then %v", wait, again)
		}
	})
}

func TestAnyPolicyAtAnyExecutionStaysWithinItsCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Policy{
			MaxAttempts: rapid.Int().Draw(t, "max attempts"),
			Backoff:     retry.Backoff(rapid.Byte().Draw(t, "backoff")),
			BaseDelay:   time.Duration(rapid.Int64().Draw(t, "base delay")),
			MaxDelay:    time.Duration(rapid.Int64().Draw(t, "max delay")),
			Multiplier:  rapid.OneOf(rapid.Float64(), rapid.Just(math.NaN()), rapid.Just(math.Inf(1))).Draw(t, "multiplier"),
			Jitter:      rapid.OneOf(rapid.Float64(), rapid.Just(math.NaN())).Draw(t, "jitter"),
		}
		n := rapid.Int().Draw(t, "n")
		limit := max(0, p.MaxDelay)
		for _, d := range []time.Duration{p.Delay(n), p.Jittered(n, [16]byte{1}, "s")} {
			if d < 0 || d > limit {
				t.Fatalf("%v is outside [0, %v]", d, limit)
			}
		}
	})
}

func TestSchedulesAgreeWithDelayAndWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := validPolicy(t)
		var total time.Duration
		for i, s := range p.Schedule() {
			lo, hi := p.Window(i + 1)
			total += p.Delay(i + 1)
			want := retry.Step{Attempt: i + 1, Delay: p.Delay(i + 1), Lo: lo, Hi: hi, Total: total}
			if s != want {
				t.Fatalf("step %d is %+v, want %+v", i, s, want)
			}
			if s.Total < 0 {
				t.Fatalf("the total overflowed at step %d", i)
			}
		}
	})
}

func ExamplePolicy_Schedule() {
	p := retry.Default().With(retry.MaxAttempts(5), retry.MaxDelay(5*time.Second))
	for _, s := range p.Schedule() {
		fmt.Printf("execution %d after %v (%v to %v), %v in all\n", s.Attempt, s.Delay, s.Lo, s.Hi, s.Total)
	}
	// Output:
	// execution 1 after 0s (0s to 0s), 0s in all
	// execution 2 after 1s (900ms to 1.1s), 1s in all
	// execution 3 after 2s (1.8s to 2.2s), 3s in all
	// execution 4 after 4s (3.6s to 4.4s), 7s in all
	// execution 5 after 5s (4.5s to 5s), 12s in all
}
