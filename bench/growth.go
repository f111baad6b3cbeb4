package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The growth report (-growth) measures operations on small and large files, and fits how they
// grow. growth_files.go makes the files, growth_operations.go has the operations, and
// growth_report.go prints.

// A dimension is something that a file has few or many of.
type dimension struct {
	name  string // for -case
	doc   string
	sizes []int // if -events is normalGrowth

	// grow makes the file at path, or what is there larger, until it has size of them.
	grow func(ctx context.Context, path string, size int) error
	// anew: each size has a file of its own.
	anew bool
	// types and others are how many event types and subscriptions the program has beside the
	// measured ones. others have a type of their own, unless all of them want each event.
	types, others func(size int) int
	fanOut        bool
	// handles: the program has a handler for the subscription that grow has made.
	handles bool
	// prunes is how many old, settled events grow has left for a prune, or 0.
	prunes int
}

var dimensions = []dimension{
	{name: "events", doc: "events that were handled", sizes: []int{100_000, 1_000_000, 10_000_000},
		grow: growEvents, handles: true, prunes: agedEvents},
	{name: "backlog", doc: "events that wait for a subscription without a handler",
		sizes: []int{10_000, 100_000, 1_000_000},
		grow:  growBacklog},
	{name: "subscriptions", doc: "subscriptions to another event type", sizes: []int{10, 100, 1000}, anew: true,
		grow: growNothing, others: itself, prunes: agedEvents},
	{name: "fan-out", doc: "subscriptions to the event type that is published", sizes: []int{10, 100, 1000}, anew: true,
		grow: growNothing, others: itself, fanOut: true},
	{name: "types", doc: "event types", sizes: []int{10, 100, 1000}, anew: true,
		grow: growNothing, types: itself},
	{name: "retries", doc: "events that wait for a retry in an hour", sizes: []int{1000, 10_000, 100_000}, anew: true,
		grow: growRetries, handles: true},
	{name: "dead-letters", doc: "dead letters, a month old, with ten causes", sizes: []int{10_000, 100_000, 1_000_000},
		anew: true,
		grow: growDeadLetters, handles: true, prunes: agedEvents},
}

// normalGrowth is how many events the largest file has unless -events says otherwise. With
// fewer or more of them, all sizes of all dimensions are smaller or larger in proportion.
const (
	normalGrowth = 10_000_000
	shortGrowth  = 100_000
)

// pruneWait is how long after Start a bus first looks for events to prune. It is
// pruneEvery of runtime/internal/background.
const pruneWait = time.Minute

func itself(size int) int { return size }

// scaled returns the sizes for as many events: at least 1, 2 and 3.
func (d dimension) scaled(events int) []int {
	sizes := make([]int, len(d.sizes))
	for i, size := range d.sizes {
		sizes[i] = max(i+1, int(float64(size)*float64(events)/normalGrowth))
	}
	return sizes
}

// growth is what was measured of a dimension.
type growth struct {
	dimension dimension
	sizes     []int
	took      map[string][]time.Duration // by operation, for each size
}

// An exponent says how a duration grows: 0 if it does not, 1 in proportion to the size, 2 with
// its square. It is the slope of the straight line that fits best where both are logarithms.
func exponent(sizes []int, took []time.Duration) float64 {
	n := float64(len(sizes))
	var sumX, sumY, sumXX, sumXY float64
	for i, size := range sizes {
		x, y := math.Log(float64(size)), math.Log(float64(max(took[i], 1)))
		sumX, sumY, sumXX, sumXY = sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
	}
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}

// measureGrowth measures the dimensions whose names match pattern. A short run does not wait for
// a prune.
func measureGrowth(ctx context.Context, pattern *regexp.Regexp, events int, isShort bool, folder string,
	r growthReport) error {
	root, err := os.MkdirTemp(folder, "busgen-bench-")
	if err != nil {
		return fmt.Errorf("no folder for the event logs: %w", err)
	}
	defer os.RemoveAll(root)
	for _, d := range dimensions {
		if !pattern.MatchString(d.name) {
			continue
		}
		if isShort {
			d.prunes = 0
		}
		g, err := d.measure(ctx, filepath.Join(root, d.name), events)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if err := r.add(g); err != nil {
			return err
		}
	}
	return r.end(root)
}

func (d dimension) measure(ctx context.Context, folder string, events int) (g growth, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	g = growth{dimension: d, sizes: d.scaled(events), took: map[string][]time.Duration{}}
	for _, size := range g.sizes {
		if d.anew {
			if err := os.RemoveAll(folder); err != nil {
				return g, err
			}
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return g, err
		}
		path := filepath.Join(folder, "bus.db")
		if err := d.grow(ctx, path, size); err != nil {
			return g, fmt.Errorf("making a file with %d: %w", size, err)
		}
		took, err := d.operate(ctx, path, size)
		if err != nil {
			return g, fmt.Errorf("with %d: %w", size, err)
		}
		for operation, t := range took {
			g.took[operation] = append(g.took[operation], t)
		}
	}
	return g, nil
}

// runGrowth measures growth as the command line says.
func runGrowth(ctx context.Context, pattern string, events int, isShort, asJSON bool, folder string,
	w io.Writer) error {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	if events == 0 {
		if events = normalGrowth; isShort {
			events = shortGrowth
		}
	}
	var r growthReport = growthTable{w}
	if asJSON {
		r = growthLines{w}
	}
	return measureGrowth(ctx, match, events, isShort, folder, r)
}

// dimensionNames lists the names for -case.
func dimensionNames() string {
	names := make([]string, len(dimensions))
	for i, d := range dimensions {
		names[i] = d.name
	}
	return strings.Join(names, ", ")
}

// checkDimensions returns an error if the names of no dimension match pattern.
func checkDimensions(pattern string) error {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("-case %s: %w", pattern, err)
	}
	for _, d := range dimensions {
		if match.MatchString(d.name) {
			return nil
		}
	}
	return fmt.Errorf("-case %s matches nothing that can grow: use %s", pattern, dimensionNames())
}
