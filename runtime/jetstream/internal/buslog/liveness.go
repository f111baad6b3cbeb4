package buslog

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A process that is alive answers core requests. One that cannot be reached for absentTime
// is dead: it has no connection, so what it says would be refused after a takeover. Less is
// not enough: its server may have been started again, or a route between servers was away.
// One that is connected and silent may be stopped, or busy, so it has pingTime.

// absentTime is for how long a process may be absent. It is asked again every absentAgain.
const (
	absentTime  = 3 * time.Second
	absentAgain = 500 * time.Millisecond
)

// pingTime is how long an owner that is connected may take to say that it is alive.
const pingTime = 6 * time.Second

// againTime is the last part of pingTime, in which it is asked again: if this process was
// stopped itself, the answer to the first question may have come too late for it.
const againTime = time.Second

// lookAgain is how often a process looks whether the owners of its subscriptions are alive.
const lookAgain = 2 * time.Second

// pingSubject is where a process says that it is alive. It is not part of the stream.
func (c *conn) pingSubject(instance string) string {
	return "_busgen." + c.stream.Name() + "." + instance
}

// life is what is known of a process.
type life int

const (
	alive  life = iota // or it cannot be known now
	absent             // it has no connection: it has ended, as far as this process can see
	idle               // it answers that it can do nothing for what it has
	silent             // it has a connection, and does not answer: whether it has ended is unknown
)

// lifeOf asks a process whether it is alive. While this process has no connection itself, or
// the server does not answer, all count as alive.
func (cl *cluster) lifeOf(ctx context.Context, instance string) life {
	reconnects := cl.stream.Reconnects()
	for asked := 0; ; asked++ {
		said, there, err := cl.stream.Ping(ctx, cl.pingSubject(instance), pingTime-againTime)
		switch {
		case said == idleAnswer:
			return cl.idleness(ctx, instance, reconnects)
		case there:
			return alive
		case err != nil:
			return cl.silence(ctx, instance, reconnects)
		case cl.stream.Reconnects() != reconnects: // this server may not know all processes yet
			return alive
		case asked >= int(absentTime/absentAgain) || cl.stream.Hasty(): // by a clock, it may have been asked once: this process may be stopped
			return absent
		}
		select {
		case <-time.After(absentAgain):
		case <-ctx.Done():
			return alive
		case <-cl.stopped:
			return alive
		}
	}
}

// lifeNow asks a process at this moment whether it is alive, only to show it. One that is silent is absent.
func (c *conn) lifeNow(ctx context.Context, instance string) life {
	switch said, there, _ := c.stream.Ping(ctx, c.pingSubject(instance), pingTime); {
	case !there:
		return absent
	case said == idleAnswer:
		return idle
	}
	return alive
}

// idleness asks a process again, a moment later, that has said that it is idle. A process that is idle itself, or is
// not answered by a leader, could do no more.
func (cl *cluster) idleness(ctx context.Context, instance string, reconnects uint64) life {
	select {
	case <-time.After(againTime):
	case <-ctx.Done():
	case <-cl.stopped:
	}
	if cl.isIdle() || !cl.leads() {
		return alive
	}
	said, _, _ := cl.stream.Ping(ctx, cl.pingSubject(instance), againTime)
	if said != idleAnswer || cl.stream.Reconnects() != reconnects {
		return alive
	}
	return idle
}

// silence asks a process again that has not answered.
func (c *conn) silence(ctx context.Context, instance string, reconnects uint64) life {
	if _, err := c.stream.Last(ctx); err != nil {
		return alive
	}
	_, there, _ := c.stream.Ping(ctx, c.pingSubject(instance), againTime)
	if there || ctx.Err() != nil || c.stream.Reconnects() != reconnects {
		return alive
	}
	return silent
}

// hears returns an error unless this process can be asked whether it is alive: others would
// take everything away from it.
func (cl *cluster) hears(ctx context.Context) error {
	for began := time.Now(); ; {
		_, there, err := cl.stream.Ping(ctx, cl.pingSubject(cl.instance), againTime)
		switch {
		case there:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case cl.isClosed():
			return engine.ErrClosed
		case time.Since(began) > 2*absentTime:
			if _, wrong := cl.stream.Last(ctx); wrong != nil {
				return cl.storage("start", wrong)
			}
			return &event.StorageError{
				Fault: event.IO, Op: "start", Path: cl.target, Err: cmp.Or(err, errors.New("nobody is there")),
				Hint: "other processes cannot ask this one whether it is alive: allow its user of NATS to publish and subscribe to _busgen." + cl.stream.Name() + ".>, and to _INBOX.>",
			}
		}
		select {
		case <-time.After(absentAgain):
		case <-cl.stopped:
		case <-ctx.Done():
		}
	}
}

