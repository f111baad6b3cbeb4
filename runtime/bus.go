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
	"sync/atomic"
	"time"
	"weak"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/background"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
	"github.com/busgen/busgen/runtime/observe"
)

// Bus publishes events to a file and delivers them to subscriptions. Its
// methods are safe for concurrent use.
//
// A bus that was not started only publishes, and delivers to [Ephemeral] subscriptions. A
// second process that puts events into the file of a service uses it that way.
//
// Every bus ends with [Bus.Shutdown]. One that was started, or has ephemeral
// subscriptions, goes on delivering until then, whether or not the program still refers to it. One that was not,
// and that nothing refers to any more, is closed some time later, with a warning
// in the log: what it has published is stored, and nothing else was going on.
type Bus struct{ inner any } // an *innerBus

// innerBus is what is behind a [Bus]. Its fields are set in Open, or types that guard themselves: who is subscribed is
// in the [roster], what Start and Shutdown do in the [life]. Its parts are a [feed] for each durable name, which has
// the dispatch.Scheduler of the subscriptions behind it; the [exchanges] of questions; the [timetable] of schedules;
// [counters] and [observers]. Start and Shutdown go by state: from opened to starting, running and stopping.
type innerBus struct {
	log        engine.Log
	past       *history // the log as an operator sees it
	storesKeys bool     // the log keeps partition keys, so publishers compute them
	catalogue  *Catalogue
	config     config
	limits     limits
	counters   *counters
	refusals   refusals
	observers  observers
	causes     causes
	exchanges  exchanges
	health     *healthWatch
	showing    *background.Activity // to other processes
	admission  admission
	pausing    pausing
	timetable  *timetable
	inbox      *inbox
	database   database
	alone      dispatch.Alone
	crashLoop  dispatch.CrashLoop
	began      atomic.Pointer[time.Time] // to dispatch; nil before that
	waits      dispatch.Waits
	interrupts atomic.Bool // attempts can be interrupted
	abandoning abandoning

	life
	roster // its mu guards what follows, too

	tuning    Tuning
	tuned     int             // how often it has changed
	missing   map[string]bool // classes of errors that were reported
	awaited   map[string]bool // subscriptions without a handler that were reported to those who wait
	recovery  observe.Recovery
	observing bool   // observers are told of changes
	halt      func() // ends what only the bus that dispatches does; nil before it does
	dropped   goruntime.Cleanup
}

// ErrStarted is returned by a second [Bus.Start].
var ErrStarted = errors.New("the bus was started before")

