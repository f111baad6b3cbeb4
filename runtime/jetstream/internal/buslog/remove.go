package buslog

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// RemoveConsumer implements [engine.Registry].
func (l *Log) RemoveConsumer(ctx context.Context, name, actor string) (removed event.Removed, err error) {
	if err := ctx.Err(); err != nil {
		return removed, err
	}
	if err := l.sync(ctx); err != nil {
		return removed, err
	}
	if err := l.enter(); err != nil {
		return removed, err
	}
	id, owners := "", map[string]*cursor{}
	if at := l.registry.named(name); at >= 0 {
		s := l.subs[l.registry.Subs[at].ID]
		id, owners = s.ID, s.owners()
		lag, err := l.lagOf(ctx, s, math.MaxInt)
		if err != nil {
			l.mu.Unlock()
			return removed, err
		}
		removed = event.Removed{Open: lag.Backlog, Dead: lag.Dead}
	}
	var others []event.OwnedError
	var instances []string
	for owner, c := range owners {
		if owner != l.instance {
			others = append(others, event.OwnedError{Path: l.target, PID: c.PID, Since: c.Since})
			instances = append(instances, owner)
		}
	}
	l.mu.Unlock()
	for i, owner := range instances {
		if l.lifeOf(ctx, owner) == alive {
			return event.Removed{}, &others[i]
		}
	}
	err = l.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) {
		at := r.named(name)
		if at < 0 {
			return nil, r.unknown(name)
		}
		r.Subs = slices.Delete(r.Subs, at, at+1)
		if at := r.pauseAt(engine.Pause{Kind: engine.PauseSubscription, Target: name}); at >= 0 {
			r.Pauses = slices.Delete(r.Pauses, at, at+1)
		}
		return []*stream.Msg{l.auditMsg(event.AuditEntry{
			Actor: actor, Action: "remove", Subscription: name, Count: removed.Open + removed.Dead,
			Detail: fmt.Sprintf("%d events to settle and %d dead letters", removed.Open, removed.Dead),
		})}, nil
	})
	if err != nil {
		return event.Removed{}, err
	}
	// Nobody reads the records of a subscription that is not in the registry.
	for _, kind := range []string{l.subject(rowToken, id, ">"), l.subject(cursorToken, id), l.subject(cursorToken, id, ">")} {
		if err := l.stream.Purge(ctx, kind, 0); err != nil {
			return removed, l.storage("remove", err)
		}
	}
	return removed, l.told(nil)
}

// named returns where a subscription of this present name is, or -1.
func (r *registry) named(name string) int {
	return slices.IndexFunc(r.Subs, func(s subscription) bool { return s.Name == name })
}
