package buslog

import (
	"context"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A process takes a subscription over by writing its name into the cursor, under the
// condition that nobody else has written it meanwhile. It begins when it has read its own
// cursor: by then it has read everything that the last owner has stored, and what that
// stores later is refused. (A prototype that did not wait for its own cursor got rows from a
// replica that lagged, and handled events again that were done.)

// TakeOver implements [engine.Dispatcher]. The subscriptions that another process handles
// are taken over when it lets go of them, or dies.
func (l *Log) TakeOver(ctx context.Context) (found engine.Recovery, err error) {
	if err := l.hears(ctx); err != nil {
		return found, err
	}
	if err := l.sync(ctx); err != nil {
		return found, err
	}
	if err := l.enter(); err != nil {
		return found, err
	}
	first := !l.dispatching
	l.dispatching = true
	var units, others []*unit
	from := l.applied + 1 // of what some subscription has not looked at
	for _, s := range l.inOrder() {
		switch u := l.units[s.ID]; {
		case u != nil && u.consumer != nil:
			units = append(units, u)
		case len(s.owners()) > 0:
			others = append(others, &unit{log: l, sub: s})
		}
		from = min(from, s.next())
		for _, r := range s.rows {
			switch r.State {
			case ledger.Waiting:
				found.Waiting++
			case ledger.Dead:
				found.Dead++
			}
		}
	}
	found.Backlog = l.applied + 1 - from
	l.mu.Unlock()
	if found.Backlog > 0 { // many of the messages may be none of events; all are an estimate
		if n, err := l.stream.CountFrom(ctx, l.subject(eventToken, ">"), from); err == nil {
			found.Backlog = min(found.Backlog, n)
		}
	}
	if !first {
		return found, nil
	}
	found.Crashes, err = l.takeAll(ctx, units, others)
	found.Interrupted, found.CrashLoop = len(found.Crashes), l.looping.Load()
	if err != nil {
		l.mu.Lock()
		l.dispatching = false
		l.mu.Unlock()
		return found, err
	}
	l.mu.Lock()
	l.contending = true
	l.mu.Unlock()
	go l.contend()
	if l.stream.Replicated() {
		go l.askLeader()
	}
	return found, nil
}

// takeAll takes over what is free. Of the subscriptions that this process does not poll it
// only notes which handlers ran when their owners died.
func (l *Log) takeAll(ctx context.Context, units, others []*unit) (crashes []engine.Crash, err error) {
	l.lookBriefly(ctx)
	if err := l.join(ctx); err != nil {
		return nil, err
	}
	l.born.CompareAndSwap(0, time.Now().UnixNano())
	for _, u := range append(units, others...) {
		found, err := l.take(ctx, u)
		crashes = append(crashes, found...)
		if isForeign(err) { // the others can be handled
			l.logger.Error("a subscription cannot be taken over; trying again", "subscription_id", l.nameOfUnit(u), "error", err)
			continue
		}
		if err != nil {
			return crashes, err
		}
	}
	return crashes, nil
}

// begin makes this process handle a subscription that it polls since it dispatches.
func (l *Log) begin(ctx context.Context, u *unit) (crashes []engine.Crash, err error) {
	l.lookBriefly(ctx)
	if err := l.join(ctx); err != nil {
		return nil, err
	}
	defer l.lack()
	return l.take(ctx, u)
}

// report tells the bus of crashes that a takeover in the background has found.
func (l *Log) report(crashes []engine.Crash) {
	if l.options.Recovered != nil && len(crashes) > 0 {
		go l.options.Recovered(engine.Recovery{Interrupted: len(crashes), Crashes: crashes})
	}
}

// take makes this process the owner of a subscription, or of its share, unless other owners
// are alive. It returns the deliveries whose handlers ran when owners died. If nobody polls it
// here, that is all.
func (l *Log) take(ctx context.Context, u *unit) (crashes []engine.Crash, err error) {
	select {
	case l.claiming <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.claiming }()
	tries, room := 0, batchRoom
	for began := time.Now(); ; {
		if err := l.enter(); err != nil {
			return crashes, err
		}
		from := l.takeable(u)
		l.mu.Unlock()
		if len(from) == 0 {
			return crashes, nil
		}
		c, err := l.claimsOf(u, from, room)
		if err != nil && l.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return crashes, l.storage("take over", err)
		}
		for at := range c.revs {
			if one := c.cursors[at]; one != nil {
				c.msgs = append(c.msgs, l.cursorMsg(u.sub, at, one, c.revs[at]))
			}
		}
		seq, err := l.append(ctx, c.msgs...)
		if errors.Is(err, stream.ErrConflict) || err != nil && l.waits(ctx, began, err) {
			if err := l.refused(ctx, c.msgs); err != nil {
				time.AfterFunc(passedAgain, l.lack)
				return crashes, err
			}
			if err := l.sync(ctx); err != nil && !l.waits(ctx, began, err) {
				return crashes, err
			}
			l.yield(ctx, &tries)
			continue
		}
		if errors.Is(err, stream.ErrTooLarge) && room > 1 {
			room /= 2
			continue
		}
		if err != nil {
			return crashes, l.storage("take over", err)
		}
		crashes = append(crashes, c.crashes...)
		if c.looping {
			l.looping.Store(true)
			if l.options.Recovered != nil { // before anything is handed out
				l.options.Recovered(engine.Recovery{CrashLoop: true})
			}
		}
		// The fence: what the last owner has stored has been read when this is done.
		if err := l.learn(ctx, seq+int64(len(c.msgs))-1); err != nil {
			return crashes, err
		}
		if c.partly {
			continue
		}
		l.mu.Lock()
		if c.looping {
			l.sayLooping()
		}
		for _, at := range u.sub.live() {
			stored := c.cursors[at]
			if p := &u.sub.parts[at]; stored != nil && stored.Owner != "" && p.N == stored.N && p.By == l.instance && l.units[u.sub.ID] == u {
				u.acquire(at, c.wary[at])
			}
		}
		l.mu.Unlock()
	}
}

