package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// Bus publishes events to a file and delivers them to subscriptions. Its
// methods are safe for concurrent use.
//
// A bus that was not started only publishes; that is what a second process
// does that puts events into the file of a service.
//
// Every bus ends with [Bus.Shutdown]. One that was started goes on delivering
// until then, whether or not the program still refers to it. One that was not,
// and that nothing refers to any more, is closed some time later, with a warning
// in the log: what it has published is stored, and nothing else was going on.
type Bus struct {
	log         engine.Log
	storesKeys  bool // the log keeps partition keys, so publishers compute them
	catalogue   *Catalogue
	config      config
	counters    *counters
	observers   observers
	causes      causes
	health      *healthWatch
	showing     *activity
	admission   admission
	maintenance sync.WaitGroup // goroutines of the bus that end with it
	pausing     pausing
	alone       dispatch.Alone

	mu            sync.Mutex
	subscriptions []*Subscription
	feeds         []*feed       // replaced, never changed
	changed       chan struct{} // closed when feeds is replaced
	tuning        Tuning
	missing       map[string]bool // classes of errors that were reported
	recovery      Recovery
	state         busState
	renewing      bool          // the log was restored; nothing is started until the feeds are those of the log as it is
	halt          func()        // ends what only the bus that dispatches does; nil before it does
	stopRequested chan struct{} // closed when Shutdown begins
	stopped       chan struct{} // closed when Shutdown is through
	dropped       goruntime.Cleanup
}

type busState int

const (
	opened busState = iota
	starting
	running
	stopping
)

// ErrStarted is returned by a second [Bus.Start].
var ErrStarted = errors.New("the bus was started before")

