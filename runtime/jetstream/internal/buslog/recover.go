package buslog

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// recover returns the rows of deliveries whose handlers ran when the owner died, and takes
// their claims out of the cursor. They are suspects from now on. If only one ran, that was
// a failed attempt.
func (l *Log) recover(u *unit, c *cursor) (msgs []*stream.Msg, crashes []engine.Crash, err error) {
	ran, counting, sure, beside := l.ranBeside(u, c)
	for _, claim := range c.Ran {
		l.mu.Lock()
		before := u.sub.rows[claim.Seq]
		l.mu.Unlock()
		var r *row
		switch {
		case before != nil && !before.open():
			continue
		case before != nil:
			r = before.clone()
		default:
			l.mu.Lock()
			e, err := l.event(claim.Seq)
			l.mu.Unlock()
			if errors.Is(err, stream.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			r = newRow(e)
		}
		r.State, r.Due = waiting, time.Time{}
		crash := engine.Crash{Subscription: l.nameOfUnit(u), Ran: ran}
		switch {
		case claim.Waits && counting > 0:
			r.Uncounted++
		case sure && (counting == 1 || ran == 1):
			attempt := engine.FailedAttempt{Kind: engine.KindCrash, Ended: time.Now().UTC(), Error: engine.CrashText}
			r.Attempts = append(r.Attempts, attempt)
			r.Failures++
			r.Crashed, r.Suspect, r.PutOff = true, true, true
			crash.Attempt = &attempt
		default:
			r.Uncounted++
			r.Suspect, r.PutOff = true, true
			shared := engine.SharedCrash{At: time.Now().UTC()}
			for _, key := range beside {
				if key.EventID != r.ID || key.Subscription != u.sub.Name {
					shared.Beside = append(shared.Beside, key)
				}
			}
			r.Crashes = append(r.Crashes, shared)
		}
		l.mu.Lock()
		rev := u.sub.revOf(claim.Seq)
		crash.Delivery = *(&consumer{unit: u}).deliveryOf(r.record(), r)
		l.mu.Unlock()
		crashes = append(crashes, crash)
		msgs = append(msgs, l.rowMsg(u.sub.ID, r, rev))
		open := c.Open[:0:0]
		for _, seq := range c.Open {
			if seq != claim.Seq {
				open = append(open, seq)
			}
		}
		c.Open = open
	}
	c.Ran = nil
	return msgs, crashes, nil
}

// ranBeside returns how many handlers ran when an owner died, in all subscriptions, and how
// many of them did not wait for others. It is sure if no others can have run.
func (l *Log) ranBeside(u *unit, c *cursor) (ran, counting int, sure bool, beside []engine.Key) {
	sure = true
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.subs {
		all, busy := s.cursor.Ran, s.cursor.Busy
		switch {
		case s == u.sub:
			all, busy = c.Ran, c.Busy
		case s.cursor.Owner != c.Owner:
			if s.cursor.Former == c.Owner {
				ran, counting = ran+len(s.cursor.FormerRan), counting+s.cursor.FormerCounting
				beside = append(beside, keysOf(s, s.cursor.FormerRan)...)
				sure = sure && !s.cursor.FormerBusy
			}
			continue
		}
		sure = sure && !busy
		for _, one := range all {
			ran++
			if !one.Waits {
				counting++
				beside = append(beside, engine.Key{EventID: one.ID, Subscription: s.Name})
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
