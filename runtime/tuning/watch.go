package tuning

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busgen/busgen/internal/catalog/watch"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/guard"
)

// Watcher keeps a bus tuned by a file. Its methods are safe for concurrent use.
type Watcher struct {
	bus    *runtime.Bus
	config config
	file   *watch.File
	stop   context.CancelFunc
	done   chan struct{} // closed when the watching goroutine has ended

	unreadable int // looks in a row at which the file could not be read
	inForce    runtime.Tuning

	mu     sync.Mutex
	report Report
}

// Option changes how [Watch] watches.
type Option func(*config) error

type config struct {
	every  time.Duration
	logger *slog.Logger
	notify func(Report, error)
}

// Every sets how often the watcher looks at the file; the default is once a second.
// A change is applied within 1.1 times that interval.
func Every(d time.Duration) Option {
	return func(c *config) error {
		if d < time.Millisecond {
			return fmt.Errorf("tuning.Every: %v is less than a millisecond", d)
		}
		c.every = d
		return nil
	}
}

// Logger sets where the watcher logs: Info for what was tuned, Warn for what
// needs a build, Error for what is wrong with the file. The default is
// [slog.Default].
func Logger(l *slog.Logger) Option {
	return func(c *config) error {
		if l == nil {
			return errors.New("tuning.Logger: the logger is nil")
		}
		c.logger = l
		return nil
	}
}

// Notify has f called after each new content of the file, the first one
// included, with what [Apply] would return. It is also called when the file can
// no longer be read. Calls never overlap. The first call comes from Watch, later
// ones from the watcher's goroutine. A panic in f is logged.
func Notify(f func(Report, error)) Option {
	return func(c *config) error {
		if f == nil {
			return errors.New("tuning.Notify: the function is nil")
		}
		c.notify = f
		return nil
	}
}

// Watch tunes bus by the catalogue at path: once before it returns, and then whenever that
// file, or one that it includes, changes, until ctx ends or the watcher is closed. The settings
// stay in force afterwards. Close the watcher before you shut the bus down.
//
// A mistake in the file is logged, at the start too, and Watch returns no error for
// it: the service starts with the settings that it was built with. To refuse to
// start instead, call [Apply] first. The error of Watch is about its options.
func Watch(ctx context.Context, bus *runtime.Bus, path string, opts ...Option) (*Watcher, error) {
	w := &Watcher{
		bus:    bus,
		config: config{every: time.Second, logger: slog.Default(), notify: func(Report, error) {}},
		done:   make(chan struct{}),
	}
	for n, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("watch %s: option %d is nil: leave it out", path, n+1)
		}
		if err := opt(&w.config); err != nil {
			return nil, err
		}
	}
	w.file = watch.New(path)
	w.config.logger = guard.Logger(w.config.logger).With("file", path)
	w.start()
	ctx, w.stop = context.WithCancel(ctx)
	go w.watch(ctx)
	return w, nil
}

// Close stops watching. It waits for an application of the file that is under way.
// The settings stay in force. Do not call it from the function given to [Notify].
func (w *Watcher) Close() {
	w.stop()
	<-w.done
}

// Report returns the report about the last content that was applied.
func (w *Watcher) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.report
}

// start applies the file as it is, without waiting for a second look.
func (w *Watcher) start() {
	w.unreadable = 1 // no writer is about to replace it
	w.look(false)
}

func (w *Watcher) watch(ctx context.Context) {
	defer close(w.done)
	for settled := true; ; {
		pause := w.config.every
		if !settled {
			pause /= 10
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			settled = w.look(true)
		}
	}
}

// look applies the file if it has changed. It returns false if the caller should look again soon.
func (w *Watcher) look(patient bool) (settled bool) {
	changed, settled, err := w.file.Look(patient)
	if err != nil {
		return w.problem(err)
	}
	w.unreadable = 0
	if changed != nil {
		w.apply(changed)
	}
	return settled
}

// problem reports, once, that the file cannot be read. It ignores the first failed
// look: while an editor replaces a file, there is a moment without one.
func (w *Watcher) problem(err error) (settled bool) {
	w.unreadable++
	if w.unreadable == 2 {
		w.config.logger.Error("the settings cannot be tuned, because the catalogue cannot be read", "error", err.Error())
		w.notify(Report{}, fmt.Errorf("tuning: cannot read the catalogue: %w", err))
	}
	return w.unreadable > 1
}

func (w *Watcher) apply(file *watch.Snapshot) {
	report, tuning, err := apply(w.bus, file)
	var found *FindingsError
	switch {
	case errors.As(err, &found):
		for _, f := range found.Findings {
			w.config.logger.Error("the settings stay as they are, because the catalogue has a finding",
				"position", f.Position, "problem", f.Problem, "rule", f.Rule)
		}
	case err != nil:
		w.config.logger.Error("the settings stay as they are, because the bus refuses those of the catalogue", "error", err.Error())
	default:
		w.applied(report, tuning)
	}
	w.notify(report, err)
}

// notify calls the function that was given to [Notify].
func (w *Watcher) notify(report Report, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			w.config.logger.Error("the function that was given to tuning.Notify has panicked",
				"panic", guard.PanicText(cause), "stack", string(debug.Stack()))
		}
	}()
	w.config.notify(report, err)
}

// applied reports the settings that are now in force.
func (w *Watcher) applied(report Report, tuning runtime.Tuning) {
	changed := changes(w.bus.Catalogue(), w.inForce, tuning)
	w.mu.Lock()
	before := w.report
	w.report, w.inForce = report, tuning
	w.mu.Unlock()
	if changed != nil {
		w.config.logger.Info("settings tuned by the catalogue", "changed", strings.Join(changed, " "))
	}
	for _, difference := range report.NeedsBuild {
		if !slices.Contains(before.NeedsBuild, difference) {
			w.config.logger.Warn("a difference in the catalogue needs a build", "difference", difference)
		}
	}
}

// changes lists the limits, event types and declared subscriptions whose settings differ
// between two tunings, in the order of the catalogue.
func changes(c *runtime.Catalogue, from, to runtime.Tuning) []string {
	var changed []string
	note := func(name string, built declare.Settings, from, to map[string]declare.Settings) {
		before, after := built, built
		if s, ok := from[name]; ok {
			before = s
		}
		if s, ok := to[name]; ok {
			after = s
		}
		if !reflect.DeepEqual(before, after) {
			changed = append(changed, name)
		}
	}
	for _, l := range c.Limits() {
		before, after := l, l
		if tuned, ok := from.Limits[l.Name]; ok {
			before = tuned
		}
		if tuned, ok := to.Limits[l.Name]; ok {
			after = tuned
		}
		if before != after {
			changed = append(changed, "limit "+l.Name)
		}
	}
	for _, t := range c.Types() {
		note(t.Name(), t.Settings(), from.Types, to.Types)
		for _, s := range t.Subscriptions() {
			note(s.Name, s.Settings, from.Subscriptions, to.Subscriptions)
		}
	}
	for _, s := range c.PatternSubscriptions() {
		in := func(t runtime.AnyEventType, of runtime.Tuning) declare.Settings {
			own, tuned := of.Patterns[s.Name]
			if !tuned {
				own = s.Own
			}
			return t.Settings().With(own)
		}
		if slices.ContainsFunc(typesOf(c, s), func(t runtime.AnyEventType) bool { return !reflect.DeepEqual(in(t, from), in(t, to)) }) {
			changed = append(changed, s.Name)
		}
	}
	return changed
}
