package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// A waitlist is what deliveries wait for one after the other: room in a limit, by its key, a partition key, or a
// breaker by its key (bykey.go). What waits in a waitlist must not keep others from being read. So when the window is
// crowded with deliveries that wait, most of them are parked in the file (see [engine.Parker]) and the log is read on.
// The first few of each waitlist stay in memory, so that a waitlist goes on without a look into the file.
//
// Three rules keep this in order, and alive:
//
//  1. What comes from the log goes behind what is parked in one of its waitlists.
//  2. A waitlist with parked deliveries has one at least that is not: it waits in memory, it runs, or it is due in the
//     file.
//  3. Each that is settled frees the next one of each of its waitlists, in the same transaction. So in the file, too,
//     rule 2 holds at any moment. A retry in a strict order does not free its key.
//
// So keys have turns: with each that ends, its waitlist gets another one, which is due after those that were freed
// before it. Nothing of a waitlist is in memory but what waits there. If rule 2 is broken all the same, because a
// program with other keys or limits took over, or a handler's own transaction has settled its delivery, a patrol frees
// the first one of each waitlist now and then: it knows in which waitlist it was, and frees the next one there.

const (
	// crowdTime is how long deliveries must have waited before others are parked: what goes by fast costs no row.
	crowdTime = 20 * time.Millisecond
	// patrolTime is how often a few waitlists get another delivery.
	patrolTime = 10 * time.Second
	// patrolled is how many.
	patrolled = 64
	// aheadTime is how long a delivery is put off that may go before earlier ones of its key.
	aheadTime = 100 * time.Millisecond
	// headTime is how long the first of a waitlist is out of memory at least, if even these are too many.
	headTime = time.Second
)

// waitlists knows the waitlists of deliveries. It is safe for concurrent use.
type waitlists struct{ *core }

// keyWaitlist returns the waitlist of a partition key; empty for none, and for one that all deliveries of the
// subscription have.
func (l waitlists) keyWaitlist(key string) string {
	of := strings.TrimPrefix(key, l.cfg.Keyless)
	if key == "" || of == "" && l.cfg.Shared != nil && l.cfg.Shared("") {
		return ""
	}
	return engine.WaitlistOf("key", of)
}

// limitWaitlist returns the waitlist of a limit; empty for one that keeps all deliveries of the subscription from
// beginning.
func (l waitlists) limitWaitlist(name, key string) string {
	switch {
	case key != "":
		return engine.WaitlistOf("limit", name+" "+key)
	case l.cfg.Shared != nil && l.cfg.Shared(name):
		return ""
	}
	return engine.WaitlistOf("limit", name)
}

// append appends the waitlists of a delivery, that of its partition key first.
func (l waitlists) append(all []string, i *queue.Item) []string {
	if waitlist := l.keyWaitlist(i.Key); waitlist != "" {
		all = append(all, waitlist)
	}
	if i.Failure() != nil {
		return all
	}
	if waitlist := breakerWaitlist(i); waitlist != "" {
		all = append(all, waitlist)
	}
	if l.cfg.Limits == nil {
		return all
	}
	if i.Limits != nil && i.Limits.Uses != nil {
		for _, u := range i.Limits.Uses {
			if waitlist := l.limitWaitlist(u.Name, u.Key); waitlist != "" {
				all = append(all, waitlist)
			}
		}
		return all
	}
	for _, u := range l.cfg.Settings(i.Type).Limits {
		if waitlist := l.limitWaitlist(u.Limit, ""); u.By == "" && waitlist != "" {
			all = append(all, waitlist)
		}
	}
	return all
}

// free lets the next deliveries have their turn in the waitlists of one that is about to be settled, with that. One
// that was freed and is parked in another waitlist gives its turn to the next one of its waitlist. Some are parked.
func (l waitlists) free(i *queue.Item, v *engine.Disposition) {
	switch {
	case v.Kind == engine.Release:
		return
	case v.Waitlist != "":
		if i.Waitlist != "" && i.Waitlist != v.Waitlist {
			v.Frees = append(v.Frees, i.Waitlist)
		}
		return
	}
	var memory [4]string
	all := l.append(memory[:0], i)
	if i.Waitlist != "" && !slices.Contains(all, i.Waitlist) {
		all = append(all, i.Waitlist)
	}
	held := ""
	if l.cfg.Strict && ledger.PutsOff(v) {
		held = l.keyWaitlist(i.Key)
	}
	for _, waitlist := range all {
		if waitlist != held {
			v.Frees = append(v.Frees, waitlist)
		}
	}
}

// park settles a delivery with a waitlist.
func (l waitlists) park(i queue.Item, waitlist string, due time.Time) {
	v := engine.Disposition{Kind: engine.Hold, Waitlist: waitlist, Due: due, Progress: i.Progress}
	if key := l.keyWaitlist(i.Key); key != waitlist {
		v.Key = key
	}
	l.free(&i, &v)
	l.consumer.Settle(engine.Settled{Delivery: i.Delivery, Disposition: v}, nil)
}

// parkBehind parks what waits in memory for the partition key of a delivery that is about to be parked. Else that could
// come back behind it.
func (l waitlists) parkBehind(i *queue.Item, v *engine.Disposition) {
	key := l.keyWaitlist(i.Key)
	if key == "" || v.Waitlist != key && v.Key != key {
		return
	}
	for _, one := range l.queue.TakeBehind(i.Key, func(one queue.Item) bool { return !comesAgain(&one) }) {
		l.park(one, key, time.Time{})
	}
}

