package buslog

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
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
	for _, s := range l.inOrder() {
		switch u := l.units[s.ID]; {
		case u != nil && u.consumer != nil:
			units = append(units, u)
		case len(s.owners()) > 0:
			others = append(others, &unit{log: l, sub: s})
		}
		found.Backlog = max(found.Backlog, l.applied-s.next()+1)
		for _, r := range s.rows {
			switch r.State {
			case waiting:
				found.Waiting++
			case dead:
				found.Dead++
			}
		}
	}
	l.mu.Unlock()
	if !first {
		return found, nil
	}
	found.Crashes, err = l.takeAll(ctx, units, others)
	found.Interrupted = len(found.Crashes)
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
	return found, nil
}

// takeAll takes over what is free. Of the subscriptions that this process does not poll it
// only notes which handlers ran when their owners died.
func (l *Log) takeAll(ctx context.Context, units, others []*unit) (crashes []engine.Crash, err error) {
	l.lookBriefly(ctx)
	if err := l.join(ctx); err != nil {
		return nil, err
	}
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

// claimed is what is taken over at once.
type claimed struct {
	cursors map[int]*cursor      // that are stored
	revs    [1 + partCount]int64 // of the cursors before
	numbers [1 + partCount]int64
	wary    [1 + partCount]int // of so many deliveries the claim is stored first
	msgs    []*stream.Msg
	crashes []engine.Crash
	partly  bool // nothing is this process's yet
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
		if err != nil {
			return crashes, l.storage("take over", err)
		}
		for at := range c.revs {
			if one := c.cursors[at]; one != nil {
				c.msgs = append(c.msgs, l.cursorMsg(u.sub, at, one, c.revs[at]))
			}
		}
		seq, _, err := l.stream.Append(ctx, c.msgs...)
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
		// The fence: what the last owner has stored has been read when this is done.
		if err := l.reach(ctx, seq+int64(len(c.msgs))-1); err != nil {
			return crashes, err
		}
		if c.partly {
			continue
		}
		l.mu.Lock()
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
		return !u.parts[at].owned && (owner == "" || owner == l.instance || dead(at))
	}
	switch {
	case l.units[s.ID] != u || u.consumer == nil: // it only notes what ran
		for _, at := range s.live() {
			if dead(at) {
				from = append(from, at)
			}
		}
		return from
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

// claimsOf returns what is to be stored so that this process has cursors, or, if nobody polls
// here, nobody has. It has so many rows at most; if owners that died have left more, their
// cursors stay theirs, and say which rows are stored.
func (l *Log) claimsOf(u *unit, from []int, room int) (*claimed, error) {
	c := &claimed{cursors: map[int]*cursor{}}
	l.mu.Lock()
	own, divided, parallel := l.units[u.sub.ID] == u && u.consumer != nil, u.sub.divided(), u.parallel
	for at := range u.sub.parts {
		p := &u.sub.parts[at]
		c.revs[at], c.numbers[at] = p.rev, p.N
		c.numbers[at] = max(c.numbers[at], u.parts[at].n) // not one that may be stored later
		if slices.Contains(from, at) {
			one := p.cursor
			one.Next, one.N = u.sub.nextAt(at), c.numbers[at]
			c.cursors[at] = &one
		}
	}
	l.mu.Unlock()
	now := time.Now().UTC()
	for i, at := range from {
		one := c.cursors[at]
		one.N, one.By = one.N+1, l.instance
		if !l.lost(one) {
			continue
		}
		msgs, crashes, all, err := l.recover(u, one, now, room-len(c.msgs))
		if err != nil {
			return nil, err
		}
		if c.msgs, c.crashes = append(c.msgs, msgs...), append(c.crashes, crashes...); !all {
			l.begun(c, from[:i+1])
			return c, nil
		}
	}
	for _, at := range from {
		one := c.cursors[at]
		if l.lost(one) {
			if one.died(); one.Busy {
				c.wary[at] = len(one.Open) + waryEvents
			}
		}
		one.Ran, one.Busy, one.Fallen = nil, false, false
		if one.Owner, one.PID, one.Host, one.Since = l.instance, os.Getpid(), l.host, time.Now().UTC(); !own {
			one.free()
		}
	}
	switch {
	case own && !divided && parallel:
		return c, l.divide(u, c)
	case own && divided && !parallel:
		l.unite(c)
	}
	return c, nil
}

// lost reports whether the owner of a cursor has died, as this process is to take it over.
func (l *Log) lost(c *cursor) bool {
	return c.Owner != "" && (c.Owner != l.instance || c.Fallen)
}

// begun makes of a takeover one that only notes what ran: the rows are too many for one batch.
// The owners stay the dead ones, so that whoever goes on, after a crash as well, knows all that
// ran beside each other.
func (l *Log) begun(c *claimed, from []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.partly = true
	cursors := map[int]*cursor{}
	for _, at := range from {
		if one := c.cursors[at]; l.lost(one) {
			one.Fallen, one.Busy = true, one.Busy || l.unsure[one.Owner]
			cursors[at] = one
		}
	}
	c.cursors = cursors
}

// waryEvents is how many deliveries beyond a cursor a busy owner may have begun: as many as end
// before that is stored, and those among which the bus has chosen them.
const waryEvents = 2 * mostUnstored

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
	for u.owns() {
		for at := range u.parts {
			u.leave(at)
		}
		if err := u.awaitWritten(ctx); err != nil {
			return err
		}
	}
	l.mu.Unlock()
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
