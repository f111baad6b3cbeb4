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

// A process that is alive answers core requests. One that nobody can reach for absentTime is
// dead: it has no connection, so what it says would be refused after a takeover. Less is not
// enough: its server may have been started again, or a route between servers was away. One
// that is connected and silent may be stopped, or busy, so it has pingTime.

// absentTime is for how long nobody may be there who answers for a process. It is asked again
// every absentAgain.
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
func (l *Log) pingSubject(instance string) string {
	return "_busgen." + l.stream.Name() + "." + instance
}

// life is what is known of a process.
type life int

const (
	alive  life = iota // or it cannot be known now
	absent             // it has no connection: it has ended, as far as anybody can see
	idle               // it answers that it can do nothing for what it has
	silent             // it has a connection, and does not answer: nobody knows whether it has ended
)

// lifeOf asks a process whether it is alive. While this process has no connection itself, or
// the server does not answer, all count as alive.
func (l *Log) lifeOf(ctx context.Context, instance string) life {
	reconnects := l.stream.Reconnects()
	for asked := 0; ; asked++ {
		said, there, err := l.stream.Ping(ctx, l.pingSubject(instance), pingTime-againTime)
		switch {
		case said == idleAnswer:
			return l.idleness(ctx, instance, reconnects)
		case there:
			return alive
		case err != nil:
			return l.silence(ctx, instance, reconnects)
		case l.stream.Reconnects() != reconnects: // this server may not know yet who is there
			return alive
		case asked >= int(absentTime/absentAgain) || l.stream.Hasty(): // by a clock, it may have been asked once: this process may be stopped
			return absent
		}
		select {
		case <-time.After(absentAgain):
		case <-ctx.Done():
			return alive
		case <-l.stopped:
			return alive
		}
	}
}

// lifeNow asks a process at this moment whether it is alive, for whoever only shows it. One that is silent is absent.
func (l *Log) lifeNow(ctx context.Context, instance string) life {
	switch said, there, _ := l.stream.Ping(ctx, l.pingSubject(instance), pingTime); {
	case !there:
		return absent
	case said == idleAnswer:
		return idle
	}
	return alive
}

// idleness asks a process again, a moment later, that has said that it is idle. Who is idle itself, or is not answered by
// a leader, could do no more.
func (l *Log) idleness(ctx context.Context, instance string, reconnects uint64) life {
	select {
	case <-time.After(againTime):
	case <-ctx.Done():
	case <-l.stopped:
	}
	if l.isIdle() || !l.leads() {
		return alive
	}
	said, _, _ := l.stream.Ping(ctx, l.pingSubject(instance), againTime)
	if said != idleAnswer || l.stream.Reconnects() != reconnects {
		return alive
	}
	return idle
}

// silence asks a process again that has not answered.
func (l *Log) silence(ctx context.Context, instance string, reconnects uint64) life {
	if _, err := l.stream.Last(ctx); err != nil {
		return alive
	}
	_, there, _ := l.stream.Ping(ctx, l.pingSubject(instance), againTime)
	if there || ctx.Err() != nil || l.stream.Reconnects() != reconnects {
		return alive
	}
	return silent
}

// hears returns an error unless this process can be asked whether it is alive: others would
// take everything away from it.
func (l *Log) hears(ctx context.Context) error {
	for began := time.Now(); ; {
		_, there, err := l.stream.Ping(ctx, l.pingSubject(l.instance), againTime)
		switch {
		case there:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case l.isClosed():
			return engine.ErrClosed
		case time.Since(began) > 2*absentTime:
			if _, wrong := l.stream.Last(ctx); wrong != nil {
				return l.storage("start", wrong)
			}
			return &event.StorageError{
				Fault: event.IO, Op: "start", Path: l.target, Err: cmp.Or(err, errors.New("nobody is there")),
				Hint: "other processes cannot ask this one whether it is alive: allow its user of NATS to publish and subscribe to _busgen." + l.stream.Name() + ".>, and to _INBOX.>",
			}
		}
		select {
		case <-time.After(absentAgain):
		case <-l.stopped:
		case <-ctx.Done():
		}
	}
}

