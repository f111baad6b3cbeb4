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
// condition that no other process has written it meanwhile. It begins when it has read its
// own cursor: by then it has read everything that the last owner has stored, and what that
// stores later is refused. (A prototype that did not wait for its own cursor got rows from a
// replica that lagged, and handled events again that were done.)

// cluster is what this process knows of the others that dispatch: which are alive, and what each has. It
// takes subscriptions over, and lets go of them. The maps and flags are guarded by mu.
type cluster struct {
	handled
	claiming    chan struct{} // holds a token while subscriptions are taken over
	itself      itself
	dispatching bool            // TakeOver was called
	contending  bool            // it was done
	leaving     bool            // Close was called
	dead        map[string]bool // processes that do not answer; those that come back are not among them
	unsure      map[string]bool // of these, whether it is unknown that they have ended
	idle        map[string]bool // of these, whether they answer, and have not ended
}

func (cl *cluster) init(s *stream.Stream, target string, options engine.Options) {
	cl.handled.init(s, target, options)
	cl.claiming = make(chan struct{}, 1)
	cl.dead, cl.unsure, cl.idle = map[string]bool{}, map[string]bool{}, map[string]bool{}
	cl.heard = func(process string) { delete(cl.dead, process) }
}

// TakeOver implements [engine.Dispatcher]. The subscriptions that another process handles
// are taken over when it lets go of them, or dies.
func (cl *cluster) TakeOver(ctx context.Context) (found engine.Recovery, err error) {
	if err := cl.hears(ctx); err != nil {
		return found, err
	}
	if err := cl.sync(ctx); err != nil {
		return found, err
	}
	if err := cl.enter(); err != nil {
		return found, err
	}
	first := !cl.dispatching
	cl.dispatching = true
	var units, others []*unit
	from := cl.applied + 1 // of what some subscription has not looked at
	for _, s := range cl.inOrder() {
		switch u := cl.units[s.ID]; {
		case u != nil && u.consumer != nil:
			units = append(units, u)
		case len(s.owners()) > 0:
			others = append(others, newUnit(&cl.handled, s))
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
	found.Backlog = cl.applied + 1 - from
	cl.mu.Unlock()
	if found.Backlog > 0 { // many of the messages may be none of events; all are an estimate
		if n, err := cl.stream.CountFrom(ctx, cl.subject(eventToken, ">"), from); err == nil {
			found.Backlog = min(found.Backlog, n)
		}
	}
	if !first {
		return found, nil
	}
	found.Crashes, err = cl.takeAll(ctx, units, others)
	found.Interrupted, found.CrashLoop = len(found.Crashes), cl.looping.Load()
	if err != nil {
		cl.mu.Lock()
		cl.dispatching = false
		cl.mu.Unlock()
		return found, err
	}
	cl.mu.Lock()
	cl.contending = true
	cl.mu.Unlock()
	go cl.contend()
	if cl.stream.Replicated() {
		go cl.askLeader()
	}
	return found, nil
}

// takeAll takes over what is free. Of the subscriptions that this process does not poll it
// only notes which handlers ran when their owners died.
func (cl *cluster) takeAll(ctx context.Context, units, others []*unit) (crashes []engine.Crash, err error) {
	cl.lookBriefly(ctx)
	if err := cl.join(ctx); err != nil {
		return nil, err
	}
	cl.born.CompareAndSwap(0, time.Now().UnixNano())
	for _, u := range append(units, others...) {
		found, err := cl.take(ctx, u)
		crashes = append(crashes, found...)
		if isForeign(err) { // the others can be handled
			cl.logger.Error("a subscription cannot be taken over; trying again", "subscription_id", cl.nameOf(u.sub), "error", err)
			continue
		}
		if err != nil {
			return crashes, err
		}
	}
	return crashes, nil
}

// begin makes this process handle a subscription that it polls since it dispatches.
func (cl *cluster) begin(ctx context.Context, u *unit) (crashes []engine.Crash, err error) {
	cl.lookBriefly(ctx)
	if err := cl.join(ctx); err != nil {
		return nil, err
	}
	defer cl.lack()
	return cl.take(ctx, u)
}

// report tells the bus of crashes that a takeover in the background has found.
func (cl *cluster) report(crashes []engine.Crash) {
	if cl.options.Recovered != nil && len(crashes) > 0 {
		go cl.options.Recovered(engine.Recovery{Interrupted: len(crashes), Crashes: crashes})
	}
}

// take makes this process the owner of a subscription, or of its share, unless other owners
// are alive. It returns the deliveries whose handlers ran when owners died. If no consumer
// polls it here, that is all.
func (cl *cluster) take(ctx context.Context, u *unit) (crashes []engine.Crash, err error) {
	select {
	case cl.claiming <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-cl.claiming }()
	tries, room := 0, batchRoom
	for began := time.Now(); ; {
		if err := cl.enter(); err != nil {
			return crashes, err
		}
		from := cl.takeable(u)
		cl.mu.Unlock()
		if len(from) == 0 {
			return crashes, nil
		}
		c, err := cl.claimsOf(u, from, room)
		if err != nil && cl.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return crashes, cl.storage("take over", err)
		}
		for at := range c.revs {
			if one := c.cursors[at]; one != nil {
				c.msgs = append(c.msgs, cl.cursorMsg(u.sub, at, one, c.revs[at]))
			}
		}
		seq, err := cl.append(ctx, c.msgs...)
		if errors.Is(err, stream.ErrConflict) || err != nil && cl.waits(ctx, began, err) {
			if err := cl.refused(ctx, c.msgs); err != nil {
				time.AfterFunc(passedAgain, cl.lack)
				return crashes, err
			}
			if err := cl.sync(ctx); err != nil && !cl.waits(ctx, began, err) {
				return crashes, err
			}
			cl.yield(ctx, &tries)
			continue
		}
		if errors.Is(err, stream.ErrTooLarge) && room > 1 {
			room /= 2
			continue
		}
		if err != nil {
			return crashes, cl.storage("take over", err)
		}
		crashes = append(crashes, c.crashes...)
		if c.looping {
			cl.looping.Store(true)
			if cl.options.Recovered != nil { // before anything is handed out
				cl.options.Recovered(engine.Recovery{CrashLoop: true})
			}
		}
		// The fence: what the last owner has stored has been read when this is done.
		if err := cl.learn(ctx, seq+int64(len(c.msgs))-1); err != nil {
			return crashes, err
		}
		if c.partly {
			continue
		}
		cl.mu.Lock()
		if c.looping {
			cl.sayLooping()
		}
		for _, at := range u.sub.live() {
			stored := c.cursors[at]
			if p := &u.sub.parts[at]; stored != nil && stored.Owner != "" && p.N == stored.N && p.By == cl.instance && cl.units[u.sub.ID] == u {
				u.acquire(at, c.wary[at])
			}
		}
		cl.mu.Unlock()
	}
}

// takeable returns the cursors that this process should take: of the whole, of all parts, or of its share of them.
func (cl *cluster) takeable(u *unit) (from []int) {
	s := u.sub
	dead := func(at int) bool {
		p := &s.parts[at]
		return p.Owner != "" && (p.Fallen || cl.dead[p.Owner])
	}
	free := func(at int) bool {
		owner := s.parts[at].Owner
		return !u.parts[at].owned && (owner == "" || owner == cl.instance || dead(at)) && cl.isFor(s, at) != others
	}
	switch {
	case cl.units[s.ID] != u || u.consumer == nil: // it only notes what ran
		for _, at := range s.live() {
			if dead(at) {
				from = append(from, at)
			}
		}
		return from
	case u.standsStill():
		return nil
	case s.divided() && u.parallel:
		return cl.fairClaims(u)
	}
	for _, at := range s.live() {
		if !free(at) {
			return nil
		}
	}
	return s.live()
}

// nameOf returns what this process calls a subscription. The caller does not hold mu.
func (v *logView) nameOf(s *sub) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return s.nameHere()
}

// release stores everything, and lets go of the subscription.
func (cl *cluster) release(ctx context.Context, u *unit) error {
	select { // a takeover on its way ends before we let go of it
	case cl.claiming <- struct{}{}:
		<-cl.claiming
	case <-ctx.Done():
		return ctx.Err()
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
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
func (h *handled) Flush(ctx context.Context) error {
	if err := h.enter(); err != nil {
		return err
	}
	units := make([]*unit, 0, len(h.units))
	for _, u := range h.units {
		units = append(units, u)
	}
	h.mu.Unlock()
	for _, u := range units {
		if _, err := u.write(ctx); err != nil {
			return err
		}
	}
	return nil
}
