package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Subscription delivers events to a handler. Its name is durable: the file
// remembers what it has settled. Without a handler its events wait.
// A name that is new starts with the next event, or with the oldest one in the
// file with [FromBeginning]. [Bus.PauseSubscription] stops it for a while, by its name.
type Subscription struct{ inner any } // an *innerSubscription

// innerSubscription is what is behind a [Subscription]. Its fields are set before it joins the roster, and are safe for
// concurrent use or do not change after that, but for tuned, which the roster's mu guards.
type innerSubscription struct {
	bus       *innerBus
	name      string
	pattern   string
	globs     glob.Set               // over event types of the catalogue
	dead      bool                   // it is for the dead letters of the event type
	inbox     bool                   // it is for what others send
	raw       bool                   // the handler gets payloads as they are stored
	fits      func(payload any) bool // tells which payloads the handler takes; nil for all
	config    subscribeConfig
	around    Next                          // the handler within its middleware; nil without any
	transacts bool                          // the handler runs within a transaction
	answers   reflect.Type                  // what the handler answers with; nil if it does not
	batched   func(b *dispatch.Batch) error // the handler of batches; nil if it gets events one by one
	batches   batchCounts
	handler   *dispatch.Handler
	breaker   *breaker.Breaker
	breakers  *breaker.Set // by key; off unless the settings say by which field, and then breaker is
	open      openBreakers
	feed      *feed
	inForce   atomic.Pointer[inForce]
	tuned     int // how often the bus had been tuned when they were resolved
	counts    subscriptionCounts
}

// Subscribe calls handler for every event of one type. Generated code has a
// typed function for each event type, which calls this one.
//
// The name must not be used twice in a bus. Errors are a *[SubscribeError] for
// a name or an option that is not valid, [ErrShutdown], or a *[event.StorageError].
//
// Subscribe has no context: mostly it writes nothing, or for a moment. While another process holds the lock of the file it
// waits for ten seconds at most, and returns a *[event.StorageError] whose Fault is Busy. It ends at once when a shutdown begins.
func Subscribe[T Payload](bus *Bus, t *EventType[T], name string, handler Handler[T], opts ...SubscribeOption) (*Subscription, error) {
	given := any(handler) // see eventType
	return subscribe(bus, t.of, name, handler == nil, func(ctx context.Context, h Head, payload any) error {
		return given.(Handler[T])(ctx, typed[T](h, payload))
	}, opts)
}

// typedHandler is a handler of one event type in terms that do not depend on the type of its payload:
// payload is a pointer to one.
type typedHandler func(ctx context.Context, h Head, payload any) error

func subscribe(bus *Bus, of AnyEventType, name string, none bool, handler typedHandler, opts []SubscribeOption) (*Subscription, error) {
	t := of.(*eventType)
	s := &innerSubscription{bus: busOf(bus), name: name, pattern: t.spec.Name}
	if none {
		return s.subscribe(nil, nil, opts)
	}
	handle := func(a *dispatch.Attempt) error {
		payload, err := t.payloadFor(s, a)
		if err != nil {
			return err
		}
		if s.around != nil {
			return s.around(a.Given(), eventOf(a, name, t.takeOut(payload)))
		}
		err = handler(a.Given(), newHead(a, name), payload)
		t.give(payload)
		return err
	}
	return s.subscribe(handle, innermost(s, t.of, t.unboxed(handler)), opts)
}

// payloadFor returns the payload of an attempt, for the handler of a subscription.
func (t *eventType) payloadFor(s *innerSubscription, a *dispatch.Attempt) (payload any, err error) {
	if a.Type != t.spec.Name {
		return nil, s.mismatch(a.Type)
	}
	return t.decodeFor(a, (*eventType).decodeShared)
}

