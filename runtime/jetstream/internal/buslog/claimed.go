package buslog

import (
	"os"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A process takes a subscription over by writing its name into the cursor, under the
// condition that nobody else has written it meanwhile. It begins when it has read its own
// cursor: by then it has read everything that the last owner has stored, and what that
// stores later is refused. (A prototype that did not wait for its own cursor got rows from a
// replica that lagged, and handled events again that were done.)

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

// claimsOf returns what is to be stored so that this process has cursors, or, if nobody polls
// here, nobody has. It has so many rows at most; if owners that died have left more, their
// cursors stay theirs, and say which rows are stored.
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
		// Who dispatches says so, in the cursors that it has, and not those whom nobody has.
		one.CrashLoop = own && cl.isYoung() && (c.looping || cl.looping.Load())
	}
	switch {
	case own && !divided && parallel:
		return c, cl.divide(u, c)
	case own && divided && !parallel:
		cl.unite(c)
	}
	return c, nil
}

// lost reports whether the owner of a cursor has died, as this process is to take it over. One that is idle has not: what
// it handles comes again, and is no suspect. The caller holds mu.
func (cl *cluster) lost(c *cursor) bool {
	return c.Owner != "" && (c.Fallen || c.Owner != cl.instance && !(cl.dead[c.Owner] && cl.idle[c.Owner]))
}

// begun makes of a takeover one that only notes what ran: the rows are too many for one batch.
// The owners stay the dead ones, so that whoever goes on, after a crash as well, knows all that
// ran beside each other.
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
