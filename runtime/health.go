package runtime

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/observe"
)

// WithHealth sets the thresholds that the bus watches while it dispatches, and a
// function to call when one is exceeded and when it no longer is; nil for none.
// The bus also logs both: a Warn and an Info, and nothing in between.
//
// The default is [observe.DefaultHealth] without a function; a Health that is only Off
// watches nothing. The function is called like [observe.Observer].HealthChanged: it may
// take its time.
func WithHealth(h observe.Health, changed func(observe.HealthCheck)) Option {
	return func(c *config) error {
		if err := h.Validate(); err != nil && !h.Off {
			return fmt.Errorf("WithHealth: %w", err)
		}
		c.health = h
		if changed != nil {
			c.observers = append(c.observers, observe.Observer{HealthChanged: changed})
		}
		return nil
	}
}

// Health returns how the bus was when it last looked, which only a bus does that
// dispatches or stands by. One that stands by looks at the file only: at its dead
// letters, and whether it can be written. It costs next to nothing.
func (b *Bus) Health() observe.HealthStatus { return busOf(b).health.status() }

// healthWatch compares what happens in a bus with its thresholds. All but status
// belongs to the goroutine of watch.
type healthWatch struct {
	bus         *innerBus
	policy      observe.Health
	readings    []reading // from the beginning of the window on; never empty
	quiet       bool      // nothing has happened between the last two looks
	unhandled   unhandledWatch
	saturation  saturationWatch
	stalls      stallCheck
	unwritable  observe.HealthCheck
	held        observe.HealthCheck // whether a transaction of the program keeps others from writing
	deadLetters observe.HealthCheck // of dead letters, as last counted
	newer       []event.Newer       // as last counted
	holds       int64               // how often an event was held for its version, at the last look
	stale       bool                // there may be others now
	rest        time.Time           // they are not counted again before
	failing     bool                // they could not be counted the last time

	mu             sync.Mutex
	at             time.Time
	checks         []observe.HealthCheck
	ended          error         // why the bus has stopped dispatching
	started        int64         // the seq of the newest event when the bus began to dispatch
	saturatedNames []string      // subscriptions, by name
	shownNewer     []event.Newer // what is held for its version
	noHandler      []string      // subscriptions with pending events that this program does not handle
}

// stop records why the bus no longer dispatches, although it was not shut down.
func (h *healthWatch) stop(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = why
}

// reading has the counts at one moment.
type reading struct {
	at    time.Time
	types map[string]tally
}

// tally has the counts of one event type that health depends on.
type tally struct{ attempts, retries, timeouts, publishes, duplicates uint64 }

func (t tally) minus(u tally) tally {
	return tally{t.attempts - u.attempts, t.retries - u.retries, t.timeouts - u.timeouts, t.publishes - u.publishes, t.duplicates - u.duplicates}
}

func (c *counters) tallies() map[string]tally {
	tallies := map[string]tally{}
	c.each(func(eventType string, counts *typeCounts) {
		duplicates, sums := counts.duplicates.Load(), counts.snapshot()
		tallies[eventType] = tally{
			attempts: sums.Attempts(), retries: sums.Retried, timeouts: sums.Timeouts,
			publishes: counts.published.Load() + duplicates, duplicates: duplicates,
		}
	})
	return tallies
}

func newHealthWatch(b *innerBus, policy observe.Health) *healthWatch {
	h := &healthWatch{bus: b, policy: policy, readings: []reading{{}}}
	if !policy.Off {
		h.deadLetters = observe.HealthCheck{Name: observe.CheckDeadLetters, Threshold: float64(policy.DeadLetters)}
		h.unhandled.backlogs = observe.HealthCheck{Name: observe.CheckUnhandled, Threshold: float64(policy.Unhandled)}
		h.unhandled.types = observe.HealthCheck{Name: observe.CheckUnknownTypes, Threshold: float64(policy.UnknownTypes)}
		h.saturation.check = observe.HealthCheck{Name: observe.CheckSaturated, Threshold: float64(policy.Saturated)}
		h.stalls.check = observe.HealthCheck{Name: observe.CheckStalled}
		h.unwritable, h.held = observe.HealthCheck{Name: observe.CheckUnwritable}, observe.HealthCheck{Name: observe.CheckHeld}
		h.checks = h.measure(reading{})
	}
	return h
}

