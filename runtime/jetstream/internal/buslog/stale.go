package buslog

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The messages that a log follows come from one replica, and that can be behind the others for good while it and its
// server seem to be well. A process beside it would wait without a word, and keep what it has. So each process compares
// what arrives with what it knows to be stored: what was acknowledged, and, if it dispatches, what the leader says every
// few seconds. If nothing arrives for some seconds although something should, it connects to another server, and reads
// from another replica. While that does not help it says that it is idle, so that others take over what it has.

const (
	// staleLook is how often it looks while something should arrive, and leaderLook how often it asks the leader.
	staleLook  = time.Second
	leaderLook = 2 * time.Second
	// staleLooks is after how many looks it moves to another server, if nothing has arrived, and staleAgain after how
	// many more it does so again. They are counted, because a process can be stopped for a while.
	staleLooks = 2
	staleAgain = 4
	// hopeless is after how many looks it says that it is idle.
	hopeless = 4
)

// expected is what should arrive.
type expected struct {
	newest atomic.Int64 // the newest message that has to
	looks  atomic.Bool  // a goroutine looks whether it does

	// The rest is for the goroutine that looks.
	come int64 // what had arrived at the last look
	idle int   // looks since then
}

// expect notes that a message is stored, and looks whether it arrives.
func (f *follower) expect(seq int64) {
	e := &f.expected
	for before := e.newest.Load(); before < seq && !e.newest.CompareAndSwap(before, seq); before = e.newest.Load() {
	}
	if f.come.Load() < seq && f.followsAll.Load() && !e.looks.Load() && e.looks.CompareAndSwap(false, true) {
		e.come, e.idle = f.come.Load(), 0
		time.AfterFunc(staleLook, f.lookForArrivals)
	}
}

// lookForArrivals looks whether what should arrive does, until it has.
func (f *follower) lookForArrivals() {
	e, come := &f.expected, f.come.Load()
	if f.isClosed() {
		return
	}
	if e.idle++; e.come < come {
		e.come, e.idle = come, 0
	}
	newest := e.newest.Load()
	moves := e.idle >= staleLooks && (e.idle-staleLooks)%staleAgain == 0
	hides := e.idle >= hopeless
	if blind := f.blind.Load(); come < newest && (moves || hides && !blind) && !f.misses(come) {
		moves, hides = false, blind // it may be the servers that are gone
	}
	f.blind.Store(hides && come < newest)
	if moves && come < newest {
		f.logger.Warn("the server does not send what is stored; connecting to another one", "arrived", come, "stored", newest)
		f.stream.Move()
	}
	if come < e.newest.Load() {
		time.AfterFunc(staleLook, f.lookForArrivals)
		return
	}
	if e.looks.Store(false); f.come.Load() < e.newest.Load() { // meanwhile
		f.expect(e.newest.Load())
	}
}

// misses reports whether the leader has a message that should have arrived. Those that are deleted never arrive.
func (f *follower) misses(come int64) bool {
	newest := f.expected.newest.Load()
	next, err := f.stream.NextKnown(context.Background(), f.subject(">"), come+1, newest)
	switch {
	case err == nil && next.Seq <= newest:
		return true
	case err != nil && !errors.Is(err, stream.ErrNotFound): // unknown
		return false
	}
	f.expected.newest.CompareAndSwap(newest, come)
	return false
}

// A server that is cut off from the others goes on to answer its clients, and knows of no leader. So a process that
// dispatches asks the leader when nothing arrives, and one that publishes does so when no server acknowledges an event.
// If no leader answers for leaderTime, it connects to another server. If the servers have no leader at all, that is in
// vain, and does no harm.

// leaderTime is for how long no leader may answer. Servers that can reach each other elect one in that time, mostly.
const leaderTime = 8 * time.Second

// leader is what is known of the one that should answer.
type leader struct {
	asks  atomic.Bool  // a goroutine asks for a publisher
	moved atomic.Int64 // when this process has connected to another server for that, in nanoseconds since 1970
}

// missed connects to another server if no leader has answered since then, unless that was just done.
func (c *conn) missed(since time.Time) {
	before, now := c.leader.moved.Load(), time.Now()
	if now.Sub(since) < leaderTime || now.Sub(time.Unix(0, before)) < leaderTime || !c.stream.Replicated() || !c.leader.moved.CompareAndSwap(before, now.UnixNano()) {
		return
	}
	c.logger.Warn("no leader of the stream answers; connecting to another server", "seconds", int(leaderTime.Seconds()))
	c.stream.Move()
}

// askMissed is missed for a publisher, which does not wait, if no leader answers now either.
func (c *conn) askMissed(since time.Time) {
	if !c.stream.Replicated() || !c.leader.asks.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer c.leader.asks.Store(false)
		if !c.leads() {
			c.missed(since)
		}
	}()
}

// askLeader asks the leader every few seconds what should have arrived, until the log is closed.
func (f *follower) askLeader() {
	before, answered := int64(-1), time.Now()
	for {
		select {
		case <-time.After(leaderLook):
		case <-f.stopped:
			return
		}
		come := f.come.Load()
		if come != before { // something arrives
			before, answered = come, time.Now()
			continue
		}
		last, err := f.lastNow()
		if err != nil {
			f.missed(answered)
			continue
		}
		if answered = time.Now(); last <= come {
			continue
		}
		if next, err := f.stream.NextKnown(context.Background(), f.subject(">"), come+1, last); err == nil && f.come.Load() == come {
			f.expect(next.Seq)
		}
	}
}

// lastNow asks the leader for the number of the newest message. It has to answer soon.
func (c *conn) lastNow() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.stream.Last(ctx)
}