// parking decides what is parked. It belongs to who has the turn.
type parking struct {
	waitlists
	limits  *limits
	newest  int64       // the last event of the log that was polled
	logEnds bool        // there was no more to read of it
	crowd   int64       // what it was when the window became crowded; 0 for a window that is not
	since   time.Time   // then
	patrol  time.Time   // when the last one was
	timer   *time.Timer // signals when the crowd has waited for long enough
	rounds  *time.Timer // signals when the next patrol is
	names   []string    // memory of behind
}

// wakeAfter makes a timer signal after a while, which may be nil.
func (p *parking) wakeAfter(timer *time.Timer, d time.Duration) *time.Timer {
	if timer == nil {
		return time.AfterFunc(d, p.signal)
	}
	timer.Reset(d)
	return timer
}

// tend parks what crowds a window of a size, if it is crowded, and looks after the waitlists. It reports whether it
// has parked something.
func (p *parking) tend(crowded bool, window int) (parked bool) {
	if !crowded && p.crowd == 0 && !p.consumer.Parked() {
		return false // nearly always
	}
	return p.tendWaitlists(crowded, window)
}

func (p *parking) tendWaitlists(crowded bool, window int) (parked bool) {
	if p.cfg.Ephemeral {
		return false
	}
	if crowded {
		parked = p.relieve(window)
	} else {
		p.crowd = 0
	}
	if !p.consumer.Parked() {
		return parked
	}
	now := time.Now()
	if !p.patrol.IsZero() && now.Sub(p.patrol) < patrolTime {
		return parked
	}
	p.patrol, p.rounds = now, p.wakeAfter(p.rounds, patrolTime)
	p.consumer.Free("", patrolled)
	return parked
}

// relieve parks what has waited for a while.
func (p *parking) relieve(window int) (parked bool) {
	now := time.Now()
	if p.crowd == 0 {
		p.crowd, p.since = p.newest, now
		p.timer = p.wakeAfter(p.timer, crowdTime)
		return false
	}
	if now.Sub(p.since) < crowdTime {
		return false
	}
	var lacks map[*limit.Waiter]limit.Lack // at one moment: a place that is given back meanwhile would let some stay, before others
	if p.limits.owner != nil {
		lacks = p.limits.owner.Lacks()
	}
	waitsFor := func(i queue.Item) (waitlist string, due time.Time) {
		lack, lacks := lacks[i.Limits.Waiter]
		if !lacks {
			return "", time.Time{} // it is about to begin
		}
		return p.limitWaitlist(lack.Name, lack.Key), lack.Due
	}
	for _, one := range p.queue.Thin(p.crowd, window, waitsFor, p.keyWaitlist) {
		waitlist := one.Waitlist
		if waitlist == "" {
			waitlist = p.keyWaitlist(one.Item.Key)
		}
		due := one.Due
		if one.Head {
			due = later(due, now.Add(headTime))
		}
		p.park(one.Item, waitlist, due)
		parked = true
	}
	p.crowd = 0
	return parked
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// divert parks deliveries that have to go behind parked ones, and returns the others.
func (p *parking) divert(items []queue.Item) []queue.Item {
	for i := range items {
		if items[i].Waitlist == "" && !comesAgain(&items[i]) {
			p.newest = max(p.newest, items[i].Seq)
		}
	}
	if !p.consumer.Parked() {
		return items
	}
	left := items[:0]
	for _, i := range items {
		if p.ahead(&i) {
			p.park(i, i.Waitlist, time.Now().Add(aheadTime))
		} else if waitlist := p.behind(&i); waitlist != "" {
			p.park(i, waitlist, time.Time{})
		} else {
			left = append(left, i)
		}
	}
	return left
}

// ahead tells whether a freed delivery comes before earlier ones of its key may have been read from the log: what the
// last process had freed comes first.
func (p *parking) ahead(i *queue.Item) bool {
	return i.Waitlist != "" && i.Key != "" && i.Seq > p.newest && !p.logEnds && !comesAgain(i) && !p.queue.Hurries(i.Seq)
}

// inOrder puts those that come for the first time in the order of the log: one that was freed is due later than others
// which were in memory when the last process ended. In a strict order a retry that was freed is among them: what it
// holds up may have been freed before it.
func (p *parking) inOrder(items []queue.Item) {
	if !slices.ContainsFunc(items, func(i queue.Item) bool { return i.Waitlist != "" }) {
		return
	}
	var places []int
	var first []queue.Item
	for at, i := range items {
		if !comesAgain(&i) || p.cfg.Strict && i.Waitlist != "" && !i.Exempt {
			places, first = append(places, at), append(first, i)
		}
	}
	slices.SortStableFunc(first, func(a, b queue.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	for n, at := range places {
		items[at] = first[n]
	}
}

// comesAgain tells whether a delivery had a turn before, or a time of its own, so that it does not go behind others.
func comesAgain(i *queue.Item) bool { return queue.TriedBefore(*i) || i.Exempt || i.Snoozes > 0 }

// behind returns the waitlist in which a delivery has to go behind others; empty for none. One that comes again, or
// whose event a handler waits for, does not go behind others. One that was freed goes behind an earlier one of its key
// that has left memory since.
func (p *parking) behind(i *queue.Item) (waitlist string) {
	if comesAgain(i) || p.queue.Hurries(i.Seq) {
		return ""
	}
	all := p.append(p.names[:0], i)
	if p.names = all; i.Waitlist != "" {
		if all = all[:min(len(all), 1)]; i.Key == "" {
			return ""
		}
	}
	at, err := p.consumer.Behind(all, i.Seq)
	if err != nil {
		at = min(0, len(all)-1) // in its place, at the worst
	}
	if at < 0 {
		return ""
	}
	return all[at]
}