func (h *healthWatch) status() observe.HealthStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	sick := slices.ContainsFunc(h.checks, func(c observe.HealthCheck) bool { return c.Exceeded })
	status := observe.HealthStatus{Healthy: !sick, At: h.at, Checks: slices.Clone(h.checks)}
	status.Newer = slices.Clone(h.shownNewer)
	if until := h.bus.crashLoop.Until(); !until.IsZero() {
		status.Healthy, status.CrashLoop = false, until.UTC()
	}
	if h.ended != nil {
		status.Healthy, status.Stopped = false, h.ended.Error()
	}
	return status
}

// watch looks again and again, until ctx ends. The window begins now, with what
// was counted since the bus was opened. Of a bus that does not dispatch it looks at the file only.
func (h *healthWatch) watch(ctx context.Context, dispatches bool) {
	if h.policy.Off {
		return
	}
	h.readings[0].at = time.Now()
	tick := time.NewTicker(h.policy.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.check(ctx, dispatches)
		case <-ctx.Done():
			return
		}
	}
}

// check compares what has happened with the thresholds, once.
func (h *healthWatch) check(ctx context.Context, dispatches bool) {
	now := reading{time.Now(), h.bus.counters.tallies()}
	last := h.readings[len(h.readings)-1]
	quiet := maps.Equal(now.types, last.types)
	if quiet {
		now.types = last.types // one copy is enough
	}
	h.countLetters(ctx, quiet)
	h.checkLog(ctx)
	if dispatches {
		h.checkUnhandled(ctx)
		h.checkSaturation(ctx)
		h.checkStalls(now.at)
	}
	h.quiet = quiet
	h.slide(now)
	for _, c := range h.update(now.at, h.measure(now)) {
		h.report(c)
		later(&h.bus.observers, toHealth, c)
	}
}

// slide makes the window end now.
func (h *healthWatch) slide(now reading) {
	if now.at.Sub(h.readings[len(h.readings)-1].at) >= h.policy.Window/60 {
		h.readings = append(h.readings, now)
	}
	for len(h.readings) > 1 && now.at.Sub(h.readings[1].at) >= h.policy.Window {
		h.readings = h.readings[1:]
	}
}

// countLetters asks the file for its dead letters, and for what is held for its version, unless nothing has happened since
// it was asked last: not since the look before that either, because a disposition is
// counted a moment before it is written. While there are too many it is always
// asked, for there may be an operator who does something about it; but deliveries
// may wait for the file meanwhile, so that takes a hundredth of the time at most.
func (h *healthWatch) countLetters(ctx context.Context, quiet bool) {
	holds := h.bus.holds()
	h.stale = h.stale || !quiet || !h.quiet || h.deadLetters.Exceeded || holds != h.holds || len(h.newer) > 0
	began := time.Now()
	if !h.stale || began.Before(h.rest) {
		return
	}
	lags, err := h.bus.log.Subscriptions(ctx, 0)
	h.rest = began.Add(100 * time.Since(began))
	if err != nil {
		if ctx.Err() == nil && !h.failing {
			h.bus.config.logger.Error("dead letters cannot be counted; trying again", "error", err)
		}
		h.failing = true
		return
	}
	h.stale, h.failing, h.holds = false, false, holds
	total, most := 0, 0
	h.newer = nil
	h.deadLetters.Mostly = ""
	for _, lag := range lags {
		for _, n := range lag.Newer {
			h.newer = engine.WithNewer(h.newer, n)
		}
		total += lag.Dead
		if lag.Dead > most {
			most, h.deadLetters.Mostly = lag.Dead, lag.Name
		}
	}
	h.deadLetters.Value, h.deadLetters.Exceeded = float64(total), total > h.policy.DeadLetters
}

