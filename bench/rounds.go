package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// A slice is some work of one of the two sides, and how long it took.
type slice struct {
	events int
	took   time.Duration
}

func (s slice) perSecond() float64 { return float64(s.events) / s.took.Seconds() }

// A round is one slice of each side.
type round struct {
	bus, limit slice
}

func (r round) ratio() float64 { return r.bus.perSecond() / r.limit.perSecond() }

// takeTurns lets both sides work for about total, in slices of length each,
// and returns what counts of it: see [middle].
//
// A machine that does other things too, and its disk most of all, gets slower
// and faster all the time. Short slices that are neighbours see the same of it,
// and who goes first alternates, so that a drift favours nobody.
func takeTurns(ctx context.Context, total, each time.Duration, bus, limit func(d time.Duration) (int, error)) (round, error) {
	var rounds []round
	for until := time.Now().Add(total); len(rounds) == 0 || time.Now().Before(until); {
		if err := ctx.Err(); err != nil {
			return round{}, err
		}
		var r round
		turns := []func() error{
			func() (err error) { r.bus, err = work(bus, each); return err },
			func() (err error) { r.limit, err = work(limit, each); return err },
		}
		if len(rounds)%2 == 1 {
			slices.Reverse(turns)
		}
		for _, turn := range turns {
			if err := turn(); err != nil {
				return round{}, err
			}
		}
		rounds = append(rounds, r)
	}
	return middle(rounds), nil
}

// work runs one slice.
func work(do func(d time.Duration) (int, error), d time.Duration) (slice, error) {
	began := time.Now()
	events, err := do(d)
	took := time.Since(began)
	if err == nil && events == 0 {
		err = errors.New("nothing was done in a slice")
	}
	return slice{events: events, took: took}, err
}

// middle adds up the middle half of the rounds when they are ordered by ratio.
// The others are those in which something disturbed one side and not the other,
// such as a disk that stood still.
func middle(rounds []round) (sum round) {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b round) int { return cmp.Compare(a.ratio(), b.ratio()) })
	outer := len(sorted) / 4
	for _, r := range sorted[outer : len(sorted)-outer] {
		sum.bus.events += r.bus.events
		sum.bus.took += r.bus.took
		sum.limit.events += r.limit.events
		sum.limit.took += r.limit.took
	}
	return sum
}
