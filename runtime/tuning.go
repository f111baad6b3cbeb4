package runtime

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// inForce has the settings in force for a subscription. It is never changed,
// only replaced.
type inForce struct {
	types    map[string]declare.Settings // by event type of the catalogue
	compile  map[string]*dispatch.Settings
	only     string             // the one event type; empty if there are several
	compiled *dispatch.Settings // of the one event type
	breaker  breaker.Policy
	// concurrency is the smallest of the catalogue's or, if the subscription has one, that of
	// its option. At least 1.
	concurrency int
	asked       int  // the concurrency of a declared member of a group, if it is not that of its event type; else 0
	strict      bool // a failing event holds back the later ones of its key
}

// resolve computes what applies to each event type of the catalogue: the
// catalogue's settings or those it was tuned to, and above them the options of
// the subscription.
func (s *innerSubscription) resolve(tuning Tuning) (*inForce, error) {
	c := s.bus.catalogue
	declared, known := c.declared[s.name]
	known = known && !s.config.ephemeral // whose name is a label
	if known && declared.pattern != s.pattern {
		return nil, s.refuse(fmt.Sprintf("the catalogue declares this name for %s, not for %s", declared.pattern, s.pattern))
	}
	f := &inForce{types: map[string]declare.Settings{}, compile: map[string]*dispatch.Settings{}}
	types := c.types
	if s.inbox {
		types = []AnyEventType{sentTypes[s.pattern]}
	}
	for _, t := range types {
		if !s.isFor(t) {
			continue
		}
		if s.fits != nil && !s.fits(typeOf(t).zero()) {
			return nil, s.refuse(fmt.Sprintf("%s matches %s, whose payload %T does not implement the interface of the handler", s.pattern, t.Name(), typeOf(t).zero()))
		}
		settings := tuning.of(t)
		if known {
			base := max(settings.Concurrency, 1)
			settings = tuning.ofDeclared(declared, settings)
			if own := max(settings.Concurrency, 1); declared.Group != "" && own != base {
				f.asked = own
			}
		}
		if s.dead {
			settings.Limits, settings.StrictOrder, settings.Breaker.By = nil, false, "" // they are for its events
		}
		if settings = settings.With(s.config.own); s.config.ephemeral {
			settings.Breaker.By = "" // what waits would wait in memory
		}
		settings.Concurrency = max(settings.Concurrency, 1)
		if err := settings.Validate(); err != nil {
			return nil, s.refuse(fmt.Sprintf("its settings for %s: %v", t.Name(), err))
		}
		if problem := cmp.Or(s.limitsProblem(t, settings.Limits), s.breakerProblem(t, settings.Breaker)); problem != "" {
			return nil, s.refuse(problem)
		}
		if f.concurrency == 0 || settings.Concurrency < f.concurrency {
			f.concurrency = settings.Concurrency
		}
		f.strict = f.strict || settings.StrictOrder
		if s.batched != nil && f.strict && !typeOf(t).partitioned() {
			return nil, s.refuse("a strict order without partition_by would make batches of one event: use Subscribe, or partition the event type")
		}
		if len(f.types) == 0 {
			f.breaker = settings.Breaker
		} else if f.breaker != settings.Breaker {
			f.breaker = s.mixedBreaker(tuning, declared)
		}
		name := t.Name()
		if s.dead {
			name = engine.DeadType(name)
		}
		f.types[name] = settings
		f.compiled = s.compile(settings, t.Priority())
		if s.decodes() {
			f.compiled.Version = t.Version()
		}
		f.only, f.compile[name] = name, f.compiled
	}
	if len(f.types) > 1 {
		f.only = ""
	}
	for _, compiled := range f.compile {
		compiled.BreakerBy = f.breaker.By
	}
	if len(f.types) > 0 {
		return f, nil
	}
	if s.globs.Literal() {
		return nil, &UnknownTypeError{EventType: s.pattern}
	}
	return nil, s.refuse(fmt.Sprintf("no event type of the catalogue matches %s", s.pattern))
}

