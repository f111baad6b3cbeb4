package runtime

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// feed is a durable name with the subscriptions that share its deliveries:
// one, or the members of a group in the order in which they were made.
type feed struct {
	bus      *innerBus
	name     string
	group    bool
	declared *declaredGroup // of a group whose members the catalogue declares; else nil
	aliases  []string       // the names it had before
	consumer engine.Consumer
	fleeting *fleeting // of an ephemeral subscription; nil for a durable name
	delivering
	detached chan struct{} // closed when Unsubscribe is through; nil before it begins; guarded by the bus's mu

	members   atomic.Pointer[[]*innerSubscription]           // replaced, never changed
	settings  atomic.Pointer[map[string]*dispatch.Settings]  // of a group: merged, by event type of the catalogue
	handlers  atomic.Pointer[map[string][]*dispatch.Handler] // likewise
	redriven  atomic.Pointer[map[string]declare.Redrive]     // likewise
	all       []*dispatch.Handler                            // outside of groups: the one
	paused    atomic.Bool
	saturated atomic.Bool
}

// delivering is what a feed does since it was started, and what another start would change. The bus's mu guards it, and
// is held when its methods are called.
type delivering struct {
	scheduler *dispatch.Scheduler // nil before the bus is started
	places    int                 // handlers that run at once since the scheduler was made
	pending   int                 // places after the next start, if that was logged
	strict    bool                // it has a strict order since the scheduler was made
	switches  bool                // that the next start changes that was logged
}

// joining is a feed with a subscription that is about to become its member.
type joining struct {
	feed    *feed
	members []*innerSubscription
	spec    engine.ConsumerSpec
}

// joining returns the feed that a subscription is to be a member of. The caller holds the bus's mu.
func (b *innerBus) joining(s *innerSubscription) (none joining, err error) {
	if problem := b.catalogue.formerName(cmp.Or(s.config.group, s.name)); problem != "" {
		return none, s.refuse(problem)
	}
	name := s.config.group
	if name == "" {
		if slices.ContainsFunc(b.feeds, func(f *feed) bool { return f.name == s.name }) {
			return none, s.refuse("there is a group of this name")
		}
		aliases := append(slices.Clone(b.catalogue.declared[s.name].Aliases), s.config.aliases...)
		return (&feed{bus: b, name: s.name, aliases: aliases}).with(s), nil
	}
	if s.dead {
		return none, s.refuse("a subscription to dead letters cannot be in a group")
	}
	if s.inbox {
		return none, s.refuse("a subscription to what others send cannot be in a group")
	}
	if b.state == running {
		return none, s.refuse(fmt.Sprintf("the members of group %q must be subscribed before the bus is started", name))
	}
	if _, declared := b.catalogue.declared[name]; declared {
		return none, s.refuse(fmt.Sprintf("the catalogue declares a subscription %q; a group needs another name", name))
	}
	f := b.feedNamed(name)
	switch {
	case f == nil:
		f = &feed{bus: b, name: name, group: true, aliases: s.config.groupAliases}
		if f.declared = b.catalogue.group(name); f.declared != nil {
			f.aliases = append(slices.Clone(f.declared.aliases), f.aliases...)
		}
	case !f.group:
		return none, s.refuse(fmt.Sprintf("there is a subscription %q; a group needs another name", name))
	case f.detached != nil:
		return none, s.refuse(fmt.Sprintf("group %q is being unsubscribed; join it afterwards", name))
	}
	return f.with(s), nil
}

// with returns f with another member.
func (f *feed) with(s *innerSubscription) joining {
	var members []*innerSubscription
	if old := f.members.Load(); old != nil {
		members = slices.Clone(*old)
	}
	members = append(members, s)
	if f.declared != nil {
		sortMembers(f.declared, members)
	}
	return joining{f, members, f.spec(members)}
}

// take makes s a member, with the consumer that the log has made. The caller holds the bus's mu.
func (j *joining) take(s *innerSubscription, consumer engine.Consumer) {
	f, b := j.feed, j.feed.bus
	f.consumer = consumer
	f.members.Store(&j.members)
	f.all = []*dispatch.Handler{j.members[0].handler}
	s.feed = f
	if !slices.Contains(b.feeds, f) {
		b.setFeeds(append(slices.Clip(b.feeds), f))
	}
	f.merge()
}

