package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A benchCase is a column of the table.
type benchCase struct {
	name, doc string
	rounds    int // in which the peers take turns, so that all see the same disk; the fastest counts
	measure   func(ctx context.Context, m *measurement) (result, error)
}

// A result is what a round has shown of a peer: how many per second, or a text.
type result struct {
	perSecond float64
	failed    int // how many publishes have failed
	text      string
}

// none is the result of a peer that does not have what a case is about.
var none = result{text: "–"}

// rounds is how often speeds are measured.
const rounds = 4

const (
	endToEndPublishers = 16
	fanOutSubscribers  = 10
	slowHandler        = 10 * time.Millisecond
)

var cases = []benchCase{
	{"publish-1", "events per second of one publisher", rounds, publishing(1)},
	{"publish-16", "of 16 publishers", rounds, publishing(16)},
	{"publish-128", "of 128 publishers", rounds, publishing(128)},
	{"end to end", "events per second of 16 publishers, until they are handled by one subscriber that does nothing", rounds,
		func(ctx context.Context, m *measurement) (result, error) {
			return m.endToEnd(ctx, load{during: m.scale.publish}, 1, 0)
		}},
	{"10 ms", "the same with handlers that take 10 ms", rounds,
		func(ctx context.Context, m *measurement) (result, error) {
			return m.endToEnd(ctx, load{events: m.scale.slow}, 1, slowHandler)
		}},
	{"idle", "ms from a publish until its handler begins, when nothing else happens: half of them within, and the longest", 1, idle},
	{"fan-out", "deliveries per second to ten subscribers of each event", rounds,
		func(ctx context.Context, m *measurement) (result, error) {
			if !m.peer.fanOut {
				return none, nil
			}
			return m.endToEnd(ctx, load{during: m.scale.publish}, fanOutSubscribers, 0)
		}},
	{"used file", "end to end, in a file with many events that are handled", 1,
		func(ctx context.Context, m *measurement) (result, error) {
			if m.peer.multiply == nil {
				return none, nil
			}
			switch err := m.use(ctx); {
			case errors.Is(err, errNotKept):
				return none, nil
			case err != nil:
				return result{}, err
			}
			return m.endToEnd(ctx, load{during: m.scale.publish}, 1, 0)
		}},
	{"crash", "a process that is killed in a handler: seconds from the next start until that event is handled again, and how " +
		"many of 100 events were handled twice", 1, crash},
}

// measurement is one case of one peer.
type measurement struct {
	peer  peer
	tuned bool
	scale scale
	root  string
	path  string // of the file
}

func (m *measurement) file() (string, error) {
	if m.path == "" {
		folder, err := os.MkdirTemp(m.root, "")
		if err != nil {
			return "", err
		}
		m.path = filepath.Join(folder, "peer.db")
	}
	return m.path, nil
}

func (m *measurement) cleanup() error {
	if m.path == "" {
		return nil
	}
	return os.RemoveAll(filepath.Dir(m.path))
}

// open opens the peer. Without a handler it only publishes.
func (m *measurement) open(ctx context.Context, subscribers int, handle func(ctx context.Context, subscriber int, number int64) error) (system, error) {
	path, err := m.file()
	if err != nil {
		return nil, err
	}
	return m.peer.open(ctx, path, setup{tuned: m.tuned, subscribers: subscribers, handle: handle})
}

