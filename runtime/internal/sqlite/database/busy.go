package database

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Others hold a lock for a fraction of a millisecond, as a publisher, or for some milliseconds, as a step of an operator
// or a checkpoint. So a connection that waits for one looks often at first, and then less often.
const (
	oftenFor  = 20 * time.Millisecond
	often     = 200 * time.Microsecond
	lessOften = 2 * time.Millisecond
)

// patience is how a connection waits for locks of others.
type patience struct {
	limit time.Duration
	began time.Time
	none  atomic.Bool                               // nobody waits for anything any more
	again func(ctx context.Context, count int) bool // made once: each transaction sets the limit
}

// wait makes statements wait for locks of other connections for at most that long.
func (c *Conn) wait(limit time.Duration) error {
	p := &c.patience
	p.limit = limit
	if limit == 0 {
		return c.BusyHandler(nil)
	}
	if p.again == nil {
		p.again = p.look
	}
	return c.BusyHandler(p.again)
}

// Hurry ends the waiting for locks of others, also that of the statement that runs. It may be called by any goroutine.
func (c *Conn) Hurry() { c.patience.none.Store(true) }

// look waits for a moment, and tells whether to look at the lock again.
func (p *patience) look(_ context.Context, count int) bool {
	if p.none.Load() {
		return false
	}
	if count == 0 {
		p.began = time.Now()
	}
	waited := time.Since(p.began)
	if waited >= p.limit {
		return false
	}
	pause := lessOften
	if waited < oftenFor {
		pause = often
	}
	time.Sleep(rand.N(pause))
	return true
}