// spec returns what the log has to know of a feed with these members.
func (f *feed) spec(members []*innerSubscription) engine.ConsumerSpec {
	spec := engine.ConsumerSpec{Name: f.name, Extend: f.group, Aliases: f.aliases, Notice: f.notice}
	var patterns []string
	for _, m := range members {
		patterns = append(patterns, m.pattern)
		spec.FromBeginning = spec.FromBeginning || m.config.fromBeginning
	}
	spec.Pattern = strings.Join(patterns, " ")
	spec.Strict = strictOf(members)
	spec.Parallel = concurrencyOf(members) > 1 && !(spec.Strict && unkeyed(f.bus.catalogue, members))
	return spec
}

// unkeyed tells whether members are for event types without partition keys. In a strict order
// these events have one key in common, so their subscription cannot be divided by key.
func unkeyed(c *Catalogue, members []*innerSubscription) bool {
	return slices.ContainsFunc(members, func(m *innerSubscription) bool {
		for eventType := range m.inForce.Load().types {
			if t := c.Lookup(eventType); t == nil || !typeOf(t).partitioned() {
				return true
			}
		}
		return false
	})
}

// concurrencyOf returns how many handlers of a feed with these members run at once: the
// largest that a member asks for with an option, else the largest that a member of a group asks
// for in the catalogue, else the smallest of all event types.
func concurrencyOf(members []*innerSubscription) int {
	option, asked, smallest := 0, 0, 0
	for _, m := range members {
		in := m.inForce.Load()
		if own := m.config.own.Concurrency; own != nil {
			option = max(option, *own)
		}
		asked = max(asked, in.asked)
		if smallest == 0 || in.concurrency < smallest {
			smallest = in.concurrency
		}
	}
	return cmp.Or(option, asked, smallest)
}

// merge computes what applies to the deliveries of a group.
func (f *feed) merge() {
	members := *f.members.Load()
	if !f.group {
		return // it has the settings of its only member
	}
	settings, handlers, redriven := map[string]*dispatch.Settings{}, map[string][]*dispatch.Handler{}, map[string]declare.Redrive{}
	for _, t := range f.bus.catalogue.types {
		var of []*innerSubscription
		for _, m := range members {
			if m.covers(t.Name()) {
				of = append(of, m)
				handlers[t.Name()] = append(handlers[t.Name()], m.handler)
			}
		}
		if len(of) > 0 {
			base := f.bus.tuning.of(t)
			settings[t.Name()] = mergeSettings(t, base, of)
			redriven[t.Name()] = mergeRedrive(base.Redrive, t.Name(), of)
		}
	}
	f.settings.Store(&settings)
	f.handlers.Store(&handlers)
	f.redriven.Store(&redriven)
}

// mergeSettings returns what applies to the deliveries of an event type that
// several members share. Of what members override, the most permissive holds.
func mergeSettings(t AnyEventType, base declare.Settings, members []*innerSubscription) *dispatch.Settings {
	merged := &dispatch.Settings{Priority: queue.Priority(t.Priority()), Timeout: base.Timeout}
	overrides, retries := make([]declare.Override, len(members)), make([][]retry.Option, len(members))
	for i, m := range members {
		overrides[i] = m.overrides(base)
		if m.decodes() {
			merged.Version = t.Version()
		}
		retries[i] = overrides[i].Retry
	}
	for i, row := range setting.Plain {
		if row.InGroup != setting.Each {
			n, _ := inSettings.Get(&base, i)
			inDispatcher.Put(merged, i, inGroup(row.InGroup, n, overrides, i))
		}
	}
	merged.Retry = base.Retry.MostPermissive(retries...)
	for _, m := range members {
		for _, use := range m.settingsOf(t.Name()).Limits {
			if !slices.Contains(merged.Limits, use) {
				merged.Limits = append(merged.Limits, use)
			}
		}
	}
	return merged
}