// use makes the file one that many events have gone through.
func (m *measurement) use(ctx context.Context) error {
	handled := make(chan struct{}, 1)
	s, err := m.open(ctx, 1, func(context.Context, int, int64) error {
		handled <- struct{}{}
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(s.start(ctx), s.publish(ctx, 0)); err != nil {
		return err
	}
	select {
	case <-handled:
	case <-ctx.Done():
		return ctx.Err()
	}
	// It is written down that the event is handled, but not when.
	time.Sleep(200 * time.Millisecond)
	if err := s.close(); err != nil {
		return err
	}
	return m.peer.multiply(ctx, m.path, m.scale.done)
}

// publishing lets n publishers publish, each one event after the other.
func publishing(n int) func(ctx context.Context, m *measurement) (result, error) {
	return func(ctx context.Context, m *measurement) (result, error) {
		s, err := m.open(ctx, 0, nil)
		if err != nil {
			return result{}, err
		}
		var published, failed atomic.Int64
		var publishers sync.WaitGroup
		began := time.Now()
		until := began.Add(m.scale.publish)
		for range n {
			publishers.Go(func() {
				for ctx.Err() == nil && time.Now().Before(until) {
					if err := s.publish(ctx, 1); err != nil {
						failed.Add(1)
					} else {
						published.Add(1)
					}
				}
			})
		}
		publishers.Wait()
		took := time.Since(began)
		if err := errors.Join(s.close(), ctx.Err()); err != nil {
			return result{}, err
		}
		return rate(int(published.Load()), took, int(failed.Load())), nil
	}
}

// A load is what is published while subscribers handle it: for a time, or so many events.
type load struct {
	during time.Duration
	events int64
}

// A numberSet has numbers of events, so that a peer gains nothing by handling one twice.
type numberSet struct {
	words [1 << 16]atomic.Uint64 // far more numbers than are published in a round
}

// add returns whether the number is new. It does not know numbers that are too large for it.
func (s *numberSet) add(number int64) bool {
	word, bit := number/64, uint64(1)<<(number%64)
	return word >= int64(len(s.words)) || s.words[word].Or(bit)&bit == 0
}

// endToEnd publishes from several goroutines while the subscribers handle the events, and
// returns how many deliveries there were per second until all had been handled, or until the
// limit. A delivery that comes twice counts once.
func (m *measurement) endToEnd(ctx context.Context, l load, subscribers int, takes time.Duration) (result, error) {
	var handled atomic.Int64
	seen := make([]numberSet, subscribers)
	s, err := m.open(ctx, subscribers, func(_ context.Context, subscriber int, number int64) error {
		if number > 0 { // else it is from before
			time.Sleep(takes)
			if seen[subscriber].add(number) {
				handled.Add(1)
			}
		}
		return nil
	})
	if err != nil {
		return result{}, err
	}
	if err := s.start(ctx); err != nil {
		return result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, m.scale.limit)
	defer cancel()
	began := time.Now()
	goesOn := func(number int64) bool {
		return limited.Err() == nil && (l.events == 0 || number <= l.events) && (l.during == 0 || time.Since(began) < l.during)
	}
	var next, published, failed atomic.Int64
	var publishers sync.WaitGroup
	for range endToEndPublishers {
		publishers.Go(func() {
			for number := next.Add(1); goesOn(number); number = next.Add(1) {
				if s.publish(ctx, number) == nil {
					published.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	publishers.Wait()
	for handled.Load() < published.Load()*int64(subscribers) && limited.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	took, count := time.Since(began), handled.Load()
	if err := errors.Join(s.close(), ctx.Err()); err != nil {
		return result{}, err
	}
	return rate(int(count), took, int(failed.Load())), nil
}

// idle measures one event after the other, at times that do not follow a ticker of the peer.
func idle(ctx context.Context, m *measurement) (result, error) {
	entered := make(chan time.Time, 1)
	s, err := m.open(ctx, 1, func(context.Context, int, int64) error {
		entered <- time.Now()
		return nil
	})
	if err != nil {
		return result{}, err
	}
	if err := s.start(ctx); err != nil {
		return result{}, err
	}
	var took []time.Duration
	for until := time.Now().Add(m.scale.limit); len(took) < m.scale.samples && (len(took) < 2 || time.Now().Before(until)); {
		time.Sleep(20*time.Millisecond + rand.N(100*time.Millisecond))
		began := time.Now()
		if err := s.publish(ctx, 1); err != nil {
			return result{}, err
		}
		select {
		case at := <-entered:
			took = append(took, at.Sub(began))
		case <-ctx.Done():
			return result{}, ctx.Err()
		}
	}
	slices.Sort(took)
	half, longest := took[(len(took)-1)/2], took[len(took)-1]
	return result{text: number(half.Seconds()*1000) + " / " + number(longest.Seconds()*1000)}, s.close()
}

func rate(n int, took time.Duration, failed int) result {
	return result{perSecond: float64(n) / took.Seconds(), failed: failed}
}

// fastest returns the best result, with the failures of all: whatever else the machine does
// makes a round slower, and none faster.
func fastest(all []result) result {
	best := slices.MaxFunc(all, func(a, b result) int { return cmp.Compare(a.perSecond, b.perSecond) })
	best.failed = 0
	for _, r := range all {
		best.failed += r.failed
	}
	return best
}

func (r result) String() string {
	switch {
	case r.text != "":
		return r.text
	case r.failed > 0:
		return fmt.Sprintf("%s (%d failed)", number(r.perSecond), r.failed)
	}
	return number(r.perSecond)
}

// number prints a value with two or three digits that mean something.
func number(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v < 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	step := 10.0
	if v >= 10_000 {
		step = 100
	}
	n := int(v/step+0.5) * int(step)
	if n >= 1_000_000 {
		return fmt.Sprintf("%d,%03d,%03d", n/1_000_000, n/1000%1000, n%1000)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
