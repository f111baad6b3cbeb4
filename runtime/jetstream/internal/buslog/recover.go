package buslog

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// recover returns the rows of deliveries whose handlers ran when the owner died, at most room of
// them, and says in their claims that they are noted.
func (cl *cluster) recover(u *unit, c *cursor, calls called, room int) (msgs []*stream.Msg, crashes []engine.Crash, all bool, err error) {
	others, sure, beside := cl.ranBeside(u.sub, c, calls)
	now, here := cl.clock.now(), cl.nameOf(u.sub)
	cl.mu.Lock()
	ran, name := calls.begun(u.sub.ID, u.sub.ranOf(c.Owner)), u.sub.Name
	verdicts, first := u.sub.judge(ran, others, sure), u.sub.suspectsDue(now, ran)
	cl.mu.Unlock()
	c.Ran = slices.Clone(c.Ran)
	for i, claim := range c.Ran {
		if claim.Noted {
			continue
		}
		if len(msgs) >= room {
			return msgs, crashes, false, nil
		}
		c.Ran[i].Noted = true
		cl.mu.Lock()
		r, rev, err := cl.rowOfClaim(u.sub, claim)
		cl.mu.Unlock()
		if err != nil {
			return nil, nil, false, err
		}
		if r == nil {
			continue
		}
		c.Ran[i].Suspect = r.Suspect()
		unknown, verdict := 0, verdicts[claim.Seq]
		if claim.Left {
			unknown = -1 // the attempt is on record
		}
		var effects ledger.Effects
		if r.Row, effects = r.Crash(verdict, unknown, first, now); effects.Unchanged {
			continue
		}
		if at := effects.Counted; !at.IsZero() {
			r.Attempts = append(r.Attempts, event.FailedAttempt{Kind: event.KindCrash, Ended: at, Error: togetherText})
			r.Crashes = slices.DeleteFunc(r.Crashes, func(c event.SharedCrash) bool { return c.At.Equal(at) })
		}
		if effects.Attempt != nil {
			r.Attempts = append(r.Attempts, *effects.Attempt)
		} else if effects.Crash {
			shared := event.SharedCrash{At: now}
			for _, key := range beside {
				if len(shared.Beside) < mostBeside && (key.EventID != r.ID || key.Subscription != name) {
					shared.Beside = append(shared.Beside, key)
				}
			}
			r.Crashes = append(r.Crashes, shared)
		}
		if effects.Crash {
			cl.mu.Lock()
			d := (&consumer{unit: u}).deliveryOf(r.record(), r)
			cl.mu.Unlock()
			crashes = append(crashes, engine.Crash{Subscription: here, Delivery: *d, Attempt: effects.Attempt, Ran: verdict.Ran})
		}
		msgs = append(msgs, cl.rowMsg(u.sub.ID, r, rev))
		c.Open = slices.DeleteFunc(slices.Clone(c.Open), func(seq int64) bool { return seq == claim.Seq })
	}
	return msgs, crashes, true, nil
}

// rowOfClaim returns a copy of the row of a delivery that was at work, and the sequence number of its record; nil if
// the delivery has ended or its event is gone. It gives mu back while the server is asked.
func (cl *cluster) rowOfClaim(s *sub, one claim) (*row, int64, error) {
	before, err := cl.wholeRow(s, one.Seq)
	switch {
	case err != nil:
		return nil, 0, err
	case before != nil:
		return before.clone(), before.rev, nil
	case one.Left: // a later attempt has succeeded
		return nil, 0, nil
	}
	e, err := cl.event(context.Background(), one.Seq)
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	return newRow(e), s.revOf(one.Seq), nil
}

// togetherText is the error of an earlier attempt that ended with its process, once the
// handler has ended a process alone.
const togetherText = "the process ended while this handler and others were running; it has ended again while this one ran alone"

// judge says what a crash says about deliveries that were at work, by the sequence numbers of their events.
func (s *sub) judge(ran []claim, others ledger.Others, sure bool) map[int64]ledger.Verdict {
	own, verdicts := make([]ledger.Claim, len(ran)), map[int64]ledger.Verdict{}
	for i, one := range ran {
		own[i] = ledger.Claim{Waits: one.Waits, Batch: one.Batch}
		if r := s.rows[one.Seq]; one.Noted && one.Suspect {
			own[i].Together = 1 // it was a suspect; which one is not asked any more
		} else if !one.Noted && r != nil {
			own[i].Together = r.Together
		}
	}
	for i, verdict := range ledger.Judge(own, others, sure) {
		verdicts[ran[i].Seq] = verdict
	}
	return verdicts
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

// ranBeside returns what ran beside the claims of a subscription when an owner died, and all that ran, in all
// subscriptions. It is sure if the owner has ended and no others can have run.
func (cl *cluster) ranBeside(own *sub, c *cursor, calls called) (others ledger.Others, sure bool, all []event.Key) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	sure = !cl.unsure[c.Owner]
	for _, s := range cl.subs {
		for _, at := range s.live() {
			p := &s.parts[at]
			if p.Owner != c.Owner {
				for _, f := range p.Formers {
					if f.Owner == c.Owner {
						others.AtWork, others.Counting = others.AtWork+len(f.Ran)+f.More, others.Counting+f.Counting
						all = append(all, keysOf(s, f.Ran)...)
						sure = sure && (calls.Alone || !f.Busy)
					}
				}
				continue
			}
			sure = sure && (calls.Alone || !p.Busy)
			for _, one := range calls.begun(s.ID, p.Ran) {
				if s != own {
					others.AtWork++
				}
				if !one.Waits {
					if s != own {
						others.Counting++
					}
					all = append(all, event.Key{EventID: one.ID, Subscription: s.Name})
				}
			}
		}
	}
	return others, sure, all
}

