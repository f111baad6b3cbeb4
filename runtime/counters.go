package runtime

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/histogram"
	"github.com/busgen/busgen/runtime/observe"
)

// typeCounts counts for one event type. Subscriptions of the catalogue's types
// count in a shard of their own, so that handlers that run beside each other do
// not wait for one cache line.
type typeCounts struct {
	counts
	published, duplicates atomic.Uint64

	mu     sync.Mutex
	shards map[string]*shard // by name of the subscription
}

// shard is counts with two cache lines of their own.
type shard struct {
	counts
	_ [128 - unsafe.Sizeof(counts{})%128]byte
}

// shard returns the shard of a subscription, the same each time it is made.
func (c *typeCounts) shard(subscription string) *counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shards == nil {
		c.shards = map[string]*shard{}
	}
	if c.shards[subscription] == nil {
		c.shards[subscription] = &shard{}
	}
	return &c.shards[subscription].counts
}

// snapshot adds everything up.
func (c *typeCounts) snapshot() observe.Counts {
	total := c.counts.snapshot()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shards {
		total = sumOf(total, s.snapshot())
	}
	return total
}

// counters counts for all event types. Those of the catalogue are there from
// the start, so that counting is a look-up and an addition; others, which a
// subscription by pattern may see, are added.
type counters struct {
	order []string
	known map[string]*typeCounts
	other sync.Map // string → *typeCounts
}

func newCounters(catalogue *Catalogue) *counters {
	c := &counters{known: map[string]*typeCounts{}}
	for _, t := range catalogue.types {
		c.order = append(c.order, t.Name())
		c.known[t.Name()] = &typeCounts{}
	}
	return c
}

func (c *counters) of(eventType string) *typeCounts {
	if counts := c.known[eventType]; counts != nil {
		return counts
	}
	counts, _ := c.other.LoadOrStore(eventType, &typeCounts{})
	return counts.(*typeCounts)
}

// each calls visit for every event type: those of the catalogue in its order,
// then the others in none.
func (c *counters) each(visit func(eventType string, counts *typeCounts)) {
	for _, name := range c.order {
		visit(name, c.known[name])
	}
	c.other.Range(func(name, counts any) bool {
		visit(name.(string), counts.(*typeCounts))
		return true
	})
}

func (c *counters) snapshot() []observe.TypeStats {
	stats := make([]observe.TypeStats, 0, len(c.order))
	c.each(func(name string, counts *typeCounts) {
		t := observe.TypeStats{Type: name, Published: counts.published.Load(), Duplicates: counts.duplicates.Load(), Counts: counts.snapshot()}
		t.DuplicateRate, t.Rates = share(t.Duplicates, t.Published+t.Duplicates), t.Counts.Rates()
		stats = append(stats, t)
	})
	slices.SortFunc(stats[len(c.order):], func(a, b observe.TypeStats) int { return strings.Compare(a.Type, b.Type) })
	return stats
}

// published counts events that were stored, and tells the observers.
func (b *innerBus) published(records []engine.Record) {
	for i := range records {
		if counts := b.counters.of(records[i].Type); records[i].Duplicate {
			counts.duplicates.Add(1)
		} else {
			counts.published.Add(1)
		}
	}
	b.tellPublished(records)
}

// publishing is [Bus.published] for events that are stored with the success of a handler, and does not tell the
// observers. Those with a dedupe key are counted when they are, because another event may be first.
func (b *innerBus) publishing(staged []engine.Record) {
	for i := range staged {
		switch r := &staged[i]; {
		case r.Duplicate:
			b.counters.of(r.Type).duplicates.Add(1)
		case r.Dedupe == nil:
			b.counters.of(r.Type).published.Add(1)
		}
	}
}

func (b *innerBus) tellPublished(records []engine.Record) {
	if b.observers.any() {
		for i := range records {
			tell(&b.observers, toPublished, publishedInfo(&records[i]))
		}
	}
}

// subscriptionCounts counts for one subscription.
type subscriptionCounts struct {
	counts
	latency, handler histogram.Recorder
	slowEvents       slowEvents
	queued           atomic.Bool        // the last event handled at its first attempt had waited for a long time
	byType           map[string]*counts // its shards; never changed
	only             string             // the one event type; empty if there are several
	ofOnly           *counts            // its shard
}

// counter is the [dispatch.Counter] of a subscription. It counts for the
// subscription and for the event type, and tells the observers.
type counter innerSubscription

func (c *counter) ofType(a *dispatch.Attempt) *counts { return c.ofEventType(a.Type) }