// covers tells whether the subscription is for an event type, which the catalogue may not have.
func (s *innerSubscription) covers(eventType string) bool {
	if t := s.bus.catalogue.Lookup(eventType); t != nil {
		return s.isFor(t)
	}
	return s.globs.Match(eventType)
}

// isFor tells whether the subscription is for an event type: the log matches it by all its names. One that had a
// matching name before may have a payload that the handler does not take.
func (s *innerSubscription) isFor(t AnyEventType) bool {
	return s.globs.Match(t.Name()) || slices.ContainsFunc(t.Aliases(), s.globs.Match) && (s.fits == nil || s.fits(typeOf(t).zero()))
}

// mixedBreaker returns the settings of the breaker of a subscription whose event types have different ones.
func (s *innerSubscription) mixedBreaker(tuning Tuning, d declared) breaker.Policy {
	settings := declare.Settings{Breaker: breaker.Default()}
	if d.byPattern && !s.config.ephemeral {
		settings = tuning.ofDeclared(d, declare.DefaultSettings())
	}
	return settings.With(s.config.own).Breaker
}

// decodes tells whether the handler gets the payloads as this program knows them, so that it cannot have one of a version
// that is newer.
func (s *innerSubscription) decodes() bool { return !s.raw && !s.dead }

// compile makes of the settings what the dispatcher needs.
func (s *innerSubscription) compile(settings declare.Settings, priority Priority) *dispatch.Settings {
	compiled := &dispatch.Settings{Retry: settings.Retry, Limits: settings.Limits, Priority: queue.Priority(priority)}
	for i := range setting.Plain {
		n, _ := inSettings.Get(&settings, i)
		inDispatcher.Put(compiled, i, n)
	}
	compiled.SlowEventAfter = cmp.Or(settings.SlowEventAfter, s.bus.config.slowEventAfter) % Forever
	for _, rule := range s.config.rules {
		compiled.Errors = append(compiled.Errors, dispatch.ErrorRule{
			Match: rule.match, Permanent: rule.permanent, Retry: settings.Retry.With(rule.retry...),
		})
	}
	for _, rule := range settings.Errors {
		if match := s.bus.config.classes[rule.Class]; match != nil {
			compiled.Errors = append(compiled.Errors, dispatch.ErrorRule{
				Match: match, Permanent: rule.Permanent, Retry: settings.Retry.With(rule.Retry...),
			})
		}
	}
	return compiled
}

// settingsOf returns what applies to an event type. One that is not in the
// catalogue, which a newer program may have published, gets the defaults.
func (s *innerSubscription) settingsOf(eventType string) *dispatch.Settings {
	in := s.inForce.Load()
	if in.only == eventType { // no look-up
		return in.compiled
	}
	if settings, ok := in.compile[eventType]; ok {
		return settings
	}
	return s.compile(declare.DefaultSettings().With(s.config.own), PriorityNormal)
}

// put makes new settings apply.
func (s *innerSubscription) put(f *inForce) {
	s.inForce.Store(f)
	one, each := f.breaker, f.breaker
	one.Off, each.Off = one.Off || one.By != "", each.Off || each.By == ""
	s.breaker.Tune(one)
	s.breakers.Tune(each)
}

// Tuning replaces the settings that generated code has from the catalogue: those
// of event types by name, and those of the subscriptions that the catalogue
// declares, and the numbers of its limits. What is missing keeps the settings of the
// generated code.
type Tuning struct {
	Types         map[string]declare.Settings
	Subscriptions map[string]declare.Settings
	// Patterns are those of [declare.PatternSubscription], by name: each replaces its Own.
	Patterns map[string]declare.Override
	// Limits are limits of the catalogue, by name, with other numbers: AtOnce, Rate and Per. An AtOnce or a Rate
	// cannot be added or removed, and the name not changed. A limit from [WithLimit] stays as it is.
	Limits map[string]declare.Limit
}