func keysOf(s *sub, ids []uuid.UUID) (keys []event.Key) {
	for _, id := range ids {
		keys = append(keys, event.Key{EventID: id, Subscription: s.Name})
	}
	return keys
}

// claimed is what is taken over at once.
type claimed struct {
	cursors map[int]*cursor      // that are stored
	revs    [1 + partCount]int64 // of the cursors before
	numbers [1 + partCount]int64
	wary    [1 + partCount]int  // of so many deliveries the claim is stored first
	lost    [1 + partCount]bool // whether the owner has died
	msgs    []*stream.Msg
	crashes []engine.Crash
	looping bool // an owner died young
	partly  bool // nothing is this process's yet
}

// claimsOf returns what is to be stored so that this process has cursors, or, if no consumer
// polls here, no process has. It has so many rows at most; if owners that died have left
// more, their cursors stay theirs, and say which rows are stored.
func (cl *cluster) claimsOf(u *unit, from []int, room int) (*claimed, error) {
	c := &claimed{cursors: map[int]*cursor{}}
	cl.mu.Lock()
	own, divided, parallel := cl.units[u.sub.ID] == u && u.consumer != nil, u.sub.divided(), u.parallel
	for at := range u.sub.parts {
		p := &u.sub.parts[at]
		c.revs[at], c.numbers[at] = p.rev, p.N
		c.numbers[at] = max(c.numbers[at], u.parts[at].n) // not one that may be stored later
		if slices.Contains(from, at) {
			one := p.cursor
			one.Next, one.N = u.sub.nextAt(at), c.numbers[at]
			c.cursors[at], c.lost[at] = &one, cl.lost(&one)
		}
	}
	cl.mu.Unlock()
	calledBy := map[string]called{}
	for i, at := range from {
		one := c.cursors[at]
		one.N, one.By = one.N+1, cl.instance
		if !c.lost[at] {
			continue
		}
		calls, known := calledBy[one.Owner]
		if !known {
			var err error
			if calls, err = cl.calledBy(one.Owner); err != nil {
				return nil, err
			}
			calledBy[one.Owner] = calls
		}
		one.Ran, one.Busy = calls.begun(u.sub.ID, one.Ran), one.Busy && !calls.Alone
		msgs, crashes, all, err := cl.recover(u, one, calls, room-len(c.msgs))
		if err != nil {
			return nil, err
		}
		if c.msgs, c.crashes = append(c.msgs, msgs...), append(c.crashes, crashes...); !all {
			cl.begun(c, from[:i+1])
			return c, nil
		}
	}
	for _, at := range from {
		one := c.cursors[at]
		if c.lost[at] {
			one.CrashLoop = one.CrashLoop || one.Young && len(one.Ran) > 0
			if one.died(); one.Busy {
				c.wary[at] = len(one.Open) + waryEvents
			}
		}
		one.Ran, one.Busy, one.Fallen, one.Young = nil, false, false, false
		c.looping = c.looping || one.CrashLoop
		if one.Owner, one.PID, one.Host, one.Since = cl.instance, os.Getpid(), cl.host, time.Now().UTC(); !own {
			one.free()
		}
		// A dispatching process says so, in the cursors that it has, and not in those without an owner.
		one.CrashLoop = own && cl.isYoung() && (c.looping || cl.looping.Load())
	}
	switch {
	case own && !divided && parallel:
		return c, cl.divide(u, c)
	case own && divided && !parallel:
		c.unite()
	}
	return c, nil
}

// lost reports whether the owner of a cursor has died, as this process is to take it over. One that is idle has not:
// what it handles comes again, and is no suspect.
func (cl *cluster) lost(c *cursor) bool {
	return c.Owner != "" && (c.Fallen || c.Owner != cl.instance && !(cl.dead[c.Owner] && cl.idle[c.Owner]))
}

// begun makes of a takeover one that only notes what ran: the rows are too many for one batch.
// The owners stay the dead ones, so that the process that goes on, after a crash as well, knows
// all that ran beside each other.
func (cl *cluster) begun(c *claimed, from []int) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	c.partly = true
	cursors := map[int]*cursor{}
	for _, at := range from {
		if one := c.cursors[at]; c.lost[at] {
			one.Fallen, one.Busy = true, one.Busy || cl.unsure[one.Owner]
			cursors[at] = one
		}
	}
	c.cursors = cursors
}

// waryEvents is how many deliveries beyond a cursor a busy owner may have begun: as many as end
// before that is stored, and those among which the bus has chosen them.
const waryEvents = 2 * mostUnstored