// settingsOf returns what applies to the deliveries of an event type.
func (f *feed) settingsOf(eventType string) *dispatch.Settings {
	if !f.group {
		return (*f.members.Load())[0].settingsOf(eventType)
	}
	if settings := (*f.settings.Load())[eventType]; settings != nil {
		return settings
	}
	return (*f.members.Load())[0].compile(declare.DefaultSettings(), PriorityNormal)
}

// handlersOf returns the handlers of an event type. If no member of a group is for it, the
// one handler refuses the event.
func (f *feed) handlersOf(eventType string) []*dispatch.Handler {
	if !f.group {
		return f.all
	}
	if handlers, ok := (*f.handlers.Load())[eventType]; ok {
		return handlers
	}
	var handlers []*dispatch.Handler
	for _, m := range *f.members.Load() {
		if m.covers(eventType) {
			handlers = append(handlers, m.handler)
		}
	}
	if handlers == nil {
		handlers = []*dispatch.Handler{f.withoutMember()}
	}
	return handlers
}

// withoutMember returns a handler for what was left to a group by a member that it no longer
// has. The first member counts it.
func (f *feed) withoutMember() *dispatch.Handler {
	first := (*f.members.Load())[0].handler
	refuse := func(a *dispatch.Attempt) error {
		return &errs.DecodeError{Err: fmt.Errorf("no member of group %q is for events of type %s", f.name, a.Type)}
	}
	return &dispatch.Handler{Name: f.name, Handle: refuse, Settings: first.Settings, Breaker: first.Breaker, Count: first.Count}
}

// start begins to deliver, unless it is unsubscribed, or renewed soon and started then.
// The caller holds the bus's mu.
func (f *feed) start() {
	if f.detached != nil || f.bus.renewing {
		return
	}
	members := *f.members.Load()
	config := dispatch.Config{
		Owner: f.bus, Name: f.name, Group: f.group, Concurrency: concurrencyOf(members),
		Handlers: f.handlersOf, Settings: f.settingsOf, Notice: f.notice, Shown: f.bus.shown,
		Alone: &f.bus.alone, Waits: &f.bus.waits, CrashLoop: &f.bus.crashLoop, Interrupts: &f.bus.interrupts, Logger: f.bus.config.logger,
	}
	config.Strict = strictOf(members)
	reorders := false
	for _, m := range members {
		if m.answers != nil {
			config.Settled = f.answersSettled
		}
		reorders = reorders || m.reorders()
	}
	if !f.group {
		config.Breaker, config.Breakers, config.BreakerChanged = members[0].breaker, members[0].breakers, members[0].breakerChanged
	}
	if members[0].batched != nil {
		config.Batch = members[0].batchLimits
	}
	if config.Strict {
		config.Key, config.Keyless = f.strictKey, strictKeyless
	} else {
		config.Key = f.partitionKey
	}
	config.LateKeys = !config.Strict && !reorders && config.Concurrency == 1
	f.places, f.pending = config.Concurrency, 0
	f.strict, f.switches = config.Strict, false
	config.LimitKey = f.limitKey
	config.Limits = f.bus.limits.set
	config.Shared = f.shares
	config.Ephemeral = f.fleeting != nil
	config.Reuse = !f.group && f.fleeting == nil && config.Limits == nil && members[0].passesOn()
	f.scheduler = dispatch.New(f.consumer, config)
	if !config.Ephemeral {
		f.bus.pausing.watch(f) // before the first delivery
	}
	f.scheduler.Start()
}

// shares tells whether all known event types of the feed need a limit without keys; with an empty name, whether none has a
// partition key.
func (f *feed) shares(limit string) bool {
	for _, m := range *f.members.Load() {
		for eventType := range m.inForce.Load().types {
			if limit == "" {
				if t := f.bus.catalogue.Lookup(eventType); t != nil && typeOf(t).partitioned() {
					return false
				}
				continue
			}
			needs := declare.LimitUse{Limit: limit}
			if !slices.Contains(f.settingsOf(eventType).Limits, needs) {
				return false
			}
		}
	}
	return true
}

// passesOn tells whether nothing of the bus keeps an attempt of the subscription that has succeeded: there are no
// observers, no batches and no answers.
func (s *innerSubscription) passesOn() bool {
	return !s.handler.Observed && s.batched == nil && s.answers == nil && !s.transacts && s.bus.config.intercept == nil
}

