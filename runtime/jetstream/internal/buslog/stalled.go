package buslog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A part of a subscription, or the whole of one that is not divided, stands still when deliveries wait there that could
// be handled, and no process handles them: it has no owner, or the owner does not answer, or answers that it is idle.
// Others take it over within seconds, if there are some that handle the subscription. So it counts after stillTime.
//
// What waits in a part whose owner answers, waits for a reason that the owner knows: a limit, a breaker, the order, a slow
// handler. If there is none, the owner finds out: see itself.go.

// stillTime is for how long deliveries have to wait, and nothing to be stored, until a part stands still.
const stillTime = 15 * time.Second

// standing is a part that may stand still.
type standing struct {
	at    int
	rev   int64 // of its cursor
	owner cursor
	since time.Time
}

// noteStalled notes what stands still. It gives mu back while the server is asked.
func (in *Inspection) noteStalled(ctx context.Context, status *event.Status) error {
	for _, s := range in.inOrder() {
		at := slices.IndexFunc(status.Subscriptions, func(one event.SubscriptionState) bool { return one.Name == s.Name })
		if at < 0 {
			continue
		}
		found, err := in.stalled(ctx, s)
		if err != nil {
			return err
		}
		one := &status.Subscriptions[at]
		if one.Unhandled { // that it has no owner is no wonder
			found = slices.DeleteFunc(found, func(s event.Stalled) bool { return s.PID == 0 })
		}
		one.Stalled = found
	}
	return nil
}

// still returns what stands still of the durable consumers that this process polls, by their names.
func (l *Log) still(ctx context.Context) (map[string][]event.Stalled, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	all := map[string][]event.Stalled{}
	for _, s := range l.inOrder() {
		u := l.units[s.ID]
		if u == nil || u.consumer == nil {
			continue
		}
		if u.isStuck() {
			l.startLooks()
		}
		found, err := l.stalled(ctx, s)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			all[s.nameHere()] = found
		}
	}
	return all, nil
}

// stalled returns what stands still of a subscription. It gives mu back while the server is asked.
func (l *Log) stalled(ctx context.Context, s *sub) ([]event.Stalled, error) {
	if l.registry.pauseAt(engine.Pause{Kind: engine.PauseSubscription, Target: s.Name}) >= 0 {
		return nil, nil
	}
	var doubtful []int
	for _, at := range s.live() {
		if s.parts[at].Owner != l.instance || l.isIdle() {
			doubtful = append(doubtful, at)
		}
	}
	if len(doubtful) == 0 {
		return nil, nil
	}
	before := time.Now().Add(-stillTime)
	ready, err := l.readyBefore(ctx, s, doubtful, before)
	if err != nil {
		return nil, err
	}
	var all []standing
	for at, since := range ready {
		all = append(all, standing{at, s.parts[at].rev, s.parts[at].cursor, since})
	}
	slices.SortFunc(all, func(a, b standing) int { return a.at - b.at })
	l.mu.Unlock()
	all, err = l.restOf(ctx, all, before)
	lives := l.livesOf(ctx, all)
	l.mu.Lock()
	var found []event.Stalled
	of := map[string]int{} // by owner
	for _, one := range all {
		now, owned := lives[one.owner.Owner]
		if s.parts[one.at].rev != one.rev || owned && now == alive {
			continue
		}
		at, known := of[one.owner.Owner]
		if !known {
			at = len(found)
			of[one.owner.Owner] = at
			found = append(found, event.Stalled{Since: one.since.UTC(), PID: one.owner.PID, Host: one.owner.Host, Idle: owned && now == idle})
		}
		if found[at].Since.After(one.since) {
			found[at].Since = one.since.UTC()
		}
		if one.at != whole {
			found[at].Parts = append(found[at].Parts, one.at)
		}
	}
	for i := range found {
		if len(found[i].Parts) == partCount {
			found[i].Parts = nil
		}
	}
	return found, l.storage("read", err)
}

// readyBefore returns those parts that have deliveries which could have been handled since then, and since when. It
// looks at a limited number of events.
func (rd *reader) readyBefore(ctx context.Context, s *sub, parts []int, before time.Time) (map[int]time.Time, error) {
	ready := map[int]time.Time{}
	note := func(at int, seq int64, eventType string, since ...time.Time) {
		from := slices.MaxFunc(since, time.Time.Compare)
		if from.After(before) || !slices.Contains(parts, at) || s.asks[seq] != nil || rd.typePaused(eventType) {
			return
		}
		if known, ok := ready[at]; !ok || from.Before(known) {
			ready[at] = from
		}
	}
	for seq, r := range s.rows {
		if (r.State == ledger.Waiting || r.parked()) && !r.Cancelled {
			note(s.at(r.slot()), seq, r.Type, r.Due, r.Since, r.CreatedAt)
		}
	}
	next := s.nextAt(parts[0])
	for _, at := range parts {
		next = min(next, s.nextAt(at))
		for _, seq := range s.parts[at].Open {
			r, err := rd.event(ctx, seq)
			if errors.Is(err, stream.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, rd.storage("read", err)
			}
			if s.pending(r) {
				note(at, seq, r.Type, r.CreatedAt, r.Due)
			}
		}
	}
	looked := 0
	return ready, rd.each(ctx, max(next, s.clear+1), func(r *engine.Record) bool {
		if looked++; r.CreatedAt.After(before) || looked > searched {
			return false
		}
		if s.pending(r) {
			note(s.at(slotOf(r)), r.Seq, r.Type, r.CreatedAt, r.Due)
		}
		return len(ready) < len(parts)
	})
}

// restOf returns those of which nothing was stored since then either.
func (c *conn) restOf(ctx context.Context, all []standing, before time.Time) (rest []standing, err error) {
	for _, one := range all {
		if one.rev > 0 {
			stored, err := c.stream.StoredAt(ctx, one.rev)
			if errors.Is(err, stream.ErrNotFound) { // there is a newer one
				continue
			}
			if err != nil {
				return nil, err
			}
			if stored.After(one.since) {
				one.since = stored
			}
		}
		if !one.since.After(before) {
			rest = append(rest, one)
		}
	}
	return rest, nil
}

// livesOf asks the owners whether they are alive. An empty name is no owner.
func (c *conn) livesOf(ctx context.Context, all []standing) map[string]life {
	var owners []string
	for _, one := range all {
		if instance := one.owner.Owner; instance != "" && !slices.Contains(owners, instance) {
			owners = append(owners, instance)
		}
	}
	found := make([]life, len(owners))
	var wait sync.WaitGroup
	for i, instance := range owners {
		wait.Go(func() { found[i] = c.lifeNow(ctx, instance) })
	}
	wait.Wait()
	lives := map[string]life{}
	for i, instance := range owners {
		lives[instance] = found[i]
	}
	return lives
}
