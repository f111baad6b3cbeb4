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
	// staleLook is how often it looks while something should arrive, and leaderLook how often it asks the leader, see
	// leader.go.
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
	looks  atomic.Bool  // somebody looks whether it does

	// The rest is used by who looks.
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
	case err != nil && !errors.Is(err, stream.ErrNotFound): // nobody knows
		return false
	}
	f.expected.newest.CompareAndSwap(newest, come)
	return false
}
