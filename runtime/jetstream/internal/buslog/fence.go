package buslog

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A process takes a subscription over by writing its name into the cursor, under the
// condition that nobody else has written it meanwhile. It begins when it has read its own
// cursor: by then it has read everything that the last owner has stored, and what that
// stores later is refused. (A prototype that did not wait for its own cursor got rows from a
// replica that lagged, and handled events again that were done.)

// pingTime is how long an owner that is connected may take to say that it is alive.
const pingTime = 6 * time.Second

// lookAgain is how often a process looks whether the owners of its subscriptions are alive.
const lookAgain = 2 * time.Second

// pingSubject is where a process says that it is alive. It is not part of the stream.
func (l *Log) pingSubject(instance string) string {
	return "_busgen." + l.stream.Name() + "." + instance
}

// alive reports whether an owner answers. One that is not connected is not: what it says
// would be refused after a takeover.
func (l *Log) alive(ctx context.Context, instance string) bool {
	ok, err := l.stream.Ping(ctx, l.pingSubject(instance), pingTime)
	return ok && err == nil
}

// TakeOver implements [engine.Dispatcher]. The subscriptions that another process handles
// are taken over when it lets go of them, or dies.
func (l *Log) TakeOver(ctx context.Context) (found engine.Recovery, err error) {
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
		case s.cursor.Owner != "":
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
	for _, u := range units {
		crashes, err := l.take(ctx, u)
		found.Crashes = append(found.Crashes, crashes...)
		found.Interrupted = len(found.Crashes)
		if err != nil {
			l.mu.Lock()
			l.dispatching = false
			l.mu.Unlock()
			return found, err
		}
	}
	for _, u := range others {
		crashes, err := l.takeOver(ctx, u, false)
		found.Crashes = append(found.Crashes, crashes...)
		if err != nil {
			return found, err
		}
	}
	found.Interrupted = len(found.Crashes)
	go l.contend()
	return found, nil
}

// waitingUnits returns the subscriptions that this process polls and does not have, in the
// order in which they were made. The caller holds mu.
func (l *Log) waitingUnits() (units []*unit) {
	for _, s := range l.registry.Subs {
		if u := l.units[s.ID]; u != nil && !u.owned && u.consumer != nil {
			units = append(units, u)
		}
	}
	return units
}

// contend looks for subscriptions whose owners have died, until the log is closed.
func (l *Log) contend() {
	for {
		l.mu.Lock()
		idle := len(l.waitingUnits()) == 0
		l.mu.Unlock()
		if idle { // there is nothing to look for
			select {
			case <-l.missing:
			case <-l.stopped:
				return
			}
			continue
		}
		select {
		case <-time.After(lookAgain):
			l.takeOverFreed()
		case <-l.stopped:
			return
		}
	}
}

// lack makes contend look for subscriptions that this process polls and does not have.
func (l *Log) lack() {
	select {
	case l.missing <- struct{}{}:
	default:
	}
}

// takeOverFreed takes over the subscriptions whose owners have let go of them or are dead.
func (l *Log) takeOverFreed() {
	if l.enter() != nil {
		return
	}
	units := l.waitingUnits()
	l.mu.Unlock()
	for _, u := range units {
		crashes, err := l.take(context.Background(), u)
		l.report(crashes)
		if err != nil && !errors.Is(err, engine.ErrClosed) {
			l.logger.Error("a subscription cannot be taken over; trying again", "subscription_id", u.sub.Name, "error", err)
		}
	}
}

// report tells the bus of crashes that a takeover in the background has found.
func (l *Log) report(crashes []engine.Crash) {
	if l.options.Recovered != nil && len(crashes) > 0 {
		go l.options.Recovered(engine.Recovery{Interrupted: len(crashes), Crashes: crashes})
	}
}

// take makes this process the owner of a subscription, unless another owner is alive. It
// returns the deliveries whose handlers ran when the last owner died.
func (l *Log) take(ctx context.Context, u *unit) (crashes []engine.Crash, err error) {
	return l.takeOver(ctx, u, true)
}