// nextPlaces returns how many handlers run at once after the next start, if that is another
// number than now, or 0.
func (d *delivering) nextPlaces(members []*innerSubscription) int {
	if next := concurrencyOf(members); d.scheduler != nil && next != d.places {
		return next
	}
	return 0
}

// strictOf tells whether a feed with these members has a strict order: if a member has.
func strictOf(members []*innerSubscription) bool {
	return slices.ContainsFunc(members, func(m *innerSubscription) bool { return m.inForce.Load().strict })
}

// nextStrict tells whether it has a strict order after the next start, and returns nil if that is
// as now.
func (d *delivering) nextStrict(members []*innerSubscription) *bool {
	if next := strictOf(members); d.scheduler != nil && next != d.strict {
		return &next
	}
	return nil
}

// report logs what was tuned and has to wait for a restart, once for each value.
func (d *delivering) report(name string, members []*innerSubscription, logger *slog.Logger) {
	places := d.nextPlaces(members)
	if places != 0 && places != d.pending {
		logger.Warn("a tuned concurrency needs a restart", "subscription_id", name, "concurrency", d.places, "tuned", places)
	}
	strict := d.nextStrict(members)
	if strict != nil && !d.switches {
		logger.Warn("a tuned strict order needs a restart", "subscription_id", name, "strict_order", d.strict, "tuned", *strict)
	}
	d.pending, d.switches = places, strict != nil
}

// running returns what makes the deliveries, or nil if they have not begun.
func (f *feed) running() *dispatch.Scheduler {
	f.bus.mu.Lock()
	defer f.bus.mu.Unlock()
	return f.scheduler
}

// stop ends the deliveries, if they have begun, and prevents a later start.
func (f *feed) stop(ctx context.Context) error {
	s := f.running()
	if s == nil {
		return nil
	}
	if f.fleeting == nil {
		f.bus.pausing.forget(f)
	}
	if err := s.Stop(ctx, shutdownGrace); err != nil {
		return fmt.Errorf("subscription %q: a running handler was interrupted: %w", f.name, err)
	}
	return nil
}

// answersSettled is called for each disposition, if a member answers.
func (f *feed) answersSettled(id uuid.UUID, v engine.Disposition) { f.bus.exchanges.settled(f, id, v) }

func (f *feed) notice(d *engine.Delivery, v engine.Disposition) []engine.Record {
	return f.bus.notice(f.name, d, v)
}

// types returns the event types of the catalogue that it is for.
func (f *feed) types() (types []string) {
	for _, m := range *f.members.Load() {
		for eventType := range m.inForce.Load().types {
			types = append(types, eventType)
		}
	}
	return types
}

// partitionKey returns the key of a delivery within which the order is kept, or "" for
// one that has none or cannot be decoded. The attempt says so, if it decodes at all.
func (f *feed) partitionKey(d *engine.Delivery) (string, error) {
	if d.Key != "" {
		return d.Key, nil
	}
	t := f.bus.catalogue.Lookup(d.Type)
	if t == nil || !typeOf(t).partitioned() {
		return "", nil
	}
	if d.Version > t.Version() {
		return typeOf(t).keyOfNewer(d.Payload), nil
	}
	payload, err := typeOf(t).decode(d.Record)
	if err != nil {
		return "", nil
	}
	return typeOf(t).partitionKey(payload)
}

// strictKey gives events without a key one in common.
func (f *feed) strictKey(d *engine.Delivery) (string, error) {
	key, err := f.partitionKey(d)
	return strictKeyless + key, err
}

const strictKeyless = "key "

// redrives returns which dead letters are redriven, by event type.
func (f *feed) redrives() map[string]declare.Redrive {
	found := map[string]declare.Redrive{}
	note := func(eventType string, r declare.Redrive) {
		if r.Max > 0 {
			found[eventType] = r
		}
	}
	if f.group {
		for eventType, r := range *f.redriven.Load() {
			note(eventType, r)
		}
		return found
	}
	for eventType, settings := range (*f.members.Load())[0].inForce.Load().types {
		note(eventType, settings.Redrive)
	}
	return found
}
