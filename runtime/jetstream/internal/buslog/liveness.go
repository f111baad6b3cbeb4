package buslog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// A process that is alive answers core requests. One that is not connected is as good as
// dead: what it says would be refused after a takeover. One that is connected and silent may
// be stopped, or busy, so it has pingTime.

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

// alive reports whether a process answers. While the server does not answer, they all count
// as alive.
func (l *Log) alive(ctx context.Context, instance string) bool {
	connected, err := l.stream.Ping(ctx, l.pingSubject(instance), pingTime-againTime)
	if err != nil {
		if _, wrong := l.stream.Last(ctx); wrong != nil {
			return true
		}
		connected, err = l.stream.Ping(ctx, l.pingSubject(instance), againTime)
	}
	return connected && err == nil
}

// lookTime is how long a process that begins waits for answers. Who is connected and silent
// is found dead later, if he is.
const lookTime = time.Second

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

// look asks those whose subscriptions this process could handle, and notes who is dead.
func (l *Log) look(ctx context.Context) {
	l.mu.Lock()
	all := l.watched()
	l.mu.Unlock()
	var wait sync.WaitGroup
	for _, instance := range all {
		wait.Go(func() {
			if !l.alive(ctx, instance) {
				l.mu.Lock()
				l.dead[instance] = true
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
		if err := l.join(context.Background()); err != nil {
			l.complain("the processes that share subscriptions cannot be stored; trying again", err)
		}
		l.takeOverFreed()
	}
}

// complain logs an error, unless the log is closed.
func (l *Log) complain(text string, err error, args ...any) {
	if !errors.Is(err, engine.ErrClosed) {
		l.logger.Error(text, append(args, "error", err)...)
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
		if err != nil {
			l.complain("a subscription cannot be taken over; trying again", err, "subscription_id", u.sub.Name)
		}
	}
}
