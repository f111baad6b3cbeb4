package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/background"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
	"github.com/busgen/busgen/runtime/observe"
)

// Start recovers what the last process left unfinished, and begins to deliver.
// Subscriptions are usually made before; one that is made later starts at once.
//
// Events that were being handled when the last process died are handled again at once,
// one after the other with no other handler beside them. If there was only one, that
// counts as a failed attempt. One process at a time dispatches from a file: if there
// is another, the error matches [event.ErrAlreadyRunning] and names it; with
// [WithStandby] Start waits for it to end. ctx bounds the start, not the life of
// the bus. If the program has subscribed some members of a group that the catalogue declares,
// and not the others, the error has a *[GroupError] for it; subscribe them, and start again.
//
// After an error Start can be called again. If the error came late, of a full disk for
// example, the file is this bus's already: no other process dispatches from it until this
// one starts or is shut down.
func (b *Bus) Start(ctx context.Context) error { return busOf(b).start(ctx) }

func (b *innerBus) start(ctx context.Context) error {
	if err := b.changeState(opened, starting); err != nil {
		return err
	}
	end, err := b.change(ctx)
	if err == nil {
		err = b.completeGroups(ctx)
		end()
	}
	if err == nil {
		err = b.subscribeRelay()
	}
	var found engine.Recovery
	if err == nil {
		found, err = b.takeOver(ctx)
		b.tookOver(found) // now: it is not found again if what follows fails, and Start is called again
	}
	if err == nil {
		err = b.log.WatchPauses(ctx, b.pausesChanged)
	}
	if err == nil {
		err = b.timetable.declare(ctx)
	}
	if err == nil {
		end, err = b.change(ctx)
	}
	if err != nil {
		return errors.Join(public(err), b.changeState(starting, opened))
	}
	err = b.dispatch()
	end()
	if err != nil {
		return err
	}
	b.reportUnhandled(ctx)
	return nil
}

// tookOver notes and reports what a takeover has found.
func (b *innerBus) tookOver(found engine.Recovery) {
	b.mu.Lock()
	if b.recovery == (observe.Recovery{}) { // else it is of a Start that has failed
		b.recovery = observe.Recovery{Interrupted: found.Interrupted, Waiting: found.Waiting, Dead: found.Dead, Backlog: found.Backlog}
	}
	b.mu.Unlock()
	b.began.Store(new(time.Now()))
	b.recovered(found)
}

// dispatch begins to deliver.
func (b *innerBus) dispatch() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopping {
		return ErrShutdown
	}
	b.state = running
	b.config.logger.Info("event bus started", "interrupted", b.recovery.Interrupted, "waiting", b.recovery.Waiting,
		"dead", b.recovery.Dead, "backlog", b.recovery.Backlog)
	b.reportClasses()
	for _, f := range b.feeds {
		f.start()
	}
	maintenance := b.untilShutdown()
	var owner context.Context
	owner, b.halt = context.WithCancel(maintenance)
	if b.config.retention != Forever {
		b.maintenance.Go(func() { background.Prune(owner, b.log, b.config.retention, b.config.logger) })
	}
	b.maintenance.Go(func() { background.Redrive(owner, b.log, b.redriveRules, b.config.logger) })
	b.maintenance.Go(func() { b.health.watch(owner, true) })
	b.maintenance.Go(func() { b.timetable.run(owner) })
	if log, ok := b.log.(engine.Inbox); ok {
		b.maintenance.Go(func() { b.inbox.run(owner, log, b.config.logger) })
	}
	b.runRelay(owner)
	b.runObservers()
	b.showing.Start(b.log)
	return nil
}

// runObservers begins to tell observers of changes. The caller holds mu.
func (b *innerBus) runObservers() {
	if !b.observing {
		b.observing = true
		b.observers.changes.Run(b.untilShutdown())
	}
}

// standbyDelay is how often a bus that stands by looks whether the owner is gone.
const standbyDelay = 25 * time.Millisecond

// takeOver makes this bus the one that dispatches.
func (b *innerBus) takeOver(ctx context.Context) (engine.Recovery, error) {
	found, err := b.log.TakeOver(ctx)
	if !b.config.standby || !errors.Is(err, event.ErrAlreadyRunning) {
		return found, err
	}
	b.config.logger.Info("event bus stands by", "reason", err.Error())
	standing, end := context.WithCancel(context.Background())
	var looks sync.WaitGroup
	looks.Go(func() { b.health.watch(standing, false) })
	defer looks.Wait()
	defer end()
	b.mu.Lock()
	b.runObservers() // of what the health says meanwhile
	b.mu.Unlock()
	for tick := time.NewTicker(standbyDelay); ; {
		select {
		case <-tick.C:
		case <-b.stopRequested:
			return found, ErrShutdown
		case <-ctx.Done():
			return found, ctx.Err()
		}
		if found, err = b.log.TakeOver(ctx); !errors.Is(err, event.ErrAlreadyRunning) {
			tick.Stop()
			return found, err
		}
	}
}

