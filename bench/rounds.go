package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// A side works for about that long, and returns how many events it was.
type side func(d time.Duration) (int, error)

// A slice is some work of one side, and how long it took.
type slice struct {
	events int
	took   time.Duration
}

func (s slice) perSecond() float64 { return float64(s.events) / s.took.Seconds() }

// A round is one slice of each side, in the order of the sides.
type round []slice

// takeTurns lets the sides work for about total, in slices of length each.
//
// A machine that does other things too, and its disk most of all, gets slower
// and faster all the time. Short slices that are neighbours see the same of it,
// and every other round runs backwards, so that a drift favours no side.
func takeTurns(ctx context.Context, total, each time.Duration, sides ...side) (rounds []round, err error) {
	order := make([]int, len(sides))
	for i := range order {
		order[i] = i
	}
	for until := time.Now().Add(total); len(rounds) == 0 || time.Now().Before(until); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := make(round, len(sides))
		for _, i := range order {
			if r[i], err = work(sides[i], each); err != nil {
				return nil, err
			}
		}
		rounds = append(rounds, r)
		slices.Reverse(order)
	}
	return rounds, nil
}

// work runs one slice.
func work(do side, d time.Duration) (slice, error) {
	began := time.Now()
	events, err := do(d)
	took := time.Since(began)
	if err == nil && events == 0 {
		err = errors.New("nothing was done in a slice")
	}
	return slice{events: events, took: took}, err
}

// A comparison is what one side did, and what the other did that is its limit.
type comparison struct {
	ours, limit slice
}

func (c comparison) ratio() float64 { return c.ours.perSecond() / c.limit.perSecond() }

func (c comparison) result() result {
	return result{PerSecond: c.ours.perSecond(), Limit: c.limit.perSecond(), Ratio: c.ratio()}
}

// compare adds up the middle half of the rounds when they are ordered by the
// ratio of the two sides. The others are those in which something disturbed one
// side and not the other, such as a disk that stood still.
func compare(rounds []round, ours, limit int) (sum comparison) {
	all := make([]comparison, len(rounds))
	for i, r := range rounds {
		all[i] = comparison{r[ours], r[limit]}
	}
	slices.SortFunc(all, func(a, b comparison) int { return cmp.Compare(a.ratio(), b.ratio()) })
	outer := len(all) / 4
	for _, c := range all[outer : len(all)-outer] {
		sum.ours.events += c.ours.events
		sum.ours.took += c.ours.took
		sum.limit.events += c.limit.events
		sum.limit.took += c.limit.took
	}
	return sum
}
