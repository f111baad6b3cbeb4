package limit

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/lockorder"
)

// Limit is a limit of a set.
type Limit struct {
	declare.Limit
	set     *Set
	numbers engine.LimitRate // of this process
	buckets map[string]*bucket
	swept   int // buckets after the last sweep
}

// Use is a limit that something needs.
type Use struct {
	*Limit
	Key string // empty for none
}

// Config configures a Set.
type Config struct {
	Wall   func() time.Time                                                      // time.Now if nil
	Lease  func(ctx context.Context, tick func(Time) Time, leases []Lease) error // see LeaseLimits of package engine
	Logger *slog.Logger
}

// Set is the limits of a bus. Its methods, and those of all that it makes, are safe for
// concurrent use.
type Set struct {
	cfg    Config
	base   time.Time // when the clock of the set was 0
	limits map[string]*Limit
	closed chan struct{}

	mu      lockorder.Mutex[lockorder.Limits]
	reason  error     // why it is closed; nil before
	parked  int64     // waiters ever
	line    []*Waiter // all that are parked, in their order
	looks   uint64
	kicking bool
	again   bool // something has changed since the last look
	wanted  []*bucket
	storing bool          // a goroutine stores what is wanted
	failing bool          // storing has failed the last time
	took    time.Duration // so long it took to store the last time
	delay   time.Duration // storing takes about so long

	zero   time.Time // of the clock of the file, when that of the set was 0
	ticked tick      // the last one that this process has stored; zero before
	tried  tick      // the last one that it was to store
}

// New returns a set with these limits, which are valid.
func New(cfg Config, all ...declare.Limit) *Set {
	s := &Set{cfg: cfg, base: time.Now(), limits: map[string]*Limit{}, closed: make(chan struct{})}
	if s.cfg.Wall == nil {
		s.cfg.Wall = time.Now
	}
	s.zero = s.cfg.Wall().Round(0)
	for _, r := range all {
		l := &Limit{set: s, buckets: map[string]*bucket{}}
		l.follow(r)
		s.limits[r.Name] = l
	}
	return s
}

// follow takes in what is declared.
func (l *Limit) follow(r declare.Limit) {
	if l.Limit = r; r.Rate > 0 {
		step := max((r.Per+time.Duration(r.Rate)-1)/time.Duration(r.Rate), 1) // rounded up
		l.numbers = engine.LimitRate{Step: step, Span: time.Duration(r.Rate) * step}
	}
}

// Limit returns the limit of a name, or nil.
func (s *Set) Limit(name string) *Limit { return s.limits[name] }

// now is the time of the set. It does not follow steps of the wall clock.
func (s *Set) now() time.Duration { return time.Since(s.base) }

// Close ends all waits of [Set.Acquire], those of now and those to come, with the reason. It returns what
// was leased and is not used.
func (s *Set) Close(reason error) (unused []Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != nil {
		return nil
	}
	s.reason = reason
	close(s.closed)
	for _, w := range slices.Clone(s.line) {
		if w.granted != nil {
			w.end(reason)
		}
	}
	for _, l := range s.limits {
		for _, b := range l.buckets {
			b.stopTimer()
			if full := later(b.full, s.clock()); b.leased.After(full) {
				unused = append(unused, Lease{Limit: l.Name, Key: b.key, Full: full, Until: b.leased})
			}
		}
	}
	return unused
}

// bucket returns that of a key.
func (l *Limit) bucket(key string) *bucket {
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) > 2*l.swept+64 {
			l.sweep()
		}
		b = &bucket{limit: l, key: key, by: l.numbers}
		l.buckets[key] = b
	}
	return b
}

// sweep forgets buckets that say nothing.
func (l *Limit) sweep() {
	for key, b := range l.buckets {
		if b.idle() {
			b.stopTimer()
			delete(l.buckets, key)
		}
	}
	l.swept = len(l.buckets)
}