// SubscribeNamespace calls handler for every event of the catalogue whose type
// matches pattern, such as order.*, or one of several with blanks between them. I is an interface that the payloads of all
// those types implement; generated code has a sealed one for each namespace, so
// that a handler can switch over exactly its events. A pattern that matches another
// type is refused.
func SubscribeNamespace[I any](bus *Bus, pattern, name string, handler Handler[I], opts ...SubscribeOption) (*Subscription, error) {
	given := any(handler) // see eventType
	return subscribeNamespace(bus, pattern, name, handler == nil, pointedTo((*I)(nil)), func(ctx context.Context, h Head, payload any) error {
		return given.(Handler[I])(ctx, Event[I]{h, payload.(I)})
	}, opts)
}

// subscribeNamespace calls handler with payloads, which are values here, of an interface.
func subscribeNamespace(bus *Bus, pattern, name string, none bool, takes reflect.Type, handler typedHandler, opts []SubscribeOption) (*Subscription, error) {
	s := &innerSubscription{bus: busOf(bus), name: name, pattern: pattern}
	s.fits = implementing(takes)
	next := func(ctx context.Context, e Event[any]) error { return handler(ctx, e.Head, e.Payload) }
	handle := func(a *dispatch.Attempt) error {
		t := s.bus.catalogue.Lookup(a.Type)
		if t == nil {
			return &errs.DecodeError{Err: &UnknownTypeError{EventType: a.Type}}
		}
		payload, err := typeOf(t).decodeFor(a, (*eventType).decode)
		if err != nil {
			return err
		}
		value := reflect.ValueOf(payload).Elem().Interface()
		if !s.fits(value) {
			return s.mismatch(a.Type)
		}
		return call(a, s, value, next)
	}
	if none {
		handle = nil
	}
	return s.subscribe(handle, innermost(s, takes, next), opts)
}

// implementing returns what tells whether a value implements an interface. What it has found of a type it remembers.
func implementing(of reflect.Type) func(value any) bool {
	var known sync.Map // of reflect.Type to bool
	return func(value any) bool {
		t := reflect.TypeOf(value)
		ok, found := known.Load(t)
		if !found {
			ok = t.Implements(of)
			known.Store(t, ok)
		}
		return ok.(bool)
	}
}

// SubscribePattern calls handler with the stored JSON of every event whose type
// matches pattern: segments separated by dots, where * alone stands for
// everything, a * at the end for one or more segments and any other * for
// exactly one. Several patterns have blanks between them.
func SubscribePattern(bus *Bus, pattern, name string, handler Handler[Raw], opts ...SubscribeOption) (*Subscription, error) {
	s := &innerSubscription{bus: busOf(bus), name: name, pattern: pattern, raw: true}
	takes := func(ctx context.Context, e Event[any]) error {
		return handler(ctx, Event[Raw]{e.Head, e.Payload.(Raw)})
	}
	handle := func(a *dispatch.Attempt) error {
		// A copy: the bytes are shared with other subscriptions.
		return call(a, s, slices.Clone(Raw(a.Payload)), takes)
	}
	if handler == nil {
		handle = nil
	}
	return s.subscribe(handle, innermost(s, reflect.TypeFor[Raw](), takes), opts)
}

// mismatch is the error for an event that an earlier version of the program
// left to this name, when it stood for another pattern.
func (s *innerSubscription) mismatch(eventType string) error {
	return &errs.DecodeError{Err: fmt.Errorf("this event of type %s was pending for subscription %q before its pattern became %s", eventType, s.name, s.pattern)}
}