// Open opens the event log at target: the path of a file, which is created when
// there is none, or what the engine of [WithEngine] takes. Generated packages have an
// Open of their own that passes their catalogue.
//
// The error is a *[event.StorageError] when the file cannot be used: it is damaged,
// it belongs to another program, it was written by a newer version, or its
// folder does not exist. Such a file is left as it is.
func Open(ctx context.Context, target string, catalogue *Catalogue, opts ...Option) (*Bus, error) {
	if catalogue == nil {
		return nil, errors.New("open: the catalogue is nil; use the Open function of your generated package")
	}
	b := &innerBus{
		catalogue: catalogue,
		config: config{
			logger: slog.Default(), shutdownTimeout: defaultShutdownTimeout,
			payloadLimit: defaultPayloadLimit, dedupeWindow: defaultDedupeWindow, retention: defaultRetention, slowEventAfter: defaultSlowEventAfter, hopLimit: defaultHopLimit, txLimit: defaultTxLimit,
			health: observe.DefaultHealth(), engine: defaultEngine{},
		},
		counters: newCounters(catalogue),
		past:     &history{},
		inbox:    newInbox(),
		life:     newLife(),
		roster:   roster{changed: make(chan struct{})},
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
	b.limits.declared = catalogue.limitsWith(b.config.limits)
	if err := catalogue.checkLimits(b.limits.declared); err != nil {
		return nil, fmt.Errorf("open %s: %w", target, err)
	}
	var err error
	if b.timetable, err = newTimetable(b); err != nil {
		return nil, fmt.Errorf("open %s: %w", target, err)
	}
	b.config.logger = guard.Logger(b.config.logger)
	b.alone.Logger = b.config.logger
	b.observers = newObservers(b.config.observers, b.config.logger)
	b.health = newHealthWatch(b, b.config.health)
	b.showing = background.NewActivity(b.activity, b.closeBreaker, b.config.logger)
	bus := weak.Make(b) // the log must not keep a bus that is dropped
	log, err := b.config.engine.Open(ctx, target, engine.Options{
		Logger: b.config.logger, Unsynced: b.config.durability == Normal, Wall: b.config.wall, Program: program(),
		Changed: func(what error) {
			if b := bus.Value(); b != nil {
				b.logChanged(what)
			}
		},
		Recovered: func(found engine.Recovery) {
			if b := bus.Value(); b != nil {
				b.recovered(found)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	traits := log.Traits()
	b.config.metadataLimit = min(b.config.payloadLimit, engine.MaxMetadata)
	if traits.MaxPayload > 0 {
		b.config.payloadLimit, b.config.metadataLimit = min(b.config.payloadLimit, traits.MaxPayload), min(b.config.metadataLimit, traits.MaxMetadata)
	}
	b.mu.Lock()
	b.limits.open(log, &b.config)
	b.log, b.storesKeys = log, traits.StoresKeys // the log may have called Changed already
	b.mu.Unlock()
	if err := declareAll(ctx, log, catalogue); err != nil {
		if _, other := errors.AsType[*event.SchemaError](err); other {
			err = fmt.Errorf("open %s: %w", target, err)
		}
		return nil, errors.Join(public(err), closeWithin(ctx, log))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admission = admission{log: log, limit: b.config.maxPending, when: b.config.whenFull}
	b.dropped = goruntime.AddCleanup(b, closeDropped, droppedBus{log, b.past, target, b.config.logger})
	return &Bus{b}, nil
}

// droppedBus has what closing a bus needs that nothing refers to. The goroutines of a
// bus that was started refer to it; that of the log does not.
type droppedBus struct {
	log    engine.Log
	past   *history
	target string
	logger *slog.Logger
}

// closeDropped must not block: it runs between other cleanups.
func closeDropped(d droppedBus) {
	go func() {
		attributes := []any{"path", d.target}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := errors.Join(d.past.close(), closeWithin(ended, d.log)); err != nil {
			attributes = append(attributes, "error", err)
		}
		d.logger.Warn("a bus was dropped without Shutdown; its file is closed now", attributes...)
	}()
}

// keep makes the bus live until a call that needs its log has returned.
func (b *innerBus) keep() { goruntime.KeepAlive(b) }

// program names this process for operators: the name of its file and, if it was
// built with one, the version.
func program() string {
	name := filepath.Base(os.Args[0])
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		name += " " + info.Main.Version
	}
	return name
}

// declare makes the file know what the catalogue declares.
func declareAll(ctx context.Context, log engine.Log, catalogue *Catalogue) error {
	types := make([]engine.TypeSpec, len(catalogue.types))
	var consumers []engine.ConsumerSpec
	for i, t := range catalogue.types {
		types[i] = engine.TypeSpec{Name: t.Name(), Version: t.Version(), Aliases: t.Aliases(), Schema: t.Schema(), AwaitBy: typeOf(t).spec.AwaitBy}
		if t.Schema() != "" {
			types[i].Fits = fits(t)
		}
		for _, s := range t.Subscriptions() {
			if s.Group == "" { // else its group has the deliveries
				consumers = append(consumers, engine.ConsumerSpec{Name: s.Name, Pattern: t.Name(), Aliases: s.Aliases})
			}
		}
	}
	for _, s := range catalogue.patterns {
		if s.Group == "" {
			consumers = append(consumers, engine.ConsumerSpec{Name: s.Name, Pattern: patternOf(s), Aliases: s.Aliases})
		}
	}
	for _, g := range catalogue.groups {
		consumers = append(consumers, g.spec())
	}
	return log.Declare(ctx, types, consumers)
}

// Catalogue returns the catalogue the bus was opened with.
func (b *Bus) Catalogue() *Catalogue { return busOf(b).catalogue }

// WithEngine keeps the events in another place than a file. Programs do not call it:
// the package of an engine has a function that returns this option. The default is the
// engine of this package, SQLite, whose target is the path of a file.
func WithEngine(e engine.Engine) Option {
	return func(c *config) error {
		if e == nil {
			return errors.New("WithEngine: the engine is nil; leave the option out for a file")
		}
		c.engine = e
		return nil
	}
}
