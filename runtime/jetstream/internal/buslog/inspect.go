package buslog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

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
	l, err := Open(ctx, s, target, engine.Options{})
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
	return in.enter()
}

// Status implements [engine.StatusReader]. It counts no rates.
func (in *Inspection) Status(ctx context.Context, limit int, _ engine.Status) (status engine.Status, err error) {
	status = engine.Status{At: time.Now().UTC(), Path: in.target, Schema: format}
	if status.Subscriptions, err = in.Subscriptions(ctx, limit); err != nil {
		return status, err
	}
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
	types := map[string]*engine.TypeCount{}
	err = in.each(1, func(r *engine.Record) bool {
		status.Events++
		status.Newest = r.CreatedAt.UTC()
		if status.Oldest.IsZero() {
			status.Oldest = r.CreatedAt.UTC()
		}
		name := in.registry.nameOf(r.Type)
		if types[name] == nil {
			routed := slices.ContainsFunc(in.inOrder(), func(s *sub) bool { return s.routes[r.Type] })
			types[name] = &engine.TypeCount{Name: name, Unrouted: !routed, Oldest: r.CreatedAt.UTC()}
		}
		types[name].Events++
		types[name].Newest = r.CreatedAt.UTC()
		return true
	})
	for _, count := range types {
		status.Types = append(status.Types, *count)
	}
	slices.SortFunc(status.Types, func(a, b engine.TypeCount) int { return cmp.Compare(a.Name, b.Name) })
	for i := range status.Subscriptions {
		s := &status.Subscriptions[i]
		s.Unhandled = s.Backlog > 0 && slices.Contains(activity.Unhandled, s.Name)
		s.Saturated = s.Backlog > 0 && slices.Contains(activity.Saturated, s.Name)
		status.DeadLetters += s.Dead
	}
	for _, p := range in.registry.Pauses {
		one := engine.PauseState{Subscription: p.Target, Since: p.Since, Actor: p.Actor, Reason: p.Reason}
		if p.Kind == engine.PauseType {
			one.Subscription, one.Types = "", p.Target
		}
		status.Pauses = append(status.Pauses, one)
	}
	status.Breakers, status.Running = activity.Breakers, activity.Attempts
	return status, err
}

// Subscriptions implements [engine.StatusReader].
func (in *Inspection) Subscriptions(ctx context.Context, limit int) (states []engine.SubscriptionState, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	for _, s := range in.inOrder() {
		lag, err := in.lagOf(s, limit)
		if err != nil {
			return nil, err
		}
		states = append(states, engine.SubscriptionState{
			Name: s.Name, Pattern: s.Pattern, Paused: lag.Paused, Backlog: lag.Backlog, BacklogAtMost: lag.AtMost,
			Running: lag.Running, Waiting: lag.Waiting, Held: lag.Held, Dead: lag.Dead, Oldest: lag.Oldest,
		})
	}
	return states, nil
}

// Names implements [engine.StatusReader].
func (in *Inspection) Names(ctx context.Context) (names engine.Names, err error) {
	if err := in.look(ctx); err != nil {
		return names, err
	}
	defer in.mu.Unlock()
	for _, s := range in.registry.Subs {
		names.Subscriptions = append(names.Subscriptions, s.Name)
	}
	for _, s := range in.registry.Subs {
		names.Subscriptions = append(names.Subscriptions, s.Former...)
	}
	for _, of := range []func(typenames.Row) string{func(r typenames.Row) string { return r.Name }, func(r typenames.Row) string { return r.Written }} {
		for _, r := range in.registry.Types {
			if name := of(r); !slices.Contains(names.Types, name) {
				names.Types = append(names.Types, name)
			}
		}
	}
	return names, nil
}

// Activity implements [engine.StatusReader]. It puts together what all processes show.
func (in *Inspection) Activity(ctx context.Context) (all engine.Activity, owner engine.Owner, err error) {
	if err := in.look(ctx); err != nil {
		return all, owner, err
	}
	processes := maps.Clone(in.activity.Processes)
	owners := map[string]cursor{}
	for _, s := range in.subs {
		if s.cursor.Owner != "" {
			owners[s.cursor.Owner] = s.cursor
		}
	}
	in.mu.Unlock()
	for instance, c := range owners {
		alive := in.alive(ctx, instance)
		if alive || owner.PID == 0 {
			owner = engine.Owner{PID: c.PID, Since: c.Since, Alive: alive || owner.Alive}
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
			owner = engine.Owner{PID: p.PID, Since: p.Since, Alive: in.alive(ctx, instance)}
		}
	}
	return all, owner, nil
}