// takeOver is take, or, if it is not to be owned, only notes which handlers ran when the
// owner died: this process does not poll the subscription.
func (l *Log) takeOver(ctx context.Context, u *unit, own bool) (crashes []engine.Crash, err error) {
	l.claiming.Lock()
	defer l.claiming.Unlock()
	for began := time.Now(); ; {
		if err := l.sync(ctx); err != nil {
			if l.waits(ctx, began, err) {
				continue
			}
			return nil, err
		}
		if err := l.enter(); err != nil {
			return nil, err
		}
		c, rev, owned := u.sub.cursor, u.sub.rev, u.owned
		if rev == 0 {
			c.Next = u.sub.Start + 1
		}
		l.mu.Unlock()
		if owned || u.ended != nil && !u.hasEnded() {
			return nil, nil
		}
		crashed := c.Owner != "" && c.Owner != l.instance
		if crashed && l.alive(ctx, c.Owner) || !crashed && !own {
			return nil, nil
		}
		var msgs []*stream.Msg
		wary := 0
		if crashed {
			c.Former, c.FormerRan, c.FormerCounting, c.FormerBusy = c.Owner, nil, 0, c.Busy
			for _, one := range c.Ran {
				c.FormerRan = append(c.FormerRan, one.ID)
				if !one.Waits {
					c.FormerCounting++
				}
			}
			if msgs, crashes, err = l.recover(u, &c); err != nil {
				return nil, l.storage("take over", err)
			}
			if c.Busy {
				wary = len(c.Open) + waryEvents
			}
		}
		c.N++
		c.Owner, c.PID, c.Host, c.Since = l.instance, os.Getpid(), l.host, time.Now().UTC()
		if c.Busy = false; !own {
			c.Owner, c.PID, c.Host, c.Since = "", 0, "", time.Time{}
		}
		msgs = append(msgs, l.cursorMsg(u.sub, &c, rev))
		seq, _, err := l.stream.Append(ctx, msgs...)
		if errors.Is(err, stream.ErrConflict) || err != nil && l.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return nil, l.storage("take over", err)
		}
		// The fence: what the last owner has stored has been read when this is done.
		if err := l.reach(ctx, seq+int64(len(msgs))-1); err != nil {
			return nil, err
		}
		if !own {
			return crashes, nil
		}
		l.mu.Lock()
		if u.sub.cursor.N == c.N && u.sub.cursor.Owner == l.instance && l.units[u.sub.ID] == u {
			u.begin(c, wary)
		}
		l.mu.Unlock()
		return crashes, nil
	}
}

// waryEvents is how many events beyond a cursor its owner may have polled.
const waryEvents = 512

// hasEnded reports whether the goroutine that stores has ended.
func (u *unit) hasEnded() bool {
	select {
	case <-u.ended:
		return true
	default:
		return false
	}
}

// begin makes the unit poll. The caller holds mu.
func (u *unit) begin(c cursor, wary int) {
	u.prepared = nil
	u.owned, u.moved = true, u.moved || u.polled
	u.rev, u.n, u.next, u.wary, u.busy, u.busyMode, u.begun = u.sub.rev, c.N, c.Next, wary, false, false, false
	u.returning = 0
	u.flights, u.queue, u.reopen = map[int64]*flight{}, nil, nil
	for _, seq := range c.Open {
		if u.sub.rows[seq] == nil {
			u.reopen = append(u.reopen, seq)
		}
	}
	u.sub.due = nil
	for _, r := range u.sub.rows {
		u.log.queueRow(u.sub, r)
	}
	u.stored = u.changes
	if len(u.sub.asks) > 0 { // somebody waits for an answer
		u.changed(false)
	}
	u.ended = make(chan struct{})
	go u.run()
	if u.consumer != nil {
		u.consumer.wake()
	}
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
	if owned, err := u.write(ctx); !owned || err != nil {
		return err
	}
	l.mu.Lock()
	if !u.owned {
		l.mu.Unlock()
		return nil
	}
	u.releasing = true
	u.changed(true)
	l.mu.Unlock()
	_, err := u.write(ctx)
	return err
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