// Open opens the event log at target: the path of a file, which is created when
// there is none, or what the engine of [WithEngine] takes. Generated packages have an
// Open of their own that passes their catalogue.
//
// The error is a *[StorageError] when the file cannot be used: it is damaged,
// it belongs to another program, it was written by a newer version, or its
// folder does not exist. Such a file is left as it is.
func Open(ctx context.Context, target string, catalogue *Catalogue, opts ...Option) (*Bus, error) {
	if catalogue == nil {
		return nil, errors.New("open: the catalogue is nil; use the Open function of your generated package")
	}
	b := &Bus{
		catalogue: catalogue,
		config: config{
			logger: slog.Default(), shutdownTimeout: DefaultShutdownTimeout,
			payloadLimit: DefaultPayloadLimit, dedupeWindow: DefaultDedupeWindow, retention: DefaultRetention,
			health: DefaultHealth(), engine: defaultEngine{},
		},
		counters:      newCounters(catalogue),
		changed:       make(chan struct{}),
		stopRequested: make(chan struct{}),
		stopped:       make(chan struct{}),
	}
	for i, opt := range opts {
		err := nilOption(i)
		if opt != nil {
			err = opt(&b.config)
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", target, err)
		}
	}
	b.config.logger = guard.Logger(b.config.logger)
	b.alone.Logger = b.config.logger
	b.observers = newObservers(b.config.observers, b.config.logger)
	b.health = newHealthWatch(b, b.config.health)
	b.showing = newActivity(b)
	bus := weak.Make(b) // the log must not keep a bus that is dropped
	log, err := b.config.engine.Open(ctx, target, engine.Options{
		Logger: b.config.logger, Unsynced: b.config.durability == Normal, Wall: b.config.wall, Program: program(),
		Changed: func(what error) {
			if b := bus.Value(); b != nil {
				b.logChanged(what)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.log, b.storesKeys = log, log.StoresKeys() // the log may have called Changed already
	b.mu.Unlock()
	if err := declare(ctx, log, catalogue); err != nil {
		return nil, errors.Join(public(err), log.Close())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admission = admission{log: log, limit: b.config.maxPending, when: b.config.whenFull}
	b.dropped = goruntime.AddCleanup(b, closeDropped, droppedBus{log, target, b.config.logger})
	return b, nil
}

// droppedBus is what is left of a bus that nothing refers to. The goroutines of a
// bus that was started refer to it; that of the log does not.
type droppedBus struct {
	log    engine.Log
	target string
	logger *slog.Logger
}

// closeDropped must not block: it runs between other cleanups.
func closeDropped(d droppedBus) {
	go func() {
		attributes := []any{"path", d.target}
		if err := d.log.Close(); err != nil {
			attributes = append(attributes, "error", err)
		}
		d.logger.Warn("a bus was dropped without Shutdown; its file is closed now", attributes...)
	}()
}

// keep makes the bus live until a call that needs its log has returned.
func (b *Bus) keep() { goruntime.KeepAlive(b) }

// program is what operators call this process: the name of its file and, if it was
// built with one, the version.
func program() string {
	name := filepath.Base(os.Args[0])
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		name += " " + info.Main.Version
	}
	return name
}

// declare makes the file know what the catalogue declares.
func declare(ctx context.Context, log engine.Log, catalogue *Catalogue) error {
	types := make([]engine.TypeSpec, len(catalogue.types))
	var consumers []engine.ConsumerSpec
	for i, t := range catalogue.types {
		types[i] = engine.TypeSpec{Name: t.Name(), Version: t.Version(), Aliases: t.Aliases(), Schema: t.Schema()}
		for _, s := range t.Subscriptions() {
			consumers = append(consumers, engine.ConsumerSpec{Name: s.Name, Pattern: t.Name(), Aliases: s.Aliases})
		}
	}
	if err := log.DeclareTypes(ctx, types); err != nil {
		return err
	}
	return log.DeclareConsumers(ctx, consumers)
}

// Catalogue returns the catalogue the bus was opened with.
func (b *Bus) Catalogue() *Catalogue { return b.catalogue }

// Start recovers what the last process left unfinished, and begins to deliver.
// Subscriptions are usually made before; one that is made later starts at once.
//
// What was being handled when the last process died is handled again at once, one
// event after the other with no other handler beside it. If it was one event, that
// counts as a failed attempt. One process at a time dispatches from a file: if there
// is another, the error matches [ErrAlreadyRunning] and names it; with
// [WithStandby] Start waits for it to end. ctx bounds the start, not the life of
// the bus.
func (b *Bus) Start(ctx context.Context) error {
	if err := b.changeState(opened, starting); err != nil {
		return err
	}
	err := b.completeGroups(ctx)
	var found engine.Recovery
	if err == nil {
		found, err = b.takeOver(ctx)
	}
	if err == nil {
		err = b.log.WatchPauses(ctx, b.pausesChanged)
	}
	if err != nil {
		return errors.Join(public(err), b.changeState(starting, opened))
	}
	b.crashed(found.Crashes)
	if err := b.dispatch(found); err != nil {
		return err
	}
	b.reportUnhandled(ctx)
	return nil
}

// dispatch begins to deliver, after a takeover that has found this.
func (b *Bus) dispatch(found engine.Recovery) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopping {
		return ErrShutdown
	}
	b.recovery = Recovery{Interrupted: found.Interrupted, Waiting: found.Waiting, Dead: found.Dead, Backlog: found.Backlog}
	b.state = running
	b.config.logger.Info("event bus started", "interrupted", found.Interrupted, "waiting", found.Waiting,
		"dead", found.Dead, "backlog", found.Backlog)
	b.reportClasses()
	for _, f := range b.feeds {
		f.start()
	}
	maintenance, end := context.WithCancel(context.Background())
	b.maintenance.Go(func() { <-b.stopRequested; end() })
	var owner context.Context
	owner, b.halt = context.WithCancel(maintenance)
	b.maintenance.Go(func() { b.prune(owner) })
	b.maintenance.Go(func() { b.redrive(owner) })
	b.maintenance.Go(func() { b.health.watch(owner) })
	b.observers.serve(maintenance)
	b.log.WatchRequests(b.showing.ask)
	go b.showing.watch()
	return nil
}

// standbyDelay is how often a bus that stands by looks whether the owner is gone.
const standbyDelay = 25 * time.Millisecond

// takeOver makes this bus the one that dispatches.
func (b *Bus) takeOver(ctx context.Context) (engine.Recovery, error) {
	found, err := b.log.TakeOver(ctx)
	if !b.config.standby || !errors.Is(err, ErrAlreadyRunning) {
		return found, err
	}
	b.config.logger.Info("event bus stands by", "reason", err.Error())
	for tick := time.NewTicker(standbyDelay); ; {
		select {
		case <-tick.C:
		case <-b.stopRequested:
			return found, ErrShutdown
		case <-ctx.Done():
			return found, ctx.Err()
		}
		if found, err = b.log.TakeOver(ctx); !errors.Is(err, ErrAlreadyRunning) {
			tick.Stop()
			return found, err
		}
	}
}

// changeState goes from one state to another, or says why it cannot.
func (b *Bus) changeState(from, to busState) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.state {
	case from:
		b.state = to
		return nil
	case stopping:
		return ErrShutdown
	}
	return ErrStarted
}

// WaitIdle waits until every delivery to the subscriptions of this bus is
// settled: handled, or dead-lettered after its last retry. New events and new
// subscriptions make it wait longer; a subscription that is unsubscribed meanwhile is
// not waited for any more. It returns the error of ctx if that ends first,
// [ErrShutdown] when the bus is shut down, and [ErrInsideHandler] in a handler of this
// bus, whose own delivery is not settled before it returns.
func (b *Bus) WaitIdle(ctx context.Context) error {
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
func (b *Bus) waitSettled(ctx context.Context, consumers []engine.Consumer, changed <-chan struct{}) error {
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

// setFeeds replaces the feeds. The caller holds mu.
func (b *Bus) setFeeds(feeds []*feed) {
	b.feeds = feeds
	close(b.changed)
	b.changed = make(chan struct{})
}

// onWorker reports whether the caller is on a goroutine that runs handlers of c, or with
// nil of any subscription of this bus.
func (b *Bus) onWorker(f *feed) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.feeds, func(one *feed) bool {
		return (f == nil || one == f) && one.scheduler != nil && one.scheduler.OnWorker()
	})
}

// Shutdown refuses new events, waits for the handlers that are running, writes
// what is pending and closes the file. Without a deadline in ctx it waits for
// the shutdown timeout ([WithShutdownTimeout]).
//
// Handlers that are still running then have their context cancelled with
// [ErrShutdown]; those that ignore that for a second are left behind, which counts
// as a failed attempt. The other events, and those that no handler has begun, are
// delivered after the next start without that. The error then matches
// [context.DeadlineExceeded] or what ended ctx; the file is closed all the same.
//
// Everything asked of the bus afterwards returns [ErrShutdown]. A second call
// waits for the first and returns nil. In a handler of this bus it would wait for
// itself: it returns [ErrInsideHandler] and changes nothing.
func (b *Bus) Shutdown(ctx context.Context) error {
	if b.onWorker(nil) {
		return ErrInsideHandler
	}
	b.mu.Lock()
	if b.state == stopping {
		b.mu.Unlock()
		<-b.stopped
		return nil
	}
	dispatched := b.state == running
	b.state = stopping
	b.dropped.Stop()
	close(b.stopRequested)
	feeds := b.feeds
	b.mu.Unlock()
	defer close(b.stopped)

	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.config.shutdownTimeout)
		defer cancel()
	}
	errs := make([]error, len(feeds))
	var waiting sync.WaitGroup
	for i, f := range feeds {
		waiting.Go(func() { errs[i] = f.stop(ctx) })
	}
	waiting.Wait()
	b.maintenance.Wait()
	if dispatched {
		b.showing.stop() // so late that others see for whom the shutdown waits
	}
	b.observers.wait(ctx)
	return errors.Join(errors.Join(errs...), b.log.Close())
}

// accepts returns ErrShutdown once Shutdown was called.
func (b *Bus) accepts() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopping {
		return ErrShutdown
	}
	return nil
}

// shutdownGrace is how long a cancelled handler has to return.
const shutdownGrace = time.Second
