package buslog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Inspection looks into a log and steers it. It implements [engine.Inspection]. Names are
// those that the newest catalogue gives.
type Inspection struct {
	*Log
	actor string
}

var _ engine.Inspection = (*Inspection)(nil)

// Inspect opens the log of a stream, for an actor.
func Inspect(ctx context.Context, s *stream.Stream, target, actor string) (*Inspection, error) {
	l, err := open(ctx, s, target, engine.Options{}, true)
	if err != nil {
		return nil, err
	}
	return &Inspection{l, actor}, nil
}

// look locks the log when it has everything that the server has.
func (in *Inspection) look(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := in.sync(ctx); err != nil {
		return err
	}
	if err := in.dress(ctx); err != nil {
		return err
	}
	return in.enter()
}

// Status implements [engine.StatusReader].
func (in *Inspection) Status(ctx context.Context, limit int, since event.Status) (status event.Status, err error) {
	status = event.Status{At: time.Now().UTC(), Path: in.target}
	if status.Size, err = in.stream.Size(ctx); err != nil {
		return status, in.storage("read", err)
	}
	activity, owner, err := in.Activity(ctx)
	if err != nil {
		return status, err
	}
	if owner.PID != 0 {
		status.Owner = &owner
	}
	if err := in.look(ctx); err != nil {
		return status, err
	}
	defer in.mu.Unlock()
	if status.Owner == nil && in.dispatched() {
		status.Owner = &event.Owner{}
	}
	status.Schema = in.registry.Format
	if err := in.countTypes(ctx, &status, limit); err != nil {
		return status, err
	}
	if status.Subscriptions, err = in.states(ctx, limit); err != nil {
		return status, err
	}
	now := in.markOf(status.Subscriptions)
	status.Mark = now
	if before, ok := since.Mark.(mark); ok {
		if err := in.rates(ctx, now, before, &status); err != nil {
			return status, err
		}
	}
	for i := range status.Subscriptions {
		s := &status.Subscriptions[i]
		s.Unhandled = s.Backlog > 0 && slices.Contains(activity.Unhandled, s.Name)
		s.Saturated = s.Backlog > 0 && slices.Contains(activity.Saturated, s.Name)
		status.DeadLetters += s.Dead
	}
	if owner.Alive { // else all of them stand still
		if err := in.noteStalled(ctx, &status); err != nil {
			return status, err
		}
	}
	status.Pauses = []event.PauseState{}
	for _, p := range in.registry.Pauses {
		one := event.PauseState{Subscription: p.Target, Key: p.Key, Since: p.Since, Actor: p.Actor, Reason: p.Reason}
		if p.Kind == engine.PauseType {
			one.Subscription, one.Types = "", p.Target
		}
		status.Pauses = append(status.Pauses, one)
	}
	status.Snoozed = in.snoozed()
	status.CrashLoop = in.crashLoops()
	status.Breakers, status.Running = append([]event.Breaker{}, activity.Breakers...), append([]event.Running{}, activity.Attempts...)
	status.Waitlists = append([]event.Waitlist{}, activity.Waitlists...)
	return status, nil
}

