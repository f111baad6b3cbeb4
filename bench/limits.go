package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A bound is what a case makes of its limit on an idle machine, which runs in turns with it, and the factor by which a
// measurement may miss it before that is an error. The factor allows for a busy machine. A bus that breaks a bound has
// become slower by an order of magnitude, on whatever machine that is. Where that is so the seeds' promises hold: 1,000
// publishes per second, 10 ms to the handler, 50 ms for a page of dead letters, 500 ms for a recovery.
type bound struct {
	name   string // of the case
	what   string
	value  func(r result) float64
	atMost bool // else at least
	source float64
	factor float64
	unit   string
}

var bounds = []bound{
	{"publish-1", "publishing one after the other, against rows", ratioOf, false, 0.9, 3, "×"},
	{"latency-idle", "from a publish to its handler, against a commit", ratioOf, false, 0.7, 3, "×"},
	{"dead-letters-10k", "a page of dead letters, against their rows", ratioOf, false, 0.27, 3, "×"},
	{"recover-100", "100 interrupted events, against others", ratioOf, false, 0.8, 4, "×"},
	{"e2e-batch", "batches written to a table, against event by event", ratioOf, false, 1.5, 2, "×"},
	{"e2e-batch-pages", "events published and handled in batches, against one by one", ratioOf, false, 1.5, 2, "×"},
	{"tx-128", "128 callers of Tx, against database/sql", ratioOf, false, 10, 5, "×"},
	{"handle-tx", "transactional handlers, against e2e-1", ratioOf, false, 0.4, 4, "×"},
	{"events-50k", "what 50,000 events leave on the heap", heapOf, true, 1, 4, "MiB"},
	{"buses-500", "what 500 buses leave on the heap", heapOf, true, 1, 4, "MiB"},
	{"ephemeral-50k", "what 50,000 ephemeral subscriptions leave there", heapOf, true, 1, 4, "MiB"},
}

func ratioOf(r result) float64 { return r.Ratio }

func heapOf(r result) float64 { return *r.Heap }

// boundTries is how often a case is measured until it is within its bound: what
// else runs on the machine comes and goes, and a bus that has become slow stays
// slow.
const boundTries = 3

// allowed is the worst value.
func (b bound) allowed() float64 {
	if b.atMost {
		return b.source * b.factor
	}
	return b.source / b.factor
}

func (b bound) holds(r result) bool {
	if b.atMost {
		return b.value(r) <= b.allowed()
	}
	return b.value(r) >= b.allowed()
}

// errBroken says that a bound does not hold.
var errBroken = errors.New("the bus is slower than it may be")

// hold measures the cases that have bounds, and says of each whether it holds.
func hold(ctx context.Context, bounds []bound, each setting, folder string, w io.Writer) error {
	fmt.Fprintf(w, "%-60s %14s %14s %14s\n", "", "measured", "usual", "allowed")
	var broken error
	for _, b := range bounds {
		ok := false
		for try := 0; try < boundTries && !ok; try++ {
			r, err := measureOne(ctx, b.name, each, folder)
			if err != nil {
				return err
			}
			ok = b.holds(r)
			says := ""
			if !ok {
				says = "   broken"
			}
			fmt.Fprintf(w, "%-60s %14s %14s %14s%s\n", b.what, b.in(b.value(r)), b.in(b.source), b.in(b.allowed()), says)
		}
		if !ok {
			broken = errors.Join(broken, fmt.Errorf("%w: %s", errBroken, b.what))
		}
	}
	return broken
}

func (b bound) in(value float64) string { return strconv.FormatFloat(value, 'f', 2, 64) + " " + b.unit }

// measureOne measures one case.
func measureOne(ctx context.Context, name string, each setting, folder string) (result, error) {
	cases, err := selectCases("^" + name + "$")
	if err != nil {
		return result{}, err
	}
	var last lastOne
	err = measure(ctx, cases, each, folder, &last)
	return last.result, err
}

// lastOne is a report that is not printed.
type lastOne struct{ result }

func (*lastOne) begin() {}

func (l *lastOne) add(r result) error {
	l.result = r
	return nil
}

func (*lastOne) end(string) {}
