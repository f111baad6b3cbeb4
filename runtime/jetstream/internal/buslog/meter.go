package buslog

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// count counts what is open for a subscription, up to a limit, and the delayed events among it that have no row yet. It
// looks at so many events, if bound is not 0, and reports whether all are counted.
func (rd *reader) count(ctx context.Context, s *sub, limit, bound int) (open, delayed int, oldest time.Time, all bool, err error) {
	for range 3 {
		before := rd.applied
		open, delayed, oldest, all, err = rd.countOnce(ctx, s, limit, bound)
		if err != nil || rd.applied == before { // nothing came while the server was asked
			break
		}
	}
	return open, delayed, oldest, all, err
}

func (rd *reader) countOnce(ctx context.Context, s *sub, limit, bound int) (open, delayed int, oldest time.Time, all bool, err error) {
	add := func(at time.Time) {
		if open++; oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	for _, r := range s.rows {
		if r.State.Open() {
			add(r.CreatedAt)
		}
	}
	all, err = rd.eachPending(ctx, s, bound, func(r *engine.Record) bool {
		if add(r.CreatedAt); !r.Due.IsZero() {
			delayed++
		}
		return open < limit
	})
	return open, delayed, oldest, all, err
}

// Pending implements [engine.Meter].
func (l *Log) Pending(ctx context.Context, limit int) (most int, err error) {
	if err := l.sync(ctx); err != nil {
		return 0, err
	}
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	for _, s := range l.inOrder() {
		n, _, _, _, err := l.count(ctx, s, limit, 0)
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
	return min(most, limit), nil
}

// runningDelay is how long an attempt runs before it is counted.
const runningDelay = 5 * time.Millisecond

// Subscriptions implements [engine.Meter].
func (l *Log) Subscriptions(ctx context.Context, limit int) (lags []event.SubscriptionState, err error) {
	if err := l.sync(ctx); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	for _, s := range l.inOrder() {
		lag, err := l.lagOf(ctx, s, limit)
		if err != nil {
			return nil, err
		}
		lag.Name = s.nameHere()
		lags = append(lags, lag)
	}
	return lags, nil
}

// lagOf counts for one subscription, and looks at a few times as many events as the limit at most. Where that does not
// suffice, the server counts what is left of the log. It gives mu back while the server is asked.
func (l *Log) lagOf(ctx context.Context, s *sub, limit int) (event.SubscriptionState, error) {
	bound := 0
	if limit < math.MaxInt/4 {
		bound = 4*limit + 1
	}
	open, delayed, oldest, all, err := l.count(ctx, s, max(limit, 1), bound)
	if err != nil {
		return event.SubscriptionState{}, err
	}
	lag := event.SubscriptionState{
		Waiting: delayed, Name: s.Name, Pattern: s.Pattern, Backlog: min(open, limit), BacklogAtMost: open, Oldest: oldest,
		Paused: l.registry.pauseAt(engine.Pause{Kind: engine.PauseSubscription, Target: s.Name}) >= 0,
	}
	if !all {
		left, err := l.leftOf(ctx, s)
		if err != nil {
			return lag, err
		}
		lag.BacklogAtMost = max(open, left)
	}
	runs, u := map[int64]bool{}, l.units[s.ID]
	if u != nil {
		u.shut()
		for _, f := range u.flights.all {
			if f.begun && !f.ended {
				runs[f.record.Seq] = true
				if time.Since(f.began()) >= runningDelay {
					lag.Running++
				}
			}
		}
	}
	for _, at := range s.live() {
		if u != nil && u.parts[at].owned {
			continue
		}
		for _, claim := range s.parts[at].Ran {
			if !claim.Left {
				runs[claim.Seq] = true
				lag.Running++
			}
		}
	}
	for _, r := range s.rows {
		switch {
		case r.State == ledger.Dead:
			lag.Dead++
		case runs[r.Seq]:
		case r.forVersion():
			lag.Held++
			lag.Newer = engine.WithNewer(lag.Newer, event.Newer{Type: l.registry.nameOf(r.Type), Version: r.Version, Events: 1, Since: r.HeldSince.UTC()})
		case r.forPause() && l.typePaused(r.Type):
			lag.Held++
		case r.State.Open():
			if lag.Waiting++; r.State == ledger.Waiting && r.Due.After(time.Now()) {
				if lag.Later++; lag.NextDue.IsZero() || r.Due.Before(lag.NextDue) {
					lag.NextDue = r.Due.UTC()
				}
			}
		}
	}
	return lag, err
}

// leftOf returns how many events a subscription has yet to pass, and rows that are open.
func (rd *reader) leftOf(ctx context.Context, s *sub) (int, error) {
	next, left := s.next(), len(s.open())
	for seq, r := range s.rows {
		if r.State.Open() && seq < next {
			left++
		}
	}
	rd.mu.Unlock()
	defer rd.mu.Lock()
	n, err := rd.stream.CountFrom(ctx, rd.subject(eventToken, ">"), next)
	return left + int(n), rd.storage("read", err)
}

// searched is how many events Unhandled looks at.
const searched = 10_000

// Unhandled implements [engine.Meter].
func (l *Log) Unhandled(ctx context.Context, handled []engine.Consumer, after int64, relevant func(string) bool) (found engine.Unhandled, err error) {
	if err := l.sync(ctx); err != nil {
		return found, err
	}
	if err := l.enter(); err != nil {
		return found, err
	}
	defer l.mu.Unlock()
	ours := map[string]bool{}
	for _, c := range handled {
		ours[c.(*consumer).unit.sub.ID] = true
	}
	for _, s := range l.inOrder() {
		if ours[s.ID] {
			continue
		}
		open, _, oldest, _, err := l.count(ctx, s, 1, searched)
		if open == 0 && err == nil { // the newest ones, too
			err = l.each(ctx, max(s.next(), s.clear+1, l.applied-searched), func(r *engine.Record) bool {
				if s.pending(r) {
					open, oldest = 1, r.CreatedAt
				}
				return open == 0
			})
		}
		if err != nil {
			return found, err
		}
		if open > 0 {
			found.Consumers = append(found.Consumers, engine.Backlog{Name: s.Name, Pattern: s.Pattern, Oldest: oldest})
		}
	}
	found.Last = l.applied
	types, looked := map[string]bool{}, 0
	add := func(eventType string) {
		routed := slices.ContainsFunc(l.inOrder(), func(s *sub) bool { return s.routes[eventType] })
		if name := l.here[eventType]; !routed && !types[name] && name != "" && !engine.IsOwn(name) && relevant(name) {
			types[name] = true
			found.Types = append(found.Types, name)
		}
	}
	for eventType, seq := range l.seen {
		if seq > after {
			add(eventType)
		}
	}
	if after < l.loaded { // older ones are on the server
		err = l.each(ctx, after+1, func(r *engine.Record) bool {
			add(r.Type)
			looked++
			return looked < searched && r.Seq < l.loaded
		})
	}
	slices.SortFunc(found.Types, strings.Compare)
	return found, err
}
