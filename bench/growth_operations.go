package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/gen/bind"
	"github.com/busgen/busgen/runtime/inspect"
)

// operations are what is measured with each file, in this order. All times are medians, except
// that of prune.
var operations = []struct{ name, doc string }{
	{"open", "open the bus"},
	{"start", "start it, with its subscriptions"},
	{"publish", "publish an event, until it is on disk"},
	{"handle", "from that publish until all its handlers run"},
	{"due", "how late the handler of an event with a delay of 30 ms runs"},
	{"status", "busgen status"},
	{"hour", "the counts of the last hour, of the page for operators"},
	{"events", "the newest 100 events"},
	{"event", "one event, with its deliveries"},
	{"dead letters", "the newest 100 dead letters"},
	{"groups", "busgen dlq groups"},
	{"prune", fmt.Sprintf("delete %d old events, with the pauses of 10 ms in between", agedEvents)},
}

// How often something is done.
const (
	opens     = 5
	publishes = 100
	delays    = 10
	reads     = 9
	// readsFor is after how long the slow ones are done less often.
	readsFor = 3 * time.Second
)

// measuredName is the subscription that events are measured with.
const measuredName = "measured"

// A measured program has the bus, and is told when all subscriptions have handled an event.
type measured struct {
	bus     *bus
	left    atomic.Int64 // handlers that have yet to run
	handled chan time.Time
	fans    int64
}

// operate measures all operations on a file.
func (d dimension) operate(ctx context.Context, path string, size int) (took map[string]time.Duration, err error) {
	// Events that were published while the file was made are not for the measured subscription.
	if err := change(path, "UPDATE busgen_subscriptions SET cursor = (SELECT max(seq) FROM busgen_log) WHERE name = '"+
		measuredName+"'"); err != nil {
		return nil, err
	}
	// The first opening knows what is new, and is not measured.
	m, _, _, err := d.program(ctx, path, size)
	var opened, started []time.Duration
	for range opens {
		if err == nil {
			err = m.bus.Shutdown(ctx)
		}
		var open, start time.Duration
		if err == nil {
			m, open, start, err = d.program(ctx, path, size)
		}
		opened, started = append(opened, open), append(started, start)
	}
	if err != nil {
		return nil, err
	}
	began := time.Now()
	defer func() { err = errors.Join(err, m.bus.Shutdown(context.WithoutCancel(ctx))) }()
	took = map[string]time.Duration{"open": median(opened), "start": median(started)}
	if err := m.publish(ctx, took); err != nil {
		return nil, err
	}
	if err := look(ctx, path, took); err != nil {
		return nil, err
	}
	if d.prunes > 0 {
		took["prune"], err = pruned(ctx, path, began)
	}
	return took, err
}