// countTypes counts the newest events, up to a limit. It gives mu back while the server is asked.
func (in *Inspection) countTypes(ctx context.Context, status *event.Status, limit int) error {
	types := map[string]*event.TypeCount{}
	status.Types = []event.TypeCount{}
	note := func(r *engine.Record) {
		if at := r.CreatedAt.UTC(); status.Oldest.IsZero() || at.Before(status.Oldest) {
			status.Oldest = at
		}
		if at := r.CreatedAt.UTC(); at.After(status.Newest) {
			status.Newest = at
		}
	}
	err := in.eachBack(ctx, in.applied, func(r *engine.Record) bool {
		if status.Events == limit {
			status.More = true
			return false
		}
		if !in.shown(r) {
			return true
		}
		status.Events++
		name, at := in.registry.nameOf(r.Type), r.CreatedAt.UTC()
		one := types[name]
		if one == nil {
			routed := slices.ContainsFunc(in.inOrder(), func(s *sub) bool { return s.routes[r.Type] })
			one = &event.TypeCount{Name: name, Unrouted: !routed && !engine.IsOwn(name), Oldest: at, Newest: at}
			types[name] = one
		}
		one.Events++
		if at.Before(one.Oldest) {
			one.Oldest = at
		}
		if at.After(one.Newest) {
			one.Newest = at
		}
		note(r)
		return true
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		status.Types = append(status.Types, *types[name])
	}
	if !status.More {
		return nil
	}
	first, err := in.oldest(ctx)
	if first != nil {
		note(first)
	}
	return err
}

// Subscriptions implements [engine.StatusReader].
func (in *Inspection) Subscriptions(ctx context.Context, limit int) (states []event.SubscriptionState, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	return in.states(ctx, limit)
}

// states returns where the subscriptions stand. It gives mu back while the server is asked.
func (in *Inspection) states(ctx context.Context, limit int) (states []event.SubscriptionState, err error) {
	for _, s := range in.inOrder() {
		lag, err := in.lagOf(ctx, s, limit)
		if err != nil {
			return nil, err
		}
		states = append(states, lag)

	}
	return states, nil
}

// Declared implements [engine.StatusReader].
func (in *Inspection) Declared(ctx context.Context) (all engine.Declared, err error) {
	if err := in.look(ctx); err != nil {
		return all, err
	}
	defer in.mu.Unlock()
	for _, s := range in.registry.Subs {
		all.Subscriptions = append(all.Subscriptions, s.Name)
	}
	for _, s := range in.registry.Subs {
		all.Subscriptions = append(all.Subscriptions, s.Former...)
	}
	for _, of := range []func(typenames.Row) string{func(r typenames.Row) string { return r.Name }, func(r typenames.Row) string { return r.Written }} {
		for _, r := range in.registry.Types {
			if name := of(r); !slices.Contains(all.Types, name) {
				all.Types = append(all.Types, name)
			}
		}
	}
	all.Schedules = slices.Clone(in.schedules)
	slices.SortFunc(all.Schedules, func(a, b event.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// dispatched reports whether some process has dispatched, all of which have let go of their subscriptions.
func (in *Inspection) dispatched() bool {
	for _, s := range in.subs {
		for _, at := range s.live() {
			if s.parts[at].By != "" {
				return true
			}
		}
	}
	return false
}

// Activity implements [engine.StatusReader]. It puts together what all processes show.
func (in *Inspection) Activity(ctx context.Context) (all engine.Activity, owner event.Owner, err error) {
	if err := in.look(ctx); err != nil {
		return all, owner, err
	}
	processes := maps.Clone(in.activity.Processes)
	owners := map[string]cursor{}
	for _, s := range in.subs {
		for instance, c := range s.owners() {
			owners[instance] = *c
		}
	}
	all.Waitlists = in.waitlists()
	in.mu.Unlock()
	for instance, c := range owners {
		alive := in.lifeNow(ctx, instance) != absent
		if alive || owner.PID == 0 {
			owner = event.Owner{PID: c.PID, Since: c.Since, Alive: alive || owner.Alive}
		}
		if !alive {
			delete(processes, instance)
		}
	}
	for _, instance := range slices.Sorted(maps.Keys(processes)) {
		p := processes[instance]
		all.Breakers = append(all.Breakers, p.Activity.Breakers...)
		all.Attempts = append(all.Attempts, p.Activity.Attempts...)
		all.Unhandled = append(all.Unhandled, p.Activity.Unhandled...)
		all.Saturated = append(all.Saturated, p.Activity.Saturated...)
		if owner.PID == 0 {
			owner = event.Owner{PID: p.PID, Since: p.Since, Alive: in.lifeNow(ctx, instance) != absent}
		}
	}
	return all, owner, nil
}

// waitlists returns those with the most parked deliveries.
func (in *Inspection) waitlists() (all []event.Waitlist) {
	type key struct{ subscription, waitlist string }
	found := map[key]event.Waitlist{}
	for _, s := range in.subs {
		for _, r := range s.rows {
			if r.Waitlist == "" || !r.State.Open() {
				continue
			}
			l := found[key{s.Name, r.Waitlist}]
			if l.Waiting == 0 {
				l = engine.Named(r.Waitlist)
				l.Subscription = s.Name
			}
			if l.Waiting++; l.Since.IsZero() || r.Since.Before(l.Since) {
				l.Since = r.Since.UTC()
			}
			found[key{s.Name, r.Waitlist}] = l
		}
	}
	all = slices.SortedFunc(maps.Values(found), func(a, b event.Waitlist) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Subscription, b.Subscription), cmp.Compare(a.Kind+a.Limit+a.Key, b.Kind+b.Limit+b.Key))
	})
	return all[:min(len(all), engine.WaitlistsShown)]
}

// Schema implements [engine.DeadLetterReader].
func (in *Inspection) Schema(ctx context.Context, eventType string) (newest event.Schema, err error) {
	if err := in.look(ctx); err != nil {
		return newest, err
	}
	defer in.mu.Unlock()
	for _, s := range in.schemas {
		if in.registry.nameOf(s.Type) != in.registry.nameOf(eventType) || s.Of.Version < newest.Version {
			continue
		}
		if s.Of.Version > newest.Version || s.Of.StoredAt.After(newest.StoredAt) {
			newest = s.Of
		}
	}
	if newest.Text == "" {
		newest.Version = in.registry.newestOf(eventType)
	}
	return newest, nil
}

// crashLoops reports whether the owner of a subscription has died young, and its owner now, if any, is young as well.
func (in *Inspection) crashLoops() bool {
	for _, s := range in.subs {
		for _, at := range s.live() {
			if s.parts[at].CrashLoop {
				return true
			}
		}
	}
	return false
}
