package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// rates makes rounds of a second each, with limit at 100 events.
func rates(bus ...int) (rounds []round) {
	for _, events := range bus {
		rounds = append(rounds, round{bus: slice{events, time.Second}, limit: slice{100, time.Second}})
	}
	return rounds
}

func TestTheMiddleHalfOfTheRoundsCounts(t *testing.T) {
	tests := map[string]struct {
		rounds []round
		want   round
	}{
		"the best and the worst quarter are left out": {
			rates(1, 60, 900, 80, 2, 70, 90, 1000),
			round{bus: slice{300, 4 * time.Second}, limit: slice{400, 4 * time.Second}},
		},
		"one round counts": {
			rates(70),
			round{bus: slice{70, time.Second}, limit: slice{100, time.Second}},
		},
		"rounds are ordered by ratio, not by rate": {
			[]round{
				{bus: slice{10, time.Second}, limit: slice{20, time.Second}},
				{bus: slice{900, time.Second}, limit: slice{1000, time.Second}},
				{bus: slice{1, time.Second}, limit: slice{1, time.Second}},
				{bus: slice{100, time.Second}, limit: slice{900, time.Second}},
			},
			round{bus: slice{910, 2 * time.Second}, limit: slice{1020, 2 * time.Second}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := middle(test.rounds); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// turns lets two sides take turns for so many rounds, and returns the order.
func turns(t *testing.T, rounds int) (order string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	slice := func(name string) func(time.Duration) (int, error) {
		return func(time.Duration) (int, error) {
			if order += name; len(order) == 2*rounds {
				cancel()
			}
			return 1, nil
		}
	}
	if _, err := takeTurns(ctx, time.Hour, time.Second, slice("b"), slice("l")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return order
}

func TestTheSidesTakeTurnsInGoingFirst(t *testing.T) {
	if got, want := turns(t, 4), "bllbbllb"; got != want {
		t.Errorf("the order was %s, want %s", got, want)
	}
}

func TestThereIsAtLeastOneRound(t *testing.T) {
	one := func(time.Duration) (int, error) { return 1, nil }
	sum, err := takeTurns(t.Context(), 0, 0, one, one)
	if err != nil || sum.bus.events != 1 || sum.limit.events != 1 {
		t.Errorf("got %v, %v", sum, err)
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
	committed := []time.Duration{250 * time.Microsecond}
	want := result{PerSecond: 2000, Limit: 4000, Ratio: 0.5, P50: 500, P99: 900, Commit: 250}
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