func (t Tuning) of(eventType AnyEventType) declare.Settings {
	if settings, ok := t.Types[eventType.Name()]; ok {
		return settings
	}
	return eventType.Settings()
}

// ofDeclared returns the settings of a declared subscription for an event type that has the settings base.
func (t Tuning) ofDeclared(d declared, base declare.Settings) declare.Settings {
	if d.byPattern {
		own := d.own
		if tuned, ok := t.Patterns[d.Name]; ok {
			own = tuned
		}
		return base.With(own)
	}
	if settings, ok := t.Subscriptions[d.Name]; ok {
		return settings
	}
	return d.Settings
}

// Tune replaces settings while the bus runs, all of them or, on an error, none.
// They apply to attempts and failures from now on; what was decided before, such
// as the time of a retry that waits, stays. So do the concurrency and the strict order of a
// subscription that delivers already: the bus logs that they need a restart. Deliveries and calls of a
// [Limiter] that wait for a limit follow its new numbers at once; what runs keeps its place, so that
// after AtOnce was lowered more can run until they end. Deliveries that have not begun need the
// limits that their settings have by then. The options of a subscription
// override them as they override the catalogue. Each call starts from the
// generated code: Tune(Tuning{}) undoes those before.
//
// The error says what is not known to the catalogue of the bus or not valid, or is
// [ErrShutdown].
// Package tuning reads the settings from a catalogue file.
func (b *Bus) Tune(t Tuning) error { return busOf(b).tune(t) }

func (b *innerBus) tune(t Tuning) error {
	types := map[string]declare.Settings{}
	for name, settings := range t.Types {
		known := b.catalogue.Lookup(name)
		if known == nil {
			return &UnknownTypeError{EventType: name}
		}
		if _, both := t.Types[known.Name()]; !both || name == known.Name() {
			types[known.Name()] = settings // which may have been named as it was before
		}
		if err := settings.Validate(); err != nil {
			return fmt.Errorf("the settings of event type %s: %w", name, err)
		}
	}
	for name, settings := range t.Subscriptions {
		if d, known := b.catalogue.declared[name]; !known || d.byPattern {
			return fmt.Errorf("the catalogue of this bus declares no subscription %q", name)
		}
		if err := settings.Validate(); err != nil {
			return fmt.Errorf("the settings of subscription %q: %w", name, err)
		}
	}
	for name := range t.Patterns {
		if d, known := b.catalogue.declared[name]; !known || !d.byPattern {
			return fmt.Errorf("the catalogue of this bus declares no subscription %q for patterns", name)
		}
	}
	limits, err := b.catalogue.tunedLimits(t.Limits, b.config.limits)
	if err != nil {
		return err
	}
	t = Tuning{Types: types, Subscriptions: maps.Clone(t.Subscriptions), Patterns: maps.Clone(t.Patterns), Limits: maps.Clone(t.Limits)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopping {
		return ErrShutdown
	}
	all := slices.Clip(b.subscriptions)
	for f := range b.ephemeral {
		all = append(all, *f.members.Load()...)
	}
	resolved := make([]*inForce, len(all))
	for i, s := range all {
		var err error
		if resolved[i], err = s.resolve(t); err != nil {
			return err
		}
	}
	b.tuning, b.tuned = t, b.tuned+1
	for i, s := range all {
		s.put(resolved[i])
	}
	for _, f := range b.feeds {
		f.merge()
		f.report(f.name, *f.members.Load(), b.config.logger)
	}
	b.limits.tune(limits, append(b.ephemeralFeeds(), b.feeds...))
	b.reportClasses()
	return nil
}

// reorders tells whether deliveries may overtake each other because of their priorities, so
// that partition keys matter.
func (s *innerSubscription) reorders() bool {
	priorities := map[queue.Priority]bool{}
	for _, settings := range s.inForce.Load().compile {
		priorities[settings.Priority] = true
	}
	return len(priorities) > 1
}