// WaitIdle waits until every delivery to the subscriptions of this bus is
// settled: handled, or dead-lettered after its last retry. New events and new
// subscriptions make it wait longer; a subscription that is unsubscribed meanwhile is
// not waited for any more. It returns the error of ctx if that ends first,
// [ErrShutdown] when the bus is shut down, and [ErrInsideHandler] in a handler of this
// bus, whose own delivery is not settled before it returns.
func (b *Bus) WaitIdle(ctx context.Context) error { return busOf(b).waitIdle(ctx) }

func (b *innerBus) waitIdle(ctx context.Context) error {
	defer b.keep()
	if b.onWorker(nil) {
		return ErrInsideHandler
	}
	for {
		b.mu.Lock()
		consumers := make([]engine.Consumer, len(b.feeds))
		for i, f := range b.feeds {
			consumers[i] = f.consumer
		}
		changed := b.changed
		b.mu.Unlock()
		err := b.waitSettled(ctx, consumers, changed)
		if errors.Is(err, engine.ErrRestored) { // the bus is about to subscribe anew
			select {
			case <-changed:
			case <-ctx.Done():
				return ctx.Err()
			case <-b.stopRequested:
				return ErrShutdown
			}
		}
		select {
		case <-changed:
			if ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
				continue
			}
			if errors.Is(err, context.Canceled) { // by the change; its own context has ended as well
				return ctx.Err()
			}
		default:
		}
		return public(err)
	}
}

// waitSettled waits for consumers, or until they have changed.
func (b *innerBus) waitSettled(ctx context.Context, consumers []engine.Consumer, changed <-chan struct{}) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-changed:
			end()
		case <-ctx.Done():
		}
	}()
	return b.log.WaitSettled(ctx, consumers)
}

// Shutdown refuses new events, waits for the handlers that are running, writes
// what is pending and closes the file. Without a deadline in ctx it waits for
// the shutdown timeout ([WithShutdownTimeout]).
//
// Handlers that still run then have their context cancelled with [ErrShutdown]. A
// handler that ignores that for a second is left behind, which counts as a failed
// attempt. All other deliveries are given back, which does not count, and made after
// the next start. The error then matches [context.DeadlineExceeded] or what ended ctx;
// the file is closed all the same. Observers that block are left behind, too, and what their handlers have done is
// written. If another process holds the lock of the file, Shutdown tries to write until half a second after ctx has
// ended; what it cannot write is handled again after the next start, and the error says so.
//
// Afterwards the methods of the bus return [ErrShutdown]. A second call waits for the
// first, or for its own ctx, and returns nil. In a handler of this bus Shutdown would wait for itself: it
// returns [ErrInsideHandler] and changes nothing.
func (b *Bus) Shutdown(ctx context.Context) error { return busOf(b).shutdown(ctx) }

func (b *innerBus) shutdown(ctx context.Context) error {
	if b.onWorker(nil) {
		return ErrInsideHandler
	}
	b.mu.Lock()
	if b.state == stopping {
		b.mu.Unlock()
		select {
		case <-b.stopped:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	dispatched := b.state == running
	b.state = stopping
	b.dropped.Stop()
	close(b.stopRequested)
	feeds := append(b.ephemeralFeeds(), b.feeds...)
	b.mu.Unlock()

	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.config.shutdownTimeout)
		defer cancel()
	}
	ended := make(chan error, 1)
	go func() {
		defer close(b.stopped)
		ended <- b.end(ctx, feeds, dispatched)
	}()
	select {
	case err := <-ended:
		return err
	case <-endOf(ctx):
		return fmt.Errorf("%s is not closed yet, because code of the program or the disk blocks: %w", b.log.Traits().Target, ctx.Err())
	}
}

// endOf returns a channel that is closed when a shutdown is to return, whatever blocks. That is a moment after all that
// it waits for with a limit.
func endOf(ctx context.Context) <-chan struct{} {
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(shutdownGrace+closingTime+3*guard.Patience, func() { close(ended) }) })
	return ended
}

