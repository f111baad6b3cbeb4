package buslog

import (
	"context"
	"sync/atomic"
	"time"
)

// A server that is cut off from the others goes on to answer its clients, and knows of no leader. So a process that
// dispatches asks the leader when nothing arrives, and one that publishes does so when nobody acknowledges an event. If no
// leader answers for leaderTime, it connects to another server. If the servers have no leader at all, that is in vain, and
// harms nobody.

// leaderTime is for how long no leader may answer. Servers that can reach each other elect one in that time, mostly.
const leaderTime = 8 * time.Second

// leader is what is known of the one that should answer.
type leader struct {
	asks  atomic.Bool  // somebody asks for a publisher
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

// askMissed is missed for a publisher, who waits for nobody, if no leader answers now either.
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

// lastNow asks the leader for the number of the newest message, who has to answer soon.
func (c *conn) lastNow() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.stream.Last(ctx)
}