// newerHours is for how many hours events may be held for their version: as long as that a deploy, or its rollback,
// may be under way.
const newerHours = 1

// checkNewer says for how long events have been held for their version.
func (h *healthWatch) checkNewer(now time.Time) observe.HealthCheck {
	c := observe.HealthCheck{Name: observe.CheckNewer, Threshold: newerHours}
	for _, n := range h.newer {
		c.Samples += uint64(n.Events)
	}
	if len(h.newer) > 0 {
		first := h.newer[0]
		c.Value, c.Mostly = max(now.Sub(first.Since).Hours(), 0), fmt.Sprintf("%s version %d", first.Type, first.Version)
		c.Exceeded = c.Value > newerHours
	}
	h.mu.Lock()
	h.shownNewer = h.newer
	h.mu.Unlock()
	return c
}

// measure says where each threshold stands.
func (h *healthWatch) measure(now reading) []observe.HealthCheck {
	p, before := h.policy, h.readings[0].types
	rate := func(name string, threshold float64, of func(tally) (part, whole uint64)) observe.HealthCheck {
		c := observe.HealthCheck{Name: name, Threshold: threshold}
		var parts, most uint64
		for _, eventType := range slices.Sorted(maps.Keys(now.types)) {
			part, whole := of(now.types[eventType].minus(before[eventType]))
			parts, c.Samples = parts+part, c.Samples+whole
			if part > most {
				most, c.Mostly = part, eventType
			}
		}
		c.Value = share(parts, c.Samples)
		c.Exceeded = c.Samples >= uint64(p.MinSamples) && c.Value > threshold
		return c
	}
	all := []observe.HealthCheck{
		rate(observe.CheckRetries, p.RetryRate, func(t tally) (part, whole uint64) { return t.retries, t.attempts }),
		h.deadLetters,
		rate(observe.CheckTimeouts, p.TimeoutRate, func(t tally) (part, whole uint64) { return t.timeouts, t.attempts }),
		rate(observe.CheckDuplicates, p.DuplicateRate, func(t tally) (part, whole uint64) { return t.duplicates, t.publishes }),
		h.unhandled.backlogs,
		h.unhandled.types,
		h.saturation.check,
		h.stalls.check,
		h.checkNewer(now.at),
		h.unwritable,
		h.held,
	}
	if h.bus.config.relay != nil {
		all = append(all, h.bus.checkOutbox(now.at))
	}
	return all
}

// stallCheck says that subscriptions have stalled within the window, or stand still. It belongs to the goroutine of watch.
type stallCheck struct {
	known  map[*feed]int64
	last   time.Time // when the last one was seen
	seen   float64   // within the window
	mostly string    // the last one
	still  map[string][]event.Stalled
	check  observe.HealthCheck
}

// checkStalls counts the subscriptions that have stalled, which is a fault of this package: see dispatch/stall.go; and
// those that stand still because of the processes that share them.
func (h *healthWatch) checkStalls(now time.Time) {
	c, b := &h.stalls, h.bus
	known := map[*feed]int64{}
	b.mu.Lock()
	for _, f := range b.feeds {
		if f.scheduler == nil {
			continue
		}
		known[f] = f.scheduler.Stalls()
		if more := known[f] - c.known[f]; more > 0 {
			c.last, c.mostly = now, f.name
			c.seen += float64(more)
		}
	}
	b.mu.Unlock()
	if c.known = known; now.Sub(c.last) >= h.policy.Window {
		c.seen, c.mostly = 0, ""
	}
	check := observe.HealthCheck{Name: observe.CheckStalled, Value: c.seen + float64(len(c.still)), Mostly: c.mostly}
	for _, name := range slices.Sorted(maps.Keys(c.still)) {
		for _, one := range c.still[name] {
			if check.Since.IsZero() || one.Since.Before(check.Since) {
				check.Since, check.Mostly = one.Since, name
			}
		}
	}
	check.Exceeded = check.Value > 0
	c.check = check
}

