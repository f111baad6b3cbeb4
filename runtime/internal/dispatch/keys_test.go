package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// slowClaims are of an engine that waits for its servers.
type slowClaims struct {
	fresh
	takes  time.Duration
	claims atomic.Int32 // less those that were taken back
}

func (c *slowClaims) Prepare(d *engine.Delivery) {
	if d == nil {
		c.claims.Store(0)
		return
	}
	time.Sleep(c.takes)
	c.claims.Add(1)
}

// An engine may wait for its servers before a key is computed. That is none of the time that the program has, no lock
// is held meanwhile, and a scheduler that stops leaves no claim behind.
func TestAKeyWhoseClaimTakesLongIsComputed(t *testing.T) {
	for name, takes := range map[string]time.Duration{"less than a key may take": 20 * time.Second, "more": 50 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var called atomic.Int32
				c := &slowClaims{fresh: fresh{left: 3}, takes: takes}
				s := plainScheduler(c, 2, false, uncounted{}, func(a *dispatch.Attempt) error {
					called.Add(1)
					return nil
				})
				s.Start()
				time.Sleep(10 * time.Minute)
				if called.Load() != 3 {
					t.Errorf("%d handlers were called, want 3", called.Load())
				}
				if err := s.Stop(context.Background(), time.Second); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("and it stops meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowClaims{fresh: fresh{left: 3}, takes: 20 * time.Second}
			s := plainScheduler(c, 2, false, uncounted{}, func(*dispatch.Attempt) error { return nil })
			s.Start()
			time.Sleep(time.Second)
			if err := s.Stop(context.Background(), time.Minute); err != nil {
				t.Error(err)
			}
			if n := c.claims.Load(); n != 0 {
				t.Errorf("%d claims are left", n)
			}
		})
	})
}
