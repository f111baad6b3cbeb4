package buslog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// recover returns the rows of deliveries whose handlers ran when the owner died, at most room of
// them, and says in their claims that they are noted. They are suspects from now on. If only one
// ran, that was a failed attempt. all reports whether the claims are all noted now.
func (l *Log) recover(u *unit, c *cursor, calls called, now time.Time, room int) (msgs []*stream.Msg, crashes []engine.Crash, all bool, err error) {
	ran, counting, sure, beside := l.ranBeside(c, calls)
	due := l.clock.now()
	l.mu.Lock()
	together, name := calls.begun(u.sub.ID, u.sub.ranOf(c.Owner)), u.sub.Name
	earliest := u.sub.suspectsDue(due, together)
	l.mu.Unlock()
	c.Ran = slices.Clone(c.Ran)
	for i, claim := range c.Ran {
		if claim.Noted {
			continue
		}
		if len(msgs) >= room {
			return msgs, crashes, false, nil
		}
		c.Ran[i].Noted = true
		l.mu.Lock()
		before, err := l.wholeRow(u.sub, claim.Seq)
		l.mu.Unlock()
		if err != nil {
			return nil, nil, false, err
		}
		c.Ran[i].Suspect = before != nil && before.Suspect()
		var r *row
		switch {
		case before == nil && claim.Left, before != nil && !before.State.Open() && !(claim.Left && before.State == ledger.Dead):
			continue // a later attempt has ended it
		case before != nil:
			r = before.clone()
		default:
			l.mu.Lock()
			e, err := l.event(context.Background(), claim.Seq)
			l.mu.Unlock()
			if errors.Is(err, stream.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, nil, false, err
			}
			r = newRow(e)
		}
		if !claim.Left {
			r.State, r.Due, r.Set = ledger.Waiting, due, due
		}
		crash := engine.Crash{Subscription: l.nameOfUnit(u), Ran: cmp.Or(counting, ran)}
		waited := claim.Waits && counting > 0
		switch {
		case claim.Left: // the attempt is on record
			r.PutOff, r.Together = true, 1
		case waited:
			r.Uncounted++
		case sure && (counting == 1 || ran == 1):
			if at := r.OpenCrash; !at.IsZero() {
				r.Attempts = append(r.Attempts, engine.FailedAttempt{Kind: engine.KindCrash, Ended: at, Error: togetherText})
				r.Failures, r.Uncounted = r.Failures+1, max(0, r.Uncounted-1)
				r.Crashes = slices.DeleteFunc(r.Crashes, func(c engine.SharedCrash) bool { return c.At.Equal(at) })
			}
			r.OpenCrash = time.Time{}
			attempt := engine.FailedAttempt{Kind: engine.KindCrash, Ended: now, Error: engine.CrashText}
			r.Attempts = append(r.Attempts, attempt)
			r.Failures++
			r.Crashed, r.PutOff, r.Together, r.MaxAttempts = true, true, 1, 0
			crash.Attempt = &attempt
		default:
			r.Uncounted++
			shared := engine.SharedCrash{At: now}
			half, again := u.halfOf(r, claim, together)
			switch {
			case again: // the half stays before later ones
				r.Due = earliest
			case before == nil || !before.Suspect(): // of a suspect, it would count at once with a later one, beyond max_attempts
				r.OpenCrash = shared.At
			}
			r.PutOff, r.Together = true, half
			for _, key := range beside {
				if len(shared.Beside) < mostBeside && (key.EventID != r.ID || key.Subscription != name) {
					shared.Beside = append(shared.Beside, key)
				}
			}
			r.Crashes = append(r.Crashes, shared)
		}
		l.mu.Lock()
		rev := u.sub.revOf(claim.Seq)
		if before != nil {
			rev = before.rev
		}
		crash.Delivery = *(&consumer{unit: u}).deliveryOf(r.record(), r)
		l.mu.Unlock()
		if !claim.Left && !waited {
			crashes = append(crashes, crash)
		}
		msgs = append(msgs, l.rowMsg(u.sub.ID, r, rev))
		open := c.Open[:0:0]
		for _, seq := range c.Open {
			if seq != claim.Seq {
				open = append(open, seq)
			}
		}
		c.Open = open
	}
	return msgs, crashes, true, nil
}

// togetherText is the error of an earlier attempt that ended with its process, once the
// handler has ended a process alone.
const togetherText = "the process ended while this handler and others were running; it has ended again while this one ran alone"

// halfOf returns how many suspects a batch may have that a delivery is in which ran when the
// process died: half as many as ran together. So a crash of such a half leaves half of the
// half, until an event has ended the process alone. On this way the crashes after the first
// one, which is not of a half again, never count as failed attempts.
func (u *unit) halfOf(r *row, one claim, ran []claim) (together int, again bool) {
	if !one.Batch || one.Waits {
		return 1, false
	}
	events, suspects := 0, 0
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	for _, other := range ran {
		if !other.Batch || other.Waits {
			continue
		}
		events++
		if before := u.sub.rows[other.Seq]; other.Suspect || !other.Noted && before != nil && before.Suspect() {
			suspects++
		}
	}
	if r.Suspect() { // handlers that were left behind may have run beside it
		return (min(events, max(r.Together, 1)) + 1) / 2, suspects > 1
	}
	return (events + 1) / 2, false
}

// suspectsDue returns when the first of the suspects of former crashes is due that did not
// run, if that is before now.
func (s *sub) suspectsDue(now time.Time, ran []claim) time.Time {
	running := map[int64]bool{}
	for _, one := range ran {
		running[one.Seq] = !one.Left
	}
	for _, r := range s.rows {
		if !running[r.Seq] && r.State == ledger.Waiting && r.Suspect() && !r.Crashed && !r.Due.IsZero() && r.Due.Before(now) {
			now = r.Due
		}
	}
	return now
}

// ranOf returns the claims of a process, in all parts that it has.
func (s *sub) ranOf(owner string) (ran []claim) {
	for _, at := range s.live() {
		if s.parts[at].Owner == owner {
			ran = append(ran, s.parts[at].Ran...)
		}
	}
	return ran
}

// ranBeside returns how many handlers ran when an owner died, in all subscriptions, and how
// many of them did not wait for others. It is sure if the owner has ended and no others can
// have run.
func (l *Log) ranBeside(c *cursor, calls called) (ran, counting int, sure bool, beside []engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sure = !l.unsure[c.Owner]
	for _, s := range l.subs {
		for _, at := range s.live() {
			p := &s.parts[at]
			if p.Owner != c.Owner {
				for _, f := range p.Formers {
					if f.Owner == c.Owner {
						ran, counting = ran+len(f.Ran)+f.More, counting+f.Counting
						beside = append(beside, keysOf(s, f.Ran)...)
						sure = sure && (calls.Alone || !f.Busy)
					}
				}
				continue
			}
			sure = sure && (calls.Alone || !p.Busy)
			for _, one := range calls.begun(s.ID, p.Ran) {
				ran++
				if !one.Waits {
					counting++
					beside = append(beside, engine.Key{EventID: one.ID, Subscription: s.Name})
				}
			}
		}
	}
	return ran, counting, sure, beside
}

func keysOf(s *sub, ids []uuid.UUID) (keys []engine.Key) {
	for _, id := range ids {
		keys = append(keys, engine.Key{EventID: id, Subscription: s.Name})
	}
	return keys
}