// takeable returns the cursors that this process should take: of the whole, of all parts, or
// of its share of them. The caller holds mu.
func (l *Log) takeable(u *unit) (from []int) {
	s := u.sub
	dead := func(at int) bool {
		p := &s.parts[at]
		return p.Owner != "" && (p.Fallen || l.dead[p.Owner])
	}
	free := func(at int) bool {
		owner := s.parts[at].Owner
		return !u.parts[at].owned && (owner == "" || owner == l.instance || dead(at)) && l.isFor(s, at) != others
	}
	switch {
	case l.units[s.ID] != u || u.consumer == nil: // it only notes what ran
		for _, at := range s.live() {
			if dead(at) {
				from = append(from, at)
			}
		}
		return from
	case u.standsStill():
		return nil
	case s.divided() && u.parallel:
		return l.fairClaims(u)
	}
	for _, at := range s.live() {
		if !free(at) {
			return nil
		}
	}
	return s.live()
}

// nameOfUnit returns what this process calls a subscription.
func (l *Log) nameOfUnit(u *unit) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nameHere(u.sub.ID, u.sub.Name)
}

// release stores everything, and lets go of the subscription.
func (u *unit) release(ctx context.Context) error {
	l := u.log
	select { // what is on its way is ours before we let go of it
	case l.claiming <- struct{}{}:
		<-l.claiming
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for u.owns() {
		for at := range u.parts {
			u.leave(at)
		}
		if err := u.awaitWritten(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Flush implements [engine.Dispatcher].
func (l *Log) Flush(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	units := make([]*unit, 0, len(l.units))
	for _, u := range l.units {
		units = append(units, u)
	}
	l.mu.Unlock()
	for _, u := range units {
		if _, err := u.write(ctx); err != nil {
			return err
		}
	}
	return nil
}