// program opens a bus and starts it with all its subscriptions.
func (d dimension) program(ctx context.Context, path string, size int) (m *measured, open, start time.Duration,
	err error) {
	m = &measured{handled: make(chan time.Time, 1), fans: 1}
	types := []runtime.Definition{events.OrderPlacedType}
	names := 1
	if d.types != nil {
		names = d.types(size)
	}
	var other *runtime.EventType[events.OrderPlaced]
	for i := range names {
		other = (*runtime.EventType[events.OrderPlaced])(bind.Describe((*events.OrderPlaced)(nil), &bind.Description{Name: fmt.Sprintf("other.t%d", i), Shared: &bind.CatalogueSettings{}}))
		types = append(types, other)
	}
	catalogue := runtime.NewCatalogue(types...)
	began := time.Now()
	b, err := runtime.Open(ctx, path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	open = time.Since(began)
	if err != nil {
		return nil, 0, 0, err
	}
	m.bus = &bus{Bus: b}
	handle := func() error {
		if m.left.Add(-1) == 0 {
			m.handled <- time.Now()
		}
		return nil
	}
	err = m.bus.handle(measuredName, handle)
	if d.handles && err == nil {
		err = m.bus.handle(subscriptionName(0), handle)
		m.fans++
	}
	if d.others != nil {
		for i := range d.others(size) {
			name := fmt.Sprintf("other-%d", i)
			if err == nil && d.fanOut {
				err = m.bus.handle(name, handle)
				m.fans++
			} else if err == nil {
				_, err = runtime.Subscribe(b, other, name, func(context.Context, runtime.Event[events.OrderPlaced]) error {
					return nil
				})
			}
		}
	}
	if err == nil {
		began = time.Now()
		err = b.Start(ctx)
		start = time.Since(began)
	}
	if err != nil {
		return nil, 0, 0, errors.Join(err, b.Shutdown(context.WithoutCancel(ctx)))
	}
	return m, open, start, nil
}

// publish measures what happens to a single event.
func (m *measured) publish(ctx context.Context, took map[string]time.Duration) error {
	one := func(options ...runtime.PublishOption) (published, handled time.Duration, err error) {
		time.Sleep(pause)
		m.left.Store(m.fans)
		began := time.Now()
		if _, err := events.PublishOrderPlaced(ctx, m.bus.Bus, sample, options...); err != nil {
			return 0, 0, err
		}
		published = time.Since(began)
		select {
		case at := <-m.handled:
			return published, at.Sub(began), nil
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	var published, handled, late []time.Duration
	for range publishes {
		p, h, err := one()
		if err != nil {
			return err
		}
		published, handled = append(published, p), append(handled, h)
	}
	const delay = 30 * time.Millisecond
	for range delays {
		_, h, err := one(runtime.WithDelay(delay))
		if err != nil {
			return err
		}
		late = append(late, max(0, h-delay))
	}
	took["publish"], took["handle"], took["due"] = median(published), median(handled), median(late)
	return nil
}

// look measures what operators look at.
func look(ctx context.Context, path string, took map[string]time.Duration) (err error) {
	file, err := inspect.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	newest, _, err := file.Events(ctx, event.Filter{}, event.Page{Limit: 1})
	if err == nil && len(newest) == 0 {
		err = errors.New("the file has no event")
	}
	if err != nil {
		return err
	}
	for _, one := range []struct {
		operation string
		read      func() error
	}{
		{"status", func() error { _, err := file.Status(ctx); return err }},
		{"hour", func() error { _, err := file.Hour(ctx); return err }},
		{"events", func() error { _, _, err := file.Events(ctx, event.Filter{}, event.Page{}); return err }},
		{"event", func() error { _, err := file.Event(ctx, newest[0].ID); return err }},
		{"dead letters", func() error { _, _, err := file.DeadLetters(ctx, event.Filter{}, event.Page{}); return err }},
		{"groups", func() error { _, err := file.FailureGroups(ctx, event.Filter{}); return err }},
	} {
		var times []time.Duration
		for began := time.Now(); len(times) < reads && (len(times) == 0 || time.Since(began) < readsFor); {
			start := time.Now()
			if err := one.read(); err != nil {
				return fmt.Errorf("%s: %w", one.operation, err)
			}
			times = append(times, time.Since(start))
		}
		took[one.operation] = median(times)
	}
	return nil
}

// pruned waits until a bus that began then has looked for old events, and returns how long it
// takes to delete them.
func pruned(ctx context.Context, path string, began time.Time) (took time.Duration, err error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	seq, err := lastBefore(conn, time.Now().Add(-month/2))
	if err != nil {
		return 0, err
	}
	if seq == 0 {
		return 0, errors.New("the file has no old event")
	}
	left, _, err := conn.Prepare("SELECT 1 FROM busgen_log WHERE seq = ?")
	if err != nil {
		return 0, err
	}
	defer left.Close()
	if err := left.BindInt64(1, seq); err != nil {
		return 0, err
	}
	start := began.Add(pruneWait)
	for wait := time.Until(start); ; wait = time.Millisecond {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		there := left.Step()
		if err := left.Reset(); err != nil {
			return 0, err
		}
		switch took := time.Since(start); {
		case !there:
			return took, nil
		case took > pruneWait:
			return 0, errors.New("the old events are not pruned")
		}
	}
}

// lastBefore returns the seq of the last event that is older than a time, 0 for none. Times grow with seqs: to read all
// events of a large file would take longer than the bus needs to prune them.
func lastBefore(conn *sqlite3.Conn, before time.Time) (int64, error) {
	var last, created int64
	err := query(conn, "SELECT max(seq) FROM busgen_log", func(s *sqlite3.Stmt) { last = s.ColumnInt64(0) })
	younger := sort.Search(int(last), func(n int) bool {
		created = math.MaxInt64
		if err == nil {
			err = query(conn, fmt.Sprintf("SELECT created_at FROM busgen_log WHERE seq > %d ORDER BY seq LIMIT 1", n),
				func(s *sqlite3.Stmt) {
					created = s.ColumnInt64(0)
				})
		}
		return created >= before.UnixMicro()
	})
	return int64(younger), err
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