func (c *counter) ofEventType(eventType string) *counts {
	if c.counts.only == eventType { // no look-up
		return c.counts.ofOnly
	}
	if counts := c.counts.byType[eventType]; counts != nil {
		return counts
	}
	return &c.bus.counters.of(eventType).counts
}

// Succeeded implements [dispatch.Counter].
func (c *counter) Succeeded(a *dispatch.Attempt, ended time.Time) {
	c.counts.handler.Add(ended.Sub(a.Started()))
	c.counts.latency.Add(ended.Sub(a.Since))
	c.noteQueued(a, ended)
	c.counts.succeeded(a)
	c.ofType(a).succeeded(a)
}

// Handled implements [dispatch.Counter].
func (c *counter) Handled(a *dispatch.Attempt, staged []engine.Record) {
	c.settled(a)
	if len(staged) > 0 {
		c.bus.publishing(staged)
	}
}

// TellHandled implements [dispatch.Counter].
func (c *counter) TellHandled(a *dispatch.Attempt, ended time.Time, staged []engine.Record) {
	c.bus.tellPublished(staged)
	info := c.info(a, a.Started(), ended.Sub(a.Started()))
	tell(&c.bus.observers, toHandled, observe.HandledInfo{AttemptInfo: info, Latency: max(ended.Sub(a.Since), 0)})
	c.ended(a, observe.EndedInfo{AttemptInfo: info, Outcome: observe.OutcomeHandled})
}

// Failed implements [dispatch.Counter].
func (c *counter) Failed(a *dispatch.Attempt, failure *event.FailedAttempt, due time.Time) (told func()) {
	retried := !due.IsZero()
	took := failure.Ended.Sub(failure.Started)
	if failure.Kind != event.KindDecode { // then there was a handler
		c.counts.handler.Add(took)
	}
	c.counts.attemptFailed(failure.Kind, retried)
	c.ofType(a).attemptFailed(failure.Kind, retried)
	if a.Batch() != nil {
		c.batches.alarm.failed(a.Critical(), failure.Error)
	}
	age, slow := time.Duration(0), false
	if retried {
		age, slow = c.noteSlowEvent(a, failure, due)
	}
	o := &c.bus.observers
	if !o.any() {
		return nil
	}
	info := c.info(a, failure.Started, took)
	return func() {
		tell(o, toFailed, observe.FailedInfo{AttemptInfo: info, Kind: failure.Kind, Error: failure.Error})
		end := observe.EndedInfo{AttemptInfo: info, Outcome: observe.OutcomeRetried, Kind: failure.Kind, Error: failure.Error, Due: due}
		if !retried {
			end.Outcome = observe.OutcomeDiscarded
			c.failedLast(a, end)
			return
		}
		tell(o, toRetrying, observe.RetryingInfo{AttemptInfo: info, Due: due, Delay: due.Sub(failure.Ended), Error: failure.Error})
		c.ended(a, end)
		if slow {
			tell(o, toSlowEvent, observe.SlowEventInfo{AttemptInfo: info, Age: age, Due: due, Error: failure.Error})
		}
	}
}

// Dead implements [dispatch.Counter].
func (c *counter) Dead(a *dispatch.Attempt, reason string, last *event.FailedAttempt) (told func()) {
	if !c.config.ephemeral {
		c.bus.causes.add(causeKey{a.ID, c.feed.name}, a.Failed(), last.Error)
	}
	c.settled(a)
	c.counts.died(a, reason)
	c.ofType(a).died(a, reason)
	o := &c.bus.observers
	if !o.any() {
		return nil
	}
	info := c.info(a, last.Started, last.Ended.Sub(last.Started))
	return func() {
		tell(o, toDead, observe.DeadInfo{AttemptInfo: info, Reason: reason, LastError: last.Error})
		if last.Started.IsZero() {
			c.watchUntried(a)
		}
		c.ended(a, observe.EndedInfo{AttemptInfo: info, Outcome: observe.OutcomeDead, Kind: last.Kind, Error: last.Error, Reason: reason})
		if a.Critical() {
			later(o, toAlert, observe.AlertInfo{AttemptInfo: info, Reason: reason, LastError: last.Error})
		}
	}
}

// started tells observers that a handler is about to be called.
func (c *counter) started(a *dispatch.Attempt) {
	tell(&c.bus.observers, toStarted, c.info(a, a.Started(), 0))
}