// subscribe checks everything, makes the durable subscription, and begins to
// deliver if the bus is running.
func (s *innerSubscription) subscribe(handle func(a *dispatch.Attempt) error, inner Next, opts []SubscribeOption) (*Subscription, error) {
	for i, opt := range opts {
		err := nilOption(i)
		if opt != nil {
			err = opt(&s.config)
		}
		if err != nil {
			return nil, &SubscribeError{Subscription: s.name, Problem: err.Error(), Err: err}
		}
	}
	if problem := s.nameProblem(); problem != "" {
		return nil, s.refuse(problem)
	}
	if handle == nil && s.batched == nil {
		return nil, s.refuse("the handler is nil")
	}
	if problem := s.inDeclaredGroup(); problem != "" {
		return nil, s.refuse(problem)
	}
	if problem := s.batchProblem(); problem != "" {
		return nil, s.refuse(problem)
	}
	if problem := s.txProblem(); problem != "" {
		return nil, s.refuse(problem)
	}
	commits := s.batched == nil && s.answers == nil && !s.config.ephemeral && !s.config.elsewhere && s.config.group == ""
	if commits && !s.transacts {
		handle = s.committing(handle)
	}
	if intercept := s.bus.config.intercept; intercept != nil {
		handle, s.batched = intercepted(intercept, s.name, handle), interceptedBatch(intercept, s.name, s.batched)
	}
	if s.config.ephemeral {
		handle = s.storing(handle)
	}
	var err error
	if s.batched == nil {
		s.around, err = s.wrap(inner)
	}
	if err != nil {
		return nil, err
	}
	over := s.pattern
	if s.dead {
		over = over[len(engine.DeadType("")):]
	}
	if s.globs, err = glob.ParseSet(over); err != nil {
		return nil, s.refuse(err.Error())
	}
	if !s.dead {
		s.pattern = s.globs.String()
	}

	ctx, end := s.bus.subscribing()
	defer end()
	if err := s.join(ctx, handle, commits); err != nil {
		return nil, s.bus.notSubscribed(ctx, err)
	}
	return &Subscription{s}, nil
}

// join makes the durable subscription, and begins to deliver if the bus is running.
func (s *innerSubscription) join(ctx context.Context, handle func(a *dispatch.Attempt) error, commits bool) error {
	b := s.bus
	end, err := b.change(ctx)
	if err != nil {
		return err
	}
	defer end()
	position, err := s.prepare(handle, commits)
	if err != nil {
		return err
	}
	if s.config.ephemeral {
		return b.joinEphemeral(ctx, s)
	}
	consumer, err := b.log.Consumer(ctx, position.spec)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := s.confirm(); err != nil {
		return err
	}
	if position.feed.detached != nil {
		return s.refuse(fmt.Sprintf("group %q is being unsubscribed; join it afterwards", position.feed.name))
	}
	position.take(s, consumer)
	b.subscriptions = append(b.subscriptions, s)
	if b.state == running {
		b.reportClasses()
		s.feed.start()
	}
	return nil
}

// confirm makes the settings those in force, after the log was asked. The caller holds the bus's mu.
func (s *innerSubscription) confirm() error {
	b := s.bus
	if b.state == stopping {
		return ErrShutdown
	}
	if s.tuned == b.tuned {
		return nil
	}
	settings, err := s.resolve(b.tuning)
	if err == nil {
		s.put(settings)
	}
	return err
}

// prepare checks what depends on the other subscriptions, and returns what the log is to be asked for; nothing for an
// ephemeral one.
func (s *innerSubscription) prepare(handle func(a *dispatch.Attempt) error, commits bool) (position joining, err error) {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopping {
		return position, ErrShutdown
	}
	for _, other := range b.subscriptions {
		if other.name == s.name && !s.config.ephemeral {
			return position, s.refuse("there is one of this name already")
		}
	}
	settings, err := s.resolve(b.tuning)
	if err != nil {
		return position, err
	}
	s.tuned = b.tuned
	s.breaker = breaker.New(settings.breaker)
	s.breaker.Notify(func(old, now breaker.Status) { s.breakerChanged("", old, now) })
	s.breakers = breaker.NewSet(settings.breaker)
	s.put(settings)
	s.handler = &dispatch.Handler{Name: s.name, Aliases: s.formerNames(), Handle: handle, Settings: s.settingsOf, Breaker: s.breaker, Count: (*counter)(s), Commits: commits, Steps: s.steps()}
	s.handler.Observed = b.observers.any()
	if b.observers.handles() {
		s.handler.Watch = (*counter)(s).watch
	}
	if b.observers.starts() {
		s.handler.Started = (*counter)(s).started
	}
	if s.batched != nil {
		s.handler.HandleBatch, s.handler.BatchEnded = s.batched, s.batchEnded
	}
	if s.config.ephemeral {
		return position, nil
	}
	s.counts.byType = map[string]*counts{} // which stay for the name
	for eventType := range settings.types {
		s.counts.byType[eventType] = b.counters.of(eventType).shard(s.name)
		s.counts.ofOnly = s.counts.byType[eventType]
	}
	s.counts.only = settings.only
	if s.answers != nil {
		b.interrupts.Store(true) // those that lose
		s.handler.Count = answerCounter{(*counter)(s)}
	}
	return b.joining(s)
}

