package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// rates makes rounds of a second each, with the limit at 100 events.
func rates(ours ...int) (rounds []round) {
	for _, events := range ours {
		rounds = append(rounds, round{{events, time.Second}, {100, time.Second}})
	}
	return rounds
}

func TestTheMiddleHalfOfTheRoundsCounts(t *testing.T) {
	tests := map[string]struct {
		rounds []round
		want   comparison
	}{
		"the best and the worst quarter are left out": {
			rates(1, 60, 900, 80, 2, 70, 90, 1000),
			comparison{ours: slice{300, 4 * time.Second}, limit: slice{400, 4 * time.Second}},
		},
		"one round counts": {
			rates(70),
			comparison{ours: slice{70, time.Second}, limit: slice{100, time.Second}},
		},
		"rounds are ordered by ratio, not by rate": {
			[]round{
				{{10, time.Second}, {20, time.Second}},
				{{900, time.Second}, {1000, time.Second}},
				{{1, time.Second}, {1, time.Second}},
				{{100, time.Second}, {900, time.Second}},
			},
			comparison{ours: slice{910, 2 * time.Second}, limit: slice{1020, 2 * time.Second}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := compare(test.rounds, 0, 1); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestAnyTwoSidesCanBeCompared(t *testing.T) {
	rounds := []round{{{50, time.Second}, {100, time.Second}, {200, 2 * time.Second}}}
	want := comparison{ours: slice{200, 2 * time.Second}, limit: slice{50, time.Second}}
	if got := compare(rounds, 2, 0); got != want || got.ratio() != 2 {
		t.Errorf("got %v with ratio %v, want %v with ratio 2", got, got.ratio(), want)
	}
}

// turns lets sides of these names take turns for so many rounds, and returns
// the order.
func turns(t *testing.T, rounds int, names ...string) (order string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sides := make([]side, len(names))
	for i, name := range names {
		sides[i] = func(time.Duration) (int, error) {
			if order += name; len(order) == rounds*len(names) {
				cancel()
			}
			return i + 1, nil
		}
	}
	if _, err := takeTurns(ctx, time.Hour, time.Second, sides...); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return order
}

func TestEveryOtherRoundRunsBackwards(t *testing.T) {
	if got, want := turns(t, 4, "b", "l"), "bllbbllb"; got != want {
		t.Errorf("the order of two sides was %s, want %s", got, want)
	}
	if got, want := turns(t, 3, "b", "l", "p"), "blpplbblp"; got != want {
		t.Errorf("the order of three sides was %s, want %s", got, want)
	}
}

func TestARoundIsInTheOrderOfTheSides(t *testing.T) {
	counts := func(n int) side { return func(time.Duration) (int, error) { return n, nil } }
	rounds, err := takeTurns(t.Context(), time.Millisecond, 0, counts(1), counts(2), counts(3))
	must(t, err)
	for i, r := range rounds {
		if len(r) != 3 || r[0].events != 1 || r[1].events != 2 || r[2].events != 3 {
			t.Errorf("round %d is %v", i, r)
		}
	}
}

func TestThereIsAtLeastOneRound(t *testing.T) {
	one := func(time.Duration) (int, error) { return 1, nil }
	if rounds, err := takeTurns(t.Context(), 0, 0, one, one); err != nil || len(rounds) != 1 {
		t.Errorf("got %v, %v", rounds, err)
	}
}

func TestASliceInWhichNothingHappensIsAnError(t *testing.T) {
	idle := func(time.Duration) (int, error) { return 0, nil }
	busy := func(time.Duration) (int, error) { return 1, nil }
	if _, err := takeTurns(t.Context(), 0, 0, busy, idle); err == nil {
		t.Error("there should be an error")
	}
}

func TestAFailureInASliceEndsTheCase(t *testing.T) {
	boom := errors.New("boom")
	fails := func(time.Duration) (int, error) { return 1, boom }
	busy := func(time.Duration) (int, error) { return 1, nil }
	if _, err := takeTurns(t.Context(), time.Hour, 0, fails, busy); !errors.Is(err, boom) {
		t.Errorf("the error is %v, want %v", err, boom)
	}
}

func TestQuantiles(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i)*time.Microsecond)
	}
	tests := map[string]struct {
		samples []time.Duration
		q, want float64
	}{
		"half of a hundred":         {hundred, 0.5, 50},
		"99 of a hundred":           {hundred, 0.99, 99},
		"of one sample, the sample": {hundred[:1], 0.5, 100},
		"of two, half is the lower": {hundred[:2], 0.5, 99},
		"of few, 99 % is the worst": {hundred[:9], 0.99, 100},
		"fractions of microseconds": {[]time.Duration{1500}, 0.5, 1.5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := quantile(test.samples, test.q); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestAHigherLatencyIsALowerRatio(t *testing.T) {
	handled := []time.Duration{400 * time.Microsecond, 500 * time.Microsecond, 900 * time.Microsecond}
	committed := []time.Duration{200 * time.Microsecond, 250 * time.Microsecond, 800 * time.Microsecond}
	want := result{PerSecond: 2000, Limit: 4000, Ratio: 0.5, P50: 500, P99: 900, Commit: 250, CommitP99: 800}
	if got := latencyResult(handled, committed); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestThousandsAreGrouped(t *testing.T) {
	tests := map[float64]string{0: "0", 7.4: "7", 999.6: "1,000", 12345: "12,345", 1234567: "1,234,567", 100: "100"}
	for number, want := range tests {
		if got := thousands(number); got != want {
			t.Errorf("%v is %q, want %q", number, got, want)
		}
	}
}