// stands takes over what stands still, and logs what was not known.
func (c *stallCheck) stands(still map[string][]event.Stalled, logger *slog.Logger) {
	for _, name := range slices.Sorted(maps.Keys(still)) {
		if c.still[name] == nil {
			for _, one := range still[name] {
				logger.Warn("deliveries of a subscription wait that could be handled, and it stands still",
					"subscription_id", name, "since", one.Since, "why", one.String())
			}
		}
	}
	c.still = still
}

// checkLog asks the log what is wrong with it.
func (h *healthWatch) checkLog(ctx context.Context) {
	log, ok := h.bus.log.(engine.HealthReporter)
	if !ok {
		return
	}
	found, err := log.Health(ctx)
	h.unwritable, h.held = observe.HealthCheck{Name: observe.CheckUnwritable}, observe.HealthCheck{Name: observe.CheckHeld, Mostly: found.Held}
	if wrong := found.Unwritable; wrong != nil {
		c := &h.unwritable
		c.Value, c.Exceeded, c.Mostly, c.Since = 1, true, string(wrong.Fault), found.Since.UTC()
	}
	if found.Held != "" {
		h.held.Value, h.held.Exceeded = 1, true
	}
	if err == nil { // what else fails then is said
		h.stalls.stands(found.Still, h.bus.config.logger)
	}
}

// update replaces the checks and returns those that have become exceeded or
// are no longer.
func (h *healthWatch) update(at time.Time, checks []observe.HealthCheck) (changed []observe.HealthCheck) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range checks {
		known := checks[i].Since // of what a check knows better
		checks[i].Since = h.checks[i].Since
		if checks[i].Exceeded != h.checks[i].Exceeded {
			checks[i].Since = cmp.Or(known, at.UTC())
			changed = append(changed, checks[i])
		}
	}
	h.at, h.checks = at.UTC(), checks
	return changed
}

// report tells the log.
func (h *healthWatch) report(c observe.HealthCheck) {
	log := h.bus.config.logger.With("check", c.Name, "value", c.Value, "threshold", c.Threshold)
	if !c.Exceeded {
		log.Info("a health threshold is no longer exceeded")
		return
	}
	log.Warn("a health threshold is exceeded", "mostly", c.Mostly, "advice", healthAdvice[c.Name])
}

// healthAdvice says what to do, by check.
var healthAdvice = map[string]string{
	observe.CheckRetries:     "many attempts fail and are retried: the warnings before this one say why",
	observe.CheckDeadLetters: "see them with busgen dlq groups, remove the cause, and retry or discard them",
	observe.CheckTimeouts:    "handlers exceed their deadline: find out what they wait for, or raise the timeout of the event type",
	observe.CheckDuplicates:  "publishers repeat events: find out why the same dedupe keys come again",
	observe.CheckUnhandled: "subscribe to it, declare it as an alias of its new name, or remove it with busgen subscriptions remove; " +
		"busgen status shows them",
	observe.CheckNewer: "start a program that knows the version: after hold_unknown they become dead letters; busgen status shows them",
	observe.CheckStalled: "busgen status says what stands still, and which process has it: stop or restart that one; if the log says that the bus has looked again, " +
		"it goes on by itself, and this is a fault of busgen: please report it, with the log",
	observe.CheckUnwritable:   "nothing can be stored: free some space, or see what the errors of publishers say; the bus goes on by itself",
	observe.CheckSaturated:    "the log names each subscription, and the setting that would help",
	observe.CheckHeld:         "commit the transaction of runtime.DB that was begun there, or roll it back; in handlers use runtime.Transact or runtime.In",
	observe.CheckUnknownTypes: "a program with another catalogue publishes them: update this one, or declare a subscription for them",
}