// end ends what is going on in a bus, and closes the log. What blocks is left behind soon after ctx has ended.
func (b *innerBus) end(ctx context.Context, feeds []*feed, dispatched bool) error {
	errs := make([]error, len(feeds)+1)
	var waiting sync.WaitGroup
	waiting.Go(func() { errs[len(feeds)] = b.past.close() }) // which ends a Find that is under way
	// Before one of them waits: what a handler leaves when it ends lets others begin.
	for _, f := range feeds {
		if s := f.running(); s != nil {
			s.Halt()
		}
	}
	for i, f := range feeds {
		waiting.Go(func() { errs[i] = f.stop(ctx) })
	}
	waiting.Wait()
	b.maintenance.Wait()
	b.abandoning.stop(ctx)
	err := b.database.close() // before what writes: a transaction may be open
	if dispatched {
		b.showing.Stop() // so late that others see for whom the shutdown waits
	}
	b.observers.changes.Wait(ctx)
	for _, f := range feeds {
		if f.fleeting != nil {
			f.fleeting.consumer.Close()
		}
	}
	b.limits.close(b.log, b.config.logger)
	return errors.Join(errors.Join(errs...), err, closeWithin(ctx, b.log))
}

// shutdownGrace is how long a cancelled handler has to return.
const shutdownGrace = time.Second

// Compact gives the space of deleted events back to the file system and returns
// how many bytes it was. It works in small steps beside publishers and handlers,
// and ends early with ctx. There is no need to call it regularly: deleted space is
// used again by new events. The file itself shrinks when its WAL is next
// checkpointed, at the latest when the bus is shut down.
//
// With an engine that gives space back by itself ([WithEngine]) the error matches
// [errors.ErrUnsupported].
func (b *Bus) Compact(ctx context.Context) (freed int64, err error) { return busOf(b).compact(ctx) }

func (b *innerBus) compact(ctx context.Context) (freed int64, err error) {
	defer b.keep()
	freed, err = b.log.Compact(ctx)
	return freed, public(err)
}

// life is the end of a bus, and what waits for it.
type life struct {
	changing      chan struct{}  // holds a token while subscriptions are made, removed or started, which the log is asked for
	stopRequested chan struct{}  // closed when Shutdown begins
	stopped       chan struct{}  // closed when Shutdown is through
	maintenance   sync.WaitGroup // goroutines of the bus that end with it
}

func newLife() life {
	return life{changing: make(chan struct{}, 1), stopRequested: make(chan struct{}), stopped: make(chan struct{})}
}

// change waits until no subscription is being made, removed or started, and keeps others from beginning until end is
// called.
func (l *life) change(ctx context.Context) (end func(), err error) {
	select {
	case l.changing <- struct{}{}:
		return func() { <-l.changing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.stopRequested:
		return nil, ErrShutdown
	}
}

// subscribing returns the context of a Subscribe. It ends when a shutdown begins, too.
func (l *life) subscribing() (ctx context.Context, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), subscribeTime)
	go func() {
		select {
		case <-l.stopRequested:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// untilShutdown returns a context that ends when Shutdown begins.
func (l *life) untilShutdown() context.Context {
	ctx, end := context.WithCancel(context.Background())
	l.maintenance.Go(func() { <-l.stopRequested; end() })
	return ctx
}

// subscribeTime is how long Subscribe, which has no context, waits for the log.
const subscribeTime = 10 * time.Second

// notSubscribed returns the error of a Subscribe whose context is ctx.
func (b *innerBus) notSubscribed(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, ctx.Err()) || ctx.Err() == nil:
		return public(err)
	case b.accepts() != nil:
		return ErrShutdown
	}
	return &event.StorageError{
		Fault: event.Busy, Op: "subscribe in", Path: b.log.Traits().Target, Err: fmt.Errorf("it could not be written within %v", subscribeTime),
		Hint: "another process holds a lock on the file, or the server does not answer; try again when it is done",
	}
}

// closingTime is how long after its context a call that ends something goes on trying to write what is pending, if
// others keep it from writing.
const closingTime = 500 * time.Millisecond

// closing returns a context for what has to be written at the end of a call. It ends closingTime after ctx, and not
// before so much time has passed.
func closing(ctx context.Context) (late context.Context, end func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(closingTime, cancel)
		context.AfterFunc(late, func() { timer.Stop() })
	})
	return late, func() { stop(); cancel() }
}

// closeWithin closes a log, soon after ctx has ended at the latest.
func closeWithin(ctx context.Context, log engine.Log) error {
	late, end := closing(ctx)
	defer end()
	return log.CloseWithin(late)
}