// lookTime is how long a process that begins waits for answers. Who is connected and silent
// is found dead later, if he is.
const lookTime = absentTime + time.Second

// lookBriefly is look for who cannot wait long.
func (l *Log) lookBriefly(ctx context.Context) {
	seen := make(chan struct{})
	go func() {
		l.look(context.WithoutCancel(ctx))
		close(seen)
		l.lack()
	}()
	select {
	case <-seen:
	case <-time.After(lookTime):
	case <-ctx.Done():
	}
}

// look asks the owners of subscriptions that this process could handle, and notes who is dead, or idle.
func (l *Log) look(ctx context.Context) {
	l.mu.Lock()
	all := l.watched()
	l.mu.Unlock()
	if len(all) > 0 {
		l.startLooks()
	}
	var wait sync.WaitGroup
	for _, instance := range all {
		wait.Go(func() {
			if found := l.lifeOf(ctx, instance); found != alive {
				l.mu.Lock()
				l.dead[instance], l.unsure[instance], l.idle[instance] = true, found == silent, found == idle
				l.mu.Unlock()
			}
		})
	}
	wait.Wait()
}

// watched returns the processes that have something which this one would take over, or that
// share subscriptions with it. Those of which it knows that they are dead are not among them.
// The caller holds mu.
func (l *Log) watched() (all []string) {
	found := map[string]bool{l.instance: true}
	add := func(instance string) {
		if !found[instance] && !l.dead[instance] {
			found[instance] = true
			all = append(all, instance)
		}
	}
	for _, s := range l.subs {
		u := l.units[s.ID]
		if u == nil && l.contending || u != nil && u.consumer == nil {
			continue // of these it only notes what ran, when it begins
		}
		for instance := range s.owners() {
			add(instance)
		}
	}
	for instance := range l.members.Processes {
		if _, mine := l.members.Processes[l.instance]; mine || !l.contending {
			add(instance)
		}
	}
	return all
}

// contend takes over what is free, and gives away what is more than a fair share, until the
// log is closed.
func (l *Log) contend() {
	looked := time.Now()
	for {
		l.mu.Lock()
		watches := len(l.watched()) > 0
		moving := l.letGo(time.Now())
		l.mu.Unlock()
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
		case <-l.missing:
		case <-ring:
			if watches && time.Since(looked) >= lookAgain {
				looked = time.Now()
				go func() {
					l.look(context.Background())
					l.lack()
				}()
			}
		case <-l.stopped:
			return
		}
		if err := l.join(context.Background()); err != nil && !errors.Is(err, engine.ErrClosed) {
			time.AfterFunc(lookAgain, l.lack)
			l.logger.Error("the processes that share subscriptions cannot be stored; trying again", "error", err)
		}
		l.takeOverFreed()
	}
}

// lack makes contend look for something to take over.
func (l *Log) lack() {
	select {
	case l.missing <- struct{}{}:
	default:
	}
}

// takeOverFreed takes over what owners have let go of, and what the dead had.
func (l *Log) takeOverFreed() {
	if l.enter() != nil {
		return
	}
	var units []*unit
	for _, s := range l.inOrder() {
		if u := l.units[s.ID]; u != nil && u.consumer != nil && len(l.takeable(u)) > 0 {
			units = append(units, u)
		}
	}
	l.mu.Unlock()
	for _, u := range units {
		crashes, err := l.take(context.Background(), u)
		l.report(crashes)
		if err != nil && !errors.Is(err, engine.ErrClosed) {
			time.AfterFunc(lookAgain, l.lack)
			l.logger.Error("a subscription cannot be taken over; trying again", "subscription_id", l.nameOfUnit(u), "error", err)
		}
	}
}
