package database

import (
	"context"
	"math/rand/v2"
	"time"
)

// Others hold a lock for a fraction of a millisecond, as a publisher, or for some milliseconds, as a step of an operator
// or a checkpoint. So a connection that waits for one looks often at first, and then less often.
const (
	oftenFor  = 20 * time.Millisecond
	often     = 200 * time.Microsecond
	lessOften = 2 * time.Millisecond
)

// wait makes statements wait for locks of other connections for at most that long.
func (c *Conn) wait(limit time.Duration) error {
	if limit == 0 {
		return c.BusyHandler(nil)
	}
	var began time.Time
	return c.BusyHandler(func(_ context.Context, count int) bool {
		if count == 0 {
			began = time.Now()
		}
		waited := time.Since(began)
		if waited >= limit {
			return false
		}
		pause := lessOften
		if waited < oftenFor {
			pause = often
		}
		time.Sleep(rand.N(pause))
		return true
	})
}
