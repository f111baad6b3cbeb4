package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// side works for about that long, and returns how many events it was.
type side func(d time.Duration) (int, error)

var sideNames = [2]string{"bus", "nats.go"}

// slice is for how long a side works before it is the other one's turn.
const slice = 150 * time.Millisecond

// measured is what a side has done in its slices.
type measured struct {
	speeds []float64     // events per second
	events int           // in all
	spent  time.Duration // processor time of this process, servers included
}

// work lets a side work for one slice.
func (m *measured) work(do side) error {
	spent, began := processorTime(), time.Now()
	n, err := do(slice)
	if err != nil {
		return err
	}
	m.speeds = append(m.speeds, float64(n)/time.Since(began).Seconds())
	m.events, m.spent = m.events+n, m.spent+processorTime()-spent
	return nil
}

// cost returns the microseconds of processor time that an event has cost.
func (m *measured) cost() float64 { return float64(m.spent.Microseconds()) / float64(max(m.events, 1)) }

// processorTime returns what this process has used, in user mode and in the system.
func processorTime() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// measure lets the sides of a case take turns, and prints it.
func (s *setting) measure(ctx context.Context, c benchCase) error {
	defer s.end()
	var sides [2]side
	for i, open := range []func(context.Context, *setting) (side, error){c.bus, c.bare} {
		if open == nil || s.alone != "" && s.alone != sideNames[i] {
			continue
		}
		var err error
		if sides[i], err = open(ctx, s); err != nil {
			return err
		}
	}
	var all [2]measured
	order := []int{0, 1}
	for until, rounds := time.Now().Add(s.total), 0; rounds < 2 || time.Now().Before(until); rounds++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, i := range order {
			if sides[i] == nil {
				continue
			}
			if err := all[i].work(sides[i]); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	var ratios []float64
	for i := range min(len(all[0].speeds), len(all[1].speeds)) {
		ratios = append(ratios, all[0].speeds[i]/all[1].speeds[i])
	}
	fmt.Printf("%-14s %12s %12s %8s %12s %12s\n", c.name, number("%.0f", median(all[0].speeds)), number("%.0f", median(all[1].speeds)),
		number("%.2f", median(ratios)), number("%.1f", all[0].cost()), number("%.1f", all[1].cost()))
	return nil
}

// number returns a number as text, or nothing for what was not measured.
func number(format string, n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}
