package memory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// RemoveConsumer implements [engine.Registry].
func (l *Log) RemoveConsumer(ctx context.Context, name, actor string) (removed engine.Removed, err error) {
	err = l.changePauses(func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.owner != nil && l.owner != l {
			return &engine.OwnedError{Path: l.target, PID: pid, Since: l.since}
		}
		at := slices.IndexFunc(l.subscriptions, func(sub *subscription) bool { return sub.name == name })
		if at < 0 {
			missing := &engine.NotFoundError{Thing: "subscription", Name: name}
			for _, sub := range l.subscriptions {
				missing.Known = append(missing.Known, sub.name)
			}
			return missing
		}
		sub := l.subscriptions[at]
		lag := l.lagOf(sub, math.MaxInt)
		removed = engine.Removed{Open: lag.Backlog, Dead: lag.Dead}
		for _, log := range l.logs {
			log.consumers = slices.DeleteFunc(log.consumers, func(c *consumer) bool {
				if c.sub == sub {
					c.stop()
				}
				return c.sub == sub
			})
		}
		l.subscriptions = slices.Delete(l.subscriptions, at, at+1)
		if at := l.pauseAt(engine.Pause{Kind: engine.PauseSubscription, Target: name}); at >= 0 {
			l.pauses = slices.Delete(l.pauses, at, at+1)
		}
		l.note(engine.AuditEntry{
			Actor: actor, Action: "remove", Subscription: name, Count: removed.Open + removed.Dead,
			Detail: fmt.Sprintf("%d events to settle and %d dead letters", removed.Open, removed.Dead),
		})
		l.noteSettled()
		return nil
	})
	return removed, err
}