// lookTime is how long a process that begins waits for answers. One that is connected and
// silent is found dead later, if it is.
const lookTime = absentTime + time.Second

// lookBriefly is look for callers that cannot wait long.
func (cl *cluster) lookBriefly(ctx context.Context) {
	seen := make(chan struct{})
	go func() {
		cl.look(context.WithoutCancel(ctx))
		close(seen)
		cl.lack()
	}()
	select {
	case <-seen:
	case <-time.After(lookTime):
	case <-ctx.Done():
	}
}

// look asks the owners of subscriptions that this process could handle, and notes which are dead, or idle.
func (cl *cluster) look(ctx context.Context) {
	cl.mu.Lock()
	all := cl.watched()
	cl.mu.Unlock()
	if len(all) > 0 {
		cl.startLooks()
	}
	var wait sync.WaitGroup
	for _, instance := range all {
		wait.Go(func() {
			if found := cl.lifeOf(ctx, instance); found != alive {
				cl.mu.Lock()
				cl.dead[instance], cl.unsure[instance], cl.idle[instance] = true, found == silent, found == idle
				cl.mu.Unlock()
			}
		})
	}
	wait.Wait()
}

// watched returns the processes that have something which this one would take over, or that share subscriptions with
// it. Those of which it knows that they are dead are not among them.
func (cl *cluster) watched() (all []string) {
	found := map[string]bool{cl.instance: true}
	add := func(instance string) {
		if !found[instance] && !cl.dead[instance] {
			found[instance] = true
			all = append(all, instance)
		}
	}
	for _, s := range cl.subs {
		u := cl.units[s.ID]
		if u == nil && cl.contending || u != nil && u.consumer == nil {
			continue // of these it only notes what ran, when it begins
		}
		for instance := range s.owners() {
			add(instance)
		}
	}
	for instance := range cl.members.Processes {
		if _, mine := cl.members.Processes[cl.instance]; mine || !cl.contending {
			add(instance)
		}
	}
	return all
}

// contend takes over what is free, and gives away what is more than a fair share, until the
// log is closed.
func (cl *cluster) contend() {
	looked := time.Now()
	for {
		cl.mu.Lock()
		watches := len(cl.watched()) > 0
		moving := cl.letGo(time.Now())
		cl.mu.Unlock()
		wait := time.Duration(-1)
		if watches {
			wait = max(lookAgain-time.Since(looked), 0)
		}
		if moving && (wait < 0 || wait > moveAgain) {
			wait = moveAgain
		}
		var ring <-chan time.Time // nil for what comes by itself
		if wait >= 0 {
			ring = time.After(wait)
		}
		select {
		case <-cl.missing:
		case <-ring:
			if watches && time.Since(looked) >= lookAgain {
				looked = time.Now()
				go func() {
					cl.look(context.Background())
					cl.lack()
				}()
			}
		case <-cl.stopped:
			return
		}
		if err := cl.join(context.Background()); err != nil && !errors.Is(err, engine.ErrClosed) {
			time.AfterFunc(lookAgain, cl.lack)
			cl.logger.Error("the processes that share subscriptions cannot be stored; trying again", "error", err)
		}
		cl.takeOverFreed()
	}
}

// lack makes contend look for something to take over.
func (v *logView) lack() {
	select {
	case v.missing <- struct{}{}:
	default:
	}
}

// takeOverFreed takes over what owners have let go of, and what the dead had.
func (cl *cluster) takeOverFreed() {
	if cl.enter() != nil {
		return
	}
	var units []*unit
	for _, s := range cl.inOrder() {
		if u := cl.units[s.ID]; u != nil && u.consumer != nil && len(cl.takeable(u)) > 0 {
			units = append(units, u)
		}
	}
	cl.mu.Unlock()
	for _, u := range units {
		crashes, err := cl.take(context.Background(), u)
		cl.report(crashes)
		if err != nil && !errors.Is(err, engine.ErrClosed) {
			time.AfterFunc(lookAgain, cl.lack)
			cl.logger.Error("a subscription cannot be taken over; trying again", "subscription_id", cl.nameOf(u.sub), "error", err)
		}
	}
}