func (s *innerSubscription) refuse(problem string) error {
	return &SubscribeError{Subscription: s.name, Problem: problem}
}

// nameProblem says what is wrong with the name and what is said of it, or "".
func (s *innerSubscription) nameProblem() string {
	if !s.config.ephemeral {
		return nameProblem(s.name)
	}
	if problem := s.ephemeralProblem(); problem != "" || s.name == "" {
		return problem
	}
	return nameProblem(s.name)
}

func nameProblem(name string) string {
	switch {
	case strings.TrimSpace(name) != name || name == "":
		return "a subscription needs a name without spaces around it; the file remembers it"
	case len(name) > format.MaxSubscriptionName:
		return fmt.Sprintf("the name has %d bytes, the limit is %d", len(name), format.MaxSubscriptionName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "the name has bytes that cannot be printed"
	}
	return ""
}

// Name returns the durable name, or the label of an [Ephemeral] subscription.
func (s *Subscription) Name() string { return subscriptionOf(s).name }

// Pattern returns the event type, or the pattern of event types, it is for. Several have blanks between them.
func (s *Subscription) Pattern() string { return subscriptionOf(s).pattern }

// Group returns the name of the group it is a member of, or "".
func (s *Subscription) Group() string { return subscriptionOf(s).config.group }

// Unsubscribe detaches the handler, and with it the other members of its group.
// It waits for the one that is running as [Bus.Shutdown] does, but has no timeout of
// its own. A handler that it has to leave behind holds no [declare.Limit] any more. The durable name stays: its events
// wait in the file until it is subscribed again, by this process or a later one. Of an [Ephemeral] subscription nothing stays.
//
// If another process holds the lock of the file until half a second after ctx has ended, the error says that what
// handlers have done is not written yet. The bus keeps it in memory and tries again.
//
// A second call waits for the first, or for its own ctx, and returns nil. The error is
// [ErrShutdown] after [Bus.Shutdown], and [ErrInsideHandler] in a handler that it would
// wait for.
func (s *Subscription) Unsubscribe(ctx context.Context) error {
	return subscriptionOf(s).unsubscribe(ctx)
}

func (s *innerSubscription) unsubscribe(ctx context.Context) error {
	b, f := s.bus, s.feed
	if b.onWorker(f) {
		return ErrInsideHandler
	}
	b.mu.Lock()
	if b.state == stopping {
		b.mu.Unlock()
		return ErrShutdown
	}
	if detached := f.detached; detached != nil {
		b.mu.Unlock()
		select {
		case <-detached:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.detached = make(chan struct{}) // so that it is not started from now on
	b.mu.Unlock()
	err := f.stop(ctx)
	if f.fleeting != nil {
		b.mu.Lock()
		consumer := f.fleeting.consumer // which a restore does not replace any more
		delete(b.ephemeral, f)
		close(f.detached)
		b.mu.Unlock()
		consumer.Close()
		return err
	}
	b.exchanges.gone(f)
	late, end := closing(ctx)
	flushErr := b.log.LetGo(late, f.consumer)
	if late.Err() != nil && errors.Is(flushErr, late.Err()) {
		flushErr = fmt.Errorf("subscription %q: the results of its handlers could not be written in time; they are kept in memory and tried again: %w", f.name, ctx.Err())
	}
	end()
	if err == nil && !errors.Is(flushErr, engine.ErrClosed) { // else Shutdown has written it
		err = flushErr
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscriptions = slices.DeleteFunc(slices.Clone(b.subscriptions), func(other *innerSubscription) bool { return other.feed == f })
	b.setFeeds(slices.DeleteFunc(slices.Clone(b.feeds), func(other *feed) bool { return other == f }))
	close(f.detached)
	return err
}
