package buslog

import (
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A process can be alive, and do nothing for what it has: the dispatcher of a subscription stands still, nothing that
// it stores is acknowledged, or nothing arrives that is stored. Others cannot see that. So a process that asks others
// whether they are alive, or is asked, looks at itself for a while:
//
//   - It lets go of a subscription whose dispatcher stands still, and takes nothing of it until that goes on. One of
//     which it has nothing is woken at each look: otherwise that would not be seen before it has taken something over.
//   - While it can store nothing, it cannot let go of anything. It answers that it is idle, as one does that reads from
//     a stale replica, or whose log is broken. Others take over what it has. It has not ended, so they count no attempt
//     for that.

const (
	// ownLook is how often a process looks at itself.
	ownLook = time.Second
	// idleTime is for how long it has to do nothing. It is longer than a process waits for an acknowledgement: if that was
	// lost, what was stored has arrived by then, or is stored again.
	idleTime = stream.AnswerTime + ownLook
	// idleLooks are the looks of that time. They are counted, because a process can be stopped for a while.
	idleLooks = int(idleTime / ownLook)
	// askedLooks is for how many looks it goes on when another process has asked. Others ask every lookAgain, or when
	// they have waited for an answer.
	askedLooks = int32((2*lookAgain + pingTime) / ownLook)
)

// idleAnswer is what a process answers that is alive, and idle.
const idleAnswer = "idle"

// itself is what a process knows of itself.
type itself struct {
	looks atomic.Bool  // a goroutine looks
	left  atomic.Int32 // looks, unless it is asked again
	mute  atomic.Bool  // nothing that it stores is acknowledged

	// The rest is for the goroutine that looks.
	acks   uint64 // answers to what was stored, at the last look
	stored uint64 // changes of all units
	idle   int    // looks since one of these has changed
}

// isIdle reports whether this process can do nothing for what it has.
func (cl *cluster) isIdle() bool { return cl.itself.mute.Load() || cl.blind.Load() || cl.isClosed() }

// answerPing returns what this process says to one that asks whether it is alive.
func (cl *cluster) answerPing() []byte {
	cl.startLooks()
	if cl.isIdle() {
		return []byte(idleAnswer)
	}
	return nil
}

// startLooks makes it look at itself, or go on.
func (cl *cluster) startLooks() {
	cl.itself.left.Store(askedLooks)
	if !cl.itself.looks.Load() && cl.itself.looks.CompareAndSwap(false, true) {
		time.AfterFunc(ownLook, cl.lookAtItself)
	}
}

// lookAtItself looks every ownLook, until no process asks any more and it is not idle.
func (cl *cluster) lookAtItself() {
	if cl.isClosed() {
		return
	}
	me := &cl.itself
	acks := cl.stream.Answered()
	unstored, stored, still := cl.lookAtUnits()
	if !unstored || acks != me.acks || stored != me.stored || !cl.leads() {
		me.idle = 0
	} else {
		me.idle++
	}
	me.acks, me.stored = acks, stored
	if mute := me.idle >= idleLooks; me.mute.Swap(mute) != mute && mute {
		cl.logger.Warn("nothing that this process stores is acknowledged, although the servers answer; others take over what it has")
	}
	if me.left.Add(-1) > 0 || still || me.idle > 0 {
		time.AfterFunc(ownLook, cl.lookAtItself)
		return
	}
	if me.looks.Store(false); me.left.Load() > 0 { // meanwhile
		cl.startLooks()
	}
}

// leads reports whether a leader answers.
func (c *conn) leads() bool {
	_, err := c.lastNow()
	return err == nil
}

// lookAtUnits lets go of the subscriptions whose dispatchers stand still. It returns whether something of the others is
// to be stored, how much is stored, and whether there are subscriptions that this process takes when their dispatchers
// go on.
func (cl *cluster) lookAtUnits() (unstored bool, stored uint64, still bool) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, u := range cl.units {
		stored += u.stored
		unstored = unstored || u.owns() && u.stored != u.changes
		before := u.standsStill()
		switch u.look(); {
		case u.standsStill():
			still = true
			if !before {
				cl.logger.Error("the dispatcher of a subscription stands still; this process lets go of it. This is a fault of busgen: please report it", "subscription_id", u.sub.nameHere())
				cl.lack() // the others need not leave it a share
			}
			for at := range u.parts {
				u.leave(at)
			}
		case before:
			cl.lack()
		case u.consumer != nil && !u.owns():
			u.consumer.wake()
		}
	}
	return unstored, stored, still
}

// standstill is what is known of the dispatcher of a unit. It is guarded by the log's mu.
type standstill struct {
	looks int    // since it has last done something, or waited for something to do
	calls uint64 // at the last look

	asked, stored uint64 // calls, and changes that were stored, when isStuck was asked last
}

// isStuck reports whether the unit has done nothing since that was asked last, although there is something to do. Then
// its process looks at itself, also if it is the only one.
func (u *unit) isStuck() bool {
	s, c := &u.still, u.consumer
	u.shut()
	polls := c.heeds == nil || c.heeds() || c.calls != s.asked || u.prepared != nil || u.isAtWork()
	stores := !u.owns() || u.stored == u.changes || u.stored != s.stored
	s.asked, s.stored = c.calls, u.stored
	return !polls || !stores
}

// look looks at the dispatcher: whether it waits for something to do, polls, settles, or has called handlers that are
// at work.
func (u *unit) look() {
	s, c := &u.still, u.consumer
	if c == nil || c.heeds == nil || c.heeds() {
		s.looks = 0
		return
	}
	u.shut()
	s.looks++
	if s.calls != c.calls || u.prepared != nil || u.isAtWork() {
		s.looks = 0
	}
	s.calls = c.calls
}

// isAtWork reports whether handlers are at work. The caller holds mu, and has shut the shortcut.
func (rd *reading) isAtWork() bool {
	for _, f := range rd.flights.all {
		if f.begun && !f.ended {
			return true
		}
	}
	return false
}

// standsStill reports whether the dispatcher does nothing.
func (u *unit) standsStill() bool { return u.still.looks >= idleLooks }
