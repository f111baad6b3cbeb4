package runtime

import (
	"context"
	"fmt"
	"sync"
)

// PendingError says that a subscription is so far behind that nothing more is
// accepted ([WithMaxPending]). Nothing was stored.
type PendingError struct {
	Limit int
}

// Error names the limit.
func (e *PendingError) Error() string {
	return fmt.Sprintf("%d events or more are pending, the limit of this bus: publish again when its subscriptions have caught up", e.Limit)
}

// admission lets publishers pass while not too much is pending. Counting asks the
// log, so each count allows as many events as were missing to the limit before
// it counts again.
type admission struct {
	log   backlog
	limit int // 0 for none
	when  WhenFull

	mu        sync.Mutex
	allowance int
}

// backlog measures how much is pending in a log.
type backlog interface {
	Pending(ctx context.Context, limit int) (int, error)
	AwaitSettled(ctx context.Context) error
}

// pass waits or refuses until n events more may be published.
func (g *admission) pass(ctx context.Context, n int) error {
	if g.limit == 0 {
		return nil
	}
	for {
		if ok, err := g.take(ctx, n); ok || err != nil {
			return err
		}
		if g.when == Refuse {
			return &PendingError{Limit: g.limit}
		}
		if err := g.log.AwaitSettled(ctx); err != nil {
			return err
		}
	}
}

// room reports whether n events may be published now, by who cannot wait.
func (g *admission) room(n int) (bool, error) {
	if g.limit == 0 {
		return true, nil
	}
	return g.take(context.Background(), n)
}

// take reports whether n events may be published. A batch larger than the limit
// passes when nothing is pending.
func (g *admission) take(ctx context.Context, n int) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n = min(n, g.limit)
	if g.allowance < n {
		pending, err := g.log.Pending(ctx, g.limit)
		if err != nil {
			return false, err
		}
		g.allowance = g.limit - pending
	}
	if g.allowance < n {
		return false, nil
	}
	g.allowance -= n
	return true, nil
}

// WhenFull says what a publisher gets when too much is pending.
type WhenFull int

const (
	// Refuse returns a *[PendingError] at once.
	Refuse WhenFull = iota
	// Block waits until there is room, or until the publisher's context ends.
	Block
)

// WithMaxPending limits the backlog of the subscription that is furthest behind, whether
// or not it has a handler at the moment: from n events on, publishers are refused or
// wait. History and dead letters do not count. Without this option only the disk is a
// limit.
//
// The limit is approximate, because events of other processes are noticed late. Events
// that a handler publishes with its context are never refused, because they are part of
// settling another.
func WithMaxPending(n int, when WhenFull) Option {
	return func(c *config) error {
		if n <= 0 || when != Refuse && when != Block {
			return fmt.Errorf("WithMaxPending: the limit %d is not positive, or %d is neither Refuse nor Block", n, when)
		}
		c.maxPending, c.whenFull = n, when
		return nil
	}
}
