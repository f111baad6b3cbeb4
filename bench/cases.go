package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// A benchCase is one line of the report.
type benchCase struct {
	name string
	doc  string
	// run measures for about total, with its files in dir.
	run func(ctx context.Context, total time.Duration, dir string) (result, error)
}

// Slices are as short as they can be while starting and ending the goroutines
// of a case, and waiting for its last event, does not weigh in.
var cases = []benchCase{
	{"publish-1", "one publisher, nobody subscribed; limit: 1 row per commit",
		throughput(publishers(1), 1, 10*time.Millisecond)},
	{"publish-16", "16 publishers at once; limit: 16 rows per commit",
		throughput(publishers(16), 16, 20*time.Millisecond)},
	{"publish-128", "128 publishers at once; limit: 128 rows per commit",
		throughput(publishers(128), 128, 40*time.Millisecond)},
	{"batch-1000", "one publisher of batches of 1000; limit: 1000 rows per commit",
		throughput(batches(1000), 1000, 40*time.Millisecond)},
	{"e2e-1", "128 publishers until one handler has handled everything; limit: 128 rows per commit",
		throughput(handled(publishers(128)), 128, 100*time.Millisecond)},
	{"latency-idle", "from one publish to its handler while nothing else goes on; limit: one commit of 1 row",
		latency},
}

// throughput compares a load on a bus with the bare loop at that many rows per
// commit.
//
// Each has one file for all its slices. A new file per slice would leave out
// what a log in use pays for all the time: moving the write-ahead log into the
// database every thousand pages, and an index of more than a few pages. Both
// files start empty and grow side by side.
func throughput(l load, rows int, slice time.Duration) func(context.Context, time.Duration, string) (result, error) {
	return func(ctx context.Context, total time.Duration, dir string) (r result, err error) {
		bare, err := openLimit(ctx, filepath.Join(dir, "limit.db"))
		if err != nil {
			return result{}, err
		}
		defer func() { err = errors.Join(err, bare.close()) }()
		bus, err := openBus(ctx, filepath.Join(dir, "bus.db"))
		if err != nil {
			return result{}, err
		}
		defer func() { err = errors.Join(err, bus.Shutdown(context.WithoutCancel(ctx))) }()
		if err := l.prepare(ctx, bus); err != nil {
			return result{}, err
		}
		sum, err := takeTurns(ctx, total, slice,
			func(d time.Duration) (int, error) { return l.publish(ctx, bus, d) },
			func(d time.Duration) (int, error) { return bare.insertFor(d, rows) })
		if err != nil {
			return result{}, err
		}
		return result{PerSecond: sum.bus.perSecond(), Limit: sum.limit.perSecond(), Ratio: sum.ratio()}, nil
	}
}

// A load is what a bus is given to do.
type load struct {
	prepare func(ctx context.Context, b *bus) error
	// publish publishes for that long and returns how many events it was.
	publish func(ctx context.Context, b *bus, d time.Duration) (int, error)
}
