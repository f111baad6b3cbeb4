package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ephemeral"
	"github.com/busgen/busgen/runtime/internal/guard"
	"github.com/busgen/busgen/runtime/observe"
)

// logChanged is called by the log, on a goroutine of its own, when a backup was restored
// into it or when it must not be used any more.
func (b *innerBus) logChanged(what error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopping || b.log == nil { // in which case nobody has asked for anything
		return
	}
	restored := errors.Is(what, engine.ErrRestored)
	if restored && b.renewing {
		return // and what begins now is of the newest log
	}
	b.renewing = b.renewing || restored
	if !restored && b.halt != nil {
		b.halt()
	}
	b.maintenance.Go(func() {
		// The handlers that run belong to the log as it was: what they return
		// is recorded nowhere.
		b.mu.Lock()
		feeds := append(b.ephemeralFeeds(), b.feeds...)
		b.mu.Unlock()
		interrupt(feeds)
		if restored {
			b.resume()
		} else {
			b.health.stop(what)
		}
	})
}

// interrupt ends the handlers of all feeds.
func interrupt(feeds []*feed) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	var waiting sync.WaitGroup
	for _, f := range feeds {
		waiting.Go(func() { f.stop(now) })
	}
	waiting.Wait()
}

// resumeDelay is the pause after the restored log could not be taken over.
const resumeDelay = time.Second

// resume goes on with a log that was restored, as after a start: what the catalogue
// declares is made known to it, and the subscriptions begin where it has them.
func (b *innerBus) resume() {
	for failed := false; ; {
		err := b.subscribeAnew()
		if err == nil && b.dispatches() {
			b.reportUnhandled(context.Background())
		}
		if err == nil || errors.Is(err, ErrShutdown) || errors.Is(err, engine.ErrClosed) {
			return
		}
		if !failed && !errors.Is(err, errStarting) {
			failed = true
			b.config.logger.Error("the bus cannot go on with the restored file; trying again every second", "error", err)
		}
		select {
		case <-time.After(resumeDelay):
		case <-b.stopRequested:
			return
		}
	}
}

func (b *innerBus) subscribeAnew() error {
	ctx, cancel := context.WithCancel(b.untilShutdown())
	defer cancel()
	if err := declareAll(ctx, b.log, b.catalogue); err != nil {
		return err
	}
	end, err := b.change(ctx)
	if err != nil {
		return err
	}
	defer end()
	b.mu.Lock()
	before, feeds := b.state, b.feeds
	fleeting := slices.DeleteFunc(b.ephemeralFeeds(), func(f *feed) bool { return f.detached != nil }) // Unsubscribe closes those
	b.mu.Unlock()
	switch before {
	case stopping:
		return ErrShutdown
	case starting:
		return errStarting // it has yet to take over, or is about to be told
	case running:
		if _, err := b.log.TakeOver(ctx); err != nil {
			return err
		}
	}
	consumers := make([]engine.Consumer, len(feeds))
	for i, f := range feeds {
		if consumers[i], err = b.log.Consumer(ctx, f.spec(*f.members.Load())); err != nil {
			break
		}
	}
	watches := make([]*ephemeral.Consumer, len(fleeting))
	for i, f := range fleeting {
		if err == nil {
			watches[i], err = f.watch(ctx)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, f := range feeds {
		if consumers[i] != nil {
			f.consumer = consumers[i]
		}
	}
	for i, f := range fleeting {
		switch {
		case watches[i] == nil:
		case f.detached != nil: // meanwhile
			watches[i].Close()
		default:
			f.follow(watches[i])
		}
	}
	b.setFeeds(b.feeds) // also after an error, WaitIdle must look at the new ones
	switch {
	case err != nil:
		return err
	case b.state == stopping:
		return ErrShutdown
	case b.state != before:
		return errStarting
	}
	b.renewing = false
	for f := range b.ephemeral {
		f.start()
	}
	if b.state == running {
		for _, f := range b.feeds {
			f.start()
		}
		b.timetable.renew()
		b.config.logger.Info("event bus goes on with the restored file")
	}
	return nil
}

var errStarting = errors.New("the bus is starting")

// recovered reports what a takeover has found of a process that has died.
func (b *innerBus) recovered(found engine.Recovery) {
	guard.InTime(func() { b.crashed(found.Crashes) }) // which tells observers
	began := b.began.Load()
	if !found.CrashLoop || began == nil || !b.crashLoop.Until().IsZero() { // or Start finds it
		return
	}
	until := began.Add(engine.CrashLoopTime)
	if !time.Now().Before(until) {
		return // this process has lived for long enough
	}
	b.crashLoop.Begin(until)
	b.config.logger.Warn("the last process ended soon after its start, while handlers were running; deliveries that another crash would make dead letters wait until this process has lived for as long",
		"within", engine.CrashLoopTime, "until", until)
}

// crashed reports the deliveries whose handlers ran when the last process died: to
// the log, to the observers and in Stats, before anything runs again.
func (b *innerBus) crashed(crashes []engine.Crash) {
	const named = 10
	var together []string
	ran := 0
	for i := range crashes {
		one := &crashes[i]
		ran = one.Ran
		if one.Attempt == nil {
			together = append(together, fmt.Sprintf("%s (%s)", one.ID, one.Subscription))
			continue
		}
		b.crashCounted(one)
	}
	if len(together) > 0 {
		list := strings.Join(together[:min(named, len(together))], ", ")
		if more := len(together) - named; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		b.config.logger.Warn("the process ended while several handlers were running; it counts for none of them, and they now run alone: one at a time, or in half a batch",
			"handlers", ran, "events", list)
	}
}

// crashCounted reports a failed attempt.
func (b *innerBus) crashCounted(crash *engine.Crash) {
	s, settings, due := b.reporter(crash), declare.DefaultSettings(), crash.Attempt.Ended
	attributes := []any{"event_id", crash.ID, "event_type", crash.Type, "subscription_id", crash.Subscription, "attempt", crash.Failures + crash.Uncounted}
	if s != nil {
		settings.Retry = s.feed.settingsOf(crash.Type).Retry
		attributes = append(attributes, "max_attempts", settings.Retry.MaxAttempts+crash.Uncounted)
	}
	b.config.logger.Warn("event handler failed", append(attributes, "delay_ms", 0, "error", crash.Attempt.Error)...)
	if s == nil {
		return
	}
	if settings.Retry.Exhausted(crash.Failures) {
		due = time.Time{}
	}
	(*counter)(s).crashed(crash, settings.Retry.MaxAttempts+crash.Uncounted, due)
}

// crashed counts an attempt that ended with the last process, and tells the
// observers. How long it took is not known.
func (c *counter) crashed(crash *engine.Crash, maxAttempts int, due time.Time) {
	retried := !due.IsZero()
	c.counts.attemptFailed(event.KindCrash, retried)
	c.ofEventType(crash.Type).attemptFailed(event.KindCrash, retried)
	info := observe.AttemptInfo{
		ID: crash.ID, Type: crash.Type, PublishedAt: crash.CreatedAt, Subscription: c.name, Group: c.config.group,
		Attempt: crash.Failures + crash.Uncounted, MaxAttempts: maxAttempts,
	}
	tell(&c.bus.observers, toFailed, observe.FailedInfo{AttemptInfo: info, Kind: event.KindCrash, Error: crash.Attempt.Error})
	if retried {
		tell(&c.bus.observers, toRetrying, observe.RetryingInfo{AttemptInfo: info, Due: due, Error: crash.Attempt.Error})
	}
}