// Schedules implements [engine.ScheduleReader].
func (in *Inspection) Schedules(ctx context.Context) ([]engine.Schedule, error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	all := slices.Clone(in.schedules)
	slices.SortFunc(all, func(a, b engine.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Schema implements [engine.DeadLetterReader].
func (in *Inspection) Schema(ctx context.Context, eventType string) (newest engine.Schema, err error) {
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
	return newest, nil
}

// Audit implements [engine.AuditReader].
func (in *Inspection) Audit(ctx context.Context, f engine.AuditFilter, p engine.Page) ([]engine.AuditEntry, string, error) {
	if err := in.look(ctx); err != nil {
		return nil, "", err
	}
	defer in.mu.Unlock()
	found := slices.DeleteFunc(mapsValues(in.audit), func(e engine.AuditEntry) bool {
		return f.Actor != "" && e.Actor != f.Actor || len(f.Actions) > 0 && !slices.Contains(f.Actions, e.Action) ||
			f.Subscription != "" && !in.sameName(f.Subscription, e.Subscription) || f.Event != uuid.Nil && e.EventID != f.Event ||
			!within(e.At, f.Since, f.Until)
	})
	return paged(p, found, 1, func(e engine.AuditEntry) []int64 { return []int64{e.ID} }, false)
}

// sameName reports whether two names are of one subscription.
func (l *Log) sameName(a, b string) bool {
	return a == b || l.registry.known(a) != nil && l.registry.known(a) == l.registry.known(b)
}

// Pause implements [engine.SubscriptionSteerer].
func (in *Inspection) Pause(ctx context.Context, p engine.Pause) error {
	p.Actor = in.actor
	err := in.Log.pause(ctx, p, nil)
	if errors.Is(err, engine.ErrUnknownConsumer) {
		return &engine.NotFoundError{Thing: "subscription", Name: p.Target}
	}
	return err
}

// Resume implements [engine.SubscriptionSteerer].
func (in *Inspection) Resume(ctx context.Context, p engine.Pause) error {
	found, err := in.Log.resume(ctx, p, nil)
	if err == nil && !found {
		return &engine.NotFoundError{Thing: "pause", Name: p.Target}
	}
	return err
}

// Events implements [engine.EventReader].
func (in *Inspection) Events(ctx context.Context, f engine.Filter, p engine.Page) ([]engine.Event, string, error) {
	if err := in.look(ctx); err != nil {
		return nil, "", err
	}
	defer in.mu.Unlock()
	var found []engine.Event
	err := in.each(1, func(r *engine.Record) bool {
		if event := in.eventFor(r); in.chooses(f, r, event) {
			found = append(found, event)
		}
		return true
	})
	if err != nil {
		return nil, "", err
	}
	return paged(p, found, 1, func(e engine.Event) []int64 { return []int64{e.Seq} }, false)
}

// chooses reports whether a filter of events chooses an event.
func (in *Inspection) chooses(f engine.Filter, r *engine.Record, event engine.Event) bool {
	return in.matches(f, r, in.errorsOf(r)) && within(r.CreatedAt, f.Since, f.Until) && (f.Status == "" || f.Status == event.Status)
}

// Event implements [engine.EventReader].
func (in *Inspection) Event(ctx context.Context, id uuid.UUID) (history engine.EventHistory, err error) {
	if err := in.look(ctx); err != nil {
		return history, err
	}
	defer in.mu.Unlock()
	r, err := in.find(id)
	if err != nil {
		return history, err
	}
	history.Event = in.eventFor(r)
	for _, s := range in.inOrder() {
		if s.rows[r.Seq] != nil || s.matches(r) && s.Start < r.Seq {
			history.Deliveries = append(history.Deliveries, in.stateOf(s, r))
		}
	}
	slices.SortFunc(history.Deliveries, func(a, b engine.DeliveryState) int { return cmp.Compare(a.Subscription, b.Subscription) })
	for _, e := range in.audit {
		if e.EventID == id {
			history.Audit = append(history.Audit, e)
		}
	}
	slices.SortFunc(history.Audit, func(a, b engine.AuditEntry) int { return cmp.Compare(a.ID, b.ID) })
	return history, nil
}

// EventsWithID implements [engine.EventReader].
func (in *Inspection) EventsWithID(ctx context.Context, digits []byte, limit int) (ids []uuid.UUID, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	err = in.each(1, func(r *engine.Record) bool {
		for i, digit := range digits {
			half := r.ID[i/2] >> 4
			if i%2 == 1 {
				half = r.ID[i/2] & 15
			}
			if half != digit {
				return true
			}
		}
		ids = append(ids, r.ID)
		return true
	})
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids[:min(limit, len(ids))], err
}

// Unsettled implements [engine.EventReader].
func (in *Inspection) Unsettled(ctx context.Context, visit func(engine.Unsettled)) error {
	if err := in.look(ctx); err != nil {
		return err
	}
	defer in.mu.Unlock()
	return in.each(1, func(r *engine.Record) bool {
		one := engine.Unsettled{ID: r.ID, Type: in.registry.nameOf(r.Type), Names: in.registry.namesOf(r.Type), Version: r.Version, Payload: r.Payload}
		for _, s := range in.inOrder() {
			row := s.rows[r.Seq]
			switch {
			case row != nil && row.State == dead:
				one.Dead++
			case row != nil && row.open(), row == nil && s.pending(r):
				one.Open++
			}
		}
		if one.Open+one.Dead > 0 && r.Type[0] != engine.OwnType {
			visit(one)
		}
		return true
	})
}

// Follow implements [engine.EventReader].
func (in *Inspection) Follow(ctx context.Context, f engine.Following) (part engine.Followed, err error) {
	from, err := f.Mark()
	if err == nil {
		err = f.Check()
	}
	if err == nil {
		err = in.look(ctx)
	}
	if err != nil {
		return part, err
	}
	defer in.mu.Unlock()
	after, end := int64(0), in.applied
	if from != nil {
		after = from.Seq
	}
	var found []engine.Event
	err = in.each(after+1, func(r *engine.Record) bool {
		if event := in.eventFor(r); in.chooses(f.Filter, r, event) {
			found = append(found, event)
		}
		return true
	})
	switch {
	case from == nil && f.Newest:
		found = found[max(0, len(found)-f.Limit):]
	case len(found) > f.Limit:
		part.More, found = true, found[:f.Limit]
		end = found[f.Limit-1].Seq
	}
	part.Events, part.Next = found, engine.FollowMark{Seq: end, Log: in.registry.Log, At: time.Now()}.Cursor()
	return part, err
}

// eventFor returns an event with the states of its deliveries taken together. The caller
// holds mu.
func (in *Inspection) eventFor(r *engine.Record) engine.Event {
	event := engine.Event{
		ID: r.ID, Type: in.registry.nameOf(r.Type), Version: r.Version, Status: engine.StatusDone, PublishedAt: r.CreatedAt.UTC(), Due: r.Due.UTC(),
		Payload: r.Payload, Metadata: r.Metadata, Seq: r.Seq,
	}
	g := engine.LineageOf(r.Metadata)
	event.CorrelationID, event.ParentID, event.PublishedBy, event.Hops = g.CorrelationID, g.ParentID, g.PublishedBy, g.Hops
	rank := func(status string) int {
		return slices.Index([]string{engine.StatusDone, engine.StatusDLQ, engine.StatusPending, engine.StatusProcessing}, status)
	}
	for _, s := range in.inOrder() {
		row := s.rows[r.Seq]
		if row == nil && (!s.matches(r) || s.Start >= r.Seq) {
			continue
		}
		if row != nil {
			event.Failures = max(event.Failures, len(row.Attempts)-row.History)
		}
		status := engine.StatusPending
		switch in.stateOf(s, r).State {
		case engine.StateDone, engine.StateDiscarded:
			status = engine.StatusDone
		case engine.StateDead:
			status = engine.StatusDLQ
		case engine.StateRunning:
			status = engine.StatusProcessing
		}
		if rank(status) > rank(event.Status) {
			event.Status = status
		}
	}
	return event
}

// stateOf returns where an event stands for a subscription. The caller holds mu.
func (l *Log) stateOf(s *sub, r *engine.Record) engine.DeliveryState {
	state := engine.DeliveryState{Subscription: s.Name, State: engine.StateDone}
	ran := slices.ContainsFunc(s.cursor.Ran, func(c claim) bool { return c.Seq == r.Seq })
	row := s.rows[r.Seq]
	if a := s.asks[r.Seq]; a != nil && !ran && (row == nil && s.pending(r) || row != nil && row.open()) {
		state.State, state.Reason = engine.StateDiscarded, a.Reason
		return state
	}
	if row == nil {
		switch {
		case ran:
			state.State = engine.StateRunning
		case s.pending(r):
			state.State = engine.StatePending
			if r.Due.After(time.Now()) {
				state.State, state.Due = engine.StateWaiting, r.Due.UTC()
			}
		}
		return state
	}
	state.Failures, state.Attempts, state.Reason, state.Crashes = len(row.Attempts), slices.Clone(row.Attempts), row.Reason, row.Crashes
	if row.open() {
		state.Counted = row.Failures
	}
	switch row.State {
	case waiting:
		if state.State, state.Due = engine.StateWaiting, row.Due.UTC(); row.Cancelled {
			state.State, state.Due = engine.StateDiscarded, time.Time{}
		}
	case held:
		if state.State = engine.StateHeld; !l.typePaused(row.Type) {
			state.State = engine.StateWaiting
		}
	case dead:
		state.State, state.Settled = engine.StateDead, row.Died.UTC()
	case discarded:
		state.State, state.Settled = engine.StateDiscarded, row.Died.UTC()
	}
	if ran && row.open() {
		state.State, state.Due = engine.StateRunning, time.Time{}
	}
	return state
}

// errorsOf returns the errors of all attempts at an event.
func (l *Log) errorsOf(r *engine.Record) (texts []string) {
	for _, s := range l.inOrder() {
		if row := s.rows[r.Seq]; row != nil {
			for _, a := range row.Attempts {
				texts = append(texts, a.Error)
			}
		}
	}
	return append(texts, string(r.Metadata))
}

// matches reports whether an event, whose texts besides the payload are given, is one of
// those that the filter chooses.
func (l *Log) matches(f engine.Filter, r *engine.Record, texts []string) bool {
	typed := func(glob string) bool {
		ok, err := typenames.MatchesAny(glob, l.registry.namesOf(r.Type))
		return ok && err == nil
	}
	contains := func(text string) bool { return strings.Contains(text, f.Text) }
	switch {
	case len(f.Types) == 0 && r.Type[0] == engine.OwnType && f.Keys == nil && f.Subscriptions == nil && f.ChildOf == uuid.Nil:
		return false
	case len(f.Types) > 0 && !slices.ContainsFunc(f.Types, typed),
		len(f.Events) > 0 && !slices.Contains(f.Events, r.ID),
		f.CorrelationID != "" && f.CorrelationID != engine.LineageOf(r.Metadata).CorrelationID,
		f.ChildOf != uuid.Nil && f.ChildOf != engine.LineageOf(r.Metadata).ParentID,
		!bytes.Contains(r.Payload, []byte(f.Text)) && !slices.ContainsFunc(texts, contains):
		return false
	}
	return true
}

// within reports whether a time is at since or later and before until; zero for no bound.
func within(at, since, until time.Time) bool {
	return !at.Before(since) && (until.IsZero() || at.Before(until))
}

// paged returns a page of items in the order of their places, the highest first unless
// ascending.
func paged[T any](p engine.Page, items []T, numbers int, place func(T) []int64, ascending bool) ([]T, string, error) {
	p, err := p.Complete()
	if err != nil {
		return nil, "", err
	}
	after, err := p.Place(numbers)
	if err != nil {
		return nil, "", err
	}
	compare := func(a, b []int64) int {
		if ascending {
			return slices.Compare(a, b)
		}
		return slices.Compare(b, a)
	}
	if after != nil {
		items = slices.DeleteFunc(items, func(one T) bool { return compare(place(one), after) <= 0 })
	}
	slices.SortFunc(items, func(a, b T) int { return compare(place(a), place(b)) })
	items = items[min(p.Offset, len(items)):]
	items, cursor := engine.CutPage(p, items[:min(p.Limit+1, len(items))], place)
	return items, cursor, nil
}

// errUnsupported is the error of what an inspection cannot do yet.
func errUnsupported(what string) error {
	return fmt.Errorf("the engine on NATS JetStream cannot %s yet", what)
}