// Discarded implements [dispatch.Counter].
func (c *counter) Discarded(a *dispatch.Attempt, reason string, ended time.Time) (told func()) {
	took := ended.Sub(a.Started())
	c.counts.handler.Add(took)
	c.settled(a)
	c.counts.wasDiscarded(a)
	c.ofType(a).wasDiscarded(a)
	o := &c.bus.observers
	if !o.any() {
		return nil
	}
	info := c.info(a, a.Started(), took)
	return func() {
		tell(o, toDiscarded, observe.DiscardedInfo{AttemptInfo: info, Reason: reason})
		c.ended(a, observe.EndedInfo{AttemptInfo: info, Outcome: observe.OutcomeDiscarded, Reason: reason})
	}
}

// Snoozed implements [dispatch.Counter].
func (c *counter) Snoozed(a *dispatch.Attempt, until, ended time.Time) (told func()) {
	took := ended.Sub(a.Started())
	c.counts.handler.Add(took)
	c.counts.snoozed.Add(1)
	c.ofType(a).snoozed.Add(1)
	o := &c.bus.observers
	if !o.any() {
		return nil
	}
	info := c.info(a, a.Started(), took)
	return func() {
		tell(o, toSnoozed, observe.SnoozedInfo{AttemptInfo: info, Until: until})
		c.ended(a, observe.EndedInfo{AttemptInfo: info, Outcome: observe.OutcomeSnoozed, Due: until})
	}
}

// Suspended implements [dispatch.Counter].
func (c *counter) Suspended(a *dispatch.Attempt, until, ended time.Time) (told func()) {
	took := ended.Sub(a.Started())
	c.counts.handler.Add(took)
	if !c.bus.observers.any() {
		return nil
	}
	info := c.info(a, a.Started(), took)
	return func() {
		c.ended(a, observe.EndedInfo{AttemptInfo: info, Outcome: observe.OutcomeSuspended, Due: until})
	}
}

// Slow implements [dispatch.Counter].
func (c *counter) Slow(a *dispatch.Attempt, running time.Duration) (told func()) {
	c.counts.slow.Add(1)
	c.ofType(a).slow.Add(1)
	if !c.bus.observers.any() {
		return nil
	}
	info := c.info(a, a.Started(), running)
	return func() { tell(&c.bus.observers, toSlow, observe.SlowInfo{AttemptInfo: info}) }
}

// Abandoned implements [dispatch.Counter].
func (c *counter) Abandoned(a *dispatch.Attempt, delta int) {
	c.counts.abandoned.Add(int64(delta))
	c.ofType(a).abandoned.Add(int64(delta))
}

// info describes an attempt to observers.
func (c *counter) info(a *dispatch.Attempt, started time.Time, took time.Duration) observe.AttemptInfo {
	return observe.AttemptInfo{
		ID: a.ID, Type: a.Type, PublishedAt: a.CreatedAt, Subscription: c.name, Group: c.config.group, Ephemeral: c.config.ephemeral,
		Attempt: a.Number, MaxAttempts: a.Max(), Started: started, Took: took,
	}
}

// counts are [observe.Counts] that are still counting.
type counts struct {
	handled, recovered, failed, retried, timeouts, dead, expired, discarded, unrecovered, snoozed, slow atomic.Uint64

	abandoned atomic.Int64
}

func (c *counts) snapshot() observe.Counts {
	return observe.Counts{
		Handled: c.handled.Load(), Recovered: c.recovered.Load(), Failed: c.failed.Load(), Retried: c.retried.Load(),
		Timeouts: c.timeouts.Load(), Dead: c.dead.Load(), Expired: c.expired.Load(), Discarded: c.discarded.Load(),
		Unrecovered: c.unrecovered.Load(), Snoozed: c.snoozed.Load(), Slow: c.slow.Load(), Abandoned: c.abandoned.Load(),
	}
}

func (c *counts) succeeded(a *dispatch.Attempt) {
	c.handled.Add(1)
	if a.Retry() {
		c.recovered.Add(1)
	}
}

func (c *counts) attemptFailed(kind string, retried bool) {
	c.failed.Add(1)
	if retried {
		c.retried.Add(1)
	}
	if kind == event.KindTimeout {
		c.timeouts.Add(1)
	}
}

func (c *counts) died(a *dispatch.Attempt, reason string) {
	c.dead.Add(1)
	retried := a.Retry()
	switch reason {
	case event.ReasonExpired:
		c.expired.Add(1)
	case event.ReasonCrash:
		retried = a.Failures > 1 // its last attempt counts among them
	}
	if retried {
		c.unrecovered.Add(1)
	}
}

func (c *counts) wasDiscarded(a *dispatch.Attempt) {
	c.discarded.Add(1)
	if a.Retry() {
		c.unrecovered.Add(1)
	}
}
