package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Subscription delivers events to a handler. Its name is durable: the file
// remembers what it has settled, and while nobody handles it its events wait.
// A name that is new starts with the next event, or with the oldest one in the
// file with [FromBeginning].
type Subscription struct {
	bus      *Bus
	name     string
	pattern  string
	config   subscribeConfig
	settings map[string]*dispatch.Settings // by event type of the catalogue
	handle   func(a *dispatch.Attempt) error
	key      func(d *engine.Delivery) string
	consumer engine.Consumer
	runner   *dispatch.Subscription // nil before the bus is started

	handled, failed, retried, dead atomic.Uint64
	abandoned                      atomic.Int64
}

// Subscribe calls handler for every event of one type. Generated code has a
// typed function for each event type, which calls this one.
//
// The name must not be used twice in a bus. Errors are a *[SubscribeError] for
// a name or an option that is not valid, [ErrShutdown], or a *[StorageError].
func Subscribe[T Payload](bus *Bus, t *EventType[T], name string, handler Handler[T], opts ...SubscribeOption) (*Subscription, error) {
	s := &Subscription{bus: bus, name: name, pattern: t.spec.Name}
	s.handle = func(a *dispatch.Attempt) error {
		if a.Type != t.spec.Name {
			return s.mismatch(a.Type)
		}
		payload, err := t.decodeTyped(&a.Record)
		if err != nil {
			return err
		}
		return handler(a, eventOf(a, name, payload))
	}
	return s.subscribe(handler != nil, opts)
}

// SubscribeNamespace calls handler for every event of the catalogue whose type
// matches pattern, such as order.*. I is an interface that the payloads of all
// those types implement; generated code has a sealed one for each namespace, so
// that a handler can switch over exactly its events.
func SubscribeNamespace[I any](bus *Bus, pattern, name string, handler Handler[I], opts ...SubscribeOption) (*Subscription, error) {
	s := &Subscription{bus: bus, name: name, pattern: pattern}
	s.handle = func(a *dispatch.Attempt) error {
		t := bus.catalogue.Lookup(a.Type)
		if t == nil {
			return &dispatch.DecodeError{Err: &UnknownTypeError{EventType: a.Type}}
		}
		payload, err := t.decode(&a.Record)
		if err != nil {
			return err
		}
		typed, ok := payload.(I)
		if !ok {
			return s.mismatch(a.Type)
		}
		return handler(a, eventOf(a, name, typed))
	}
	return s.subscribe(handler != nil, opts)
}

// SubscribePattern calls handler with the stored JSON of every event whose type
// matches pattern: segments separated by dots, where * alone stands for
// everything, a * at the end for one or more segments and any other * for
// exactly one.
func SubscribePattern(bus *Bus, pattern, name string, handler Handler[Raw], opts ...SubscribeOption) (*Subscription, error) {
	s := &Subscription{bus: bus, name: name, pattern: pattern}
	s.handle = func(a *dispatch.Attempt) error {
		// A copy: the bytes are shared with other subscriptions.
		return handler(a, eventOf(a, name, slices.Clone(Raw(a.Payload))))
	}
	return s.subscribe(handler != nil, opts)
}

// mismatch is the error for an event that an earlier version of the program
// left to this name, when it stood for another pattern.
func (s *Subscription) mismatch(eventType string) error {
	return &dispatch.DecodeError{Err: fmt.Errorf("this event of type %s was left to subscription %q before its pattern became %s", eventType, s.name, s.pattern)}
}

// subscribe checks everything, makes the durable subscription, and begins to
// deliver if the bus is running.
func (s *Subscription) subscribe(handled bool, opts []SubscribeOption) (*Subscription, error) {
	s.config.concurrency = 1
	for _, opt := range opts {
		if err := opt(&s.config); err != nil {
			return nil, s.refuse(err.Error())
		}
	}
	if problem := nameProblem(s.name); problem != "" {
		return nil, s.refuse(problem)
	}
	if !handled {
		return nil, s.refuse("the handler is nil")
	}
	pattern, err := glob.Parse(s.pattern)
	if err != nil {
		return nil, s.refuse(err.Error())
	}
	if err := s.resolve(pattern); err != nil {
		return nil, err
	}
	if s.config.strict {
		s.key = s.strictKey
	} else if s.reorders() {
		s.key = s.partitionKey
	}

	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stopping {
		return nil, ErrShutdown
	}
	for _, other := range b.subscriptions {
		if other.name == s.name {
			return nil, s.refuse("there is one of this name already")
		}
	}
	s.consumer, err = b.log.Consumer(context.Background(), engine.ConsumerSpec{
		Name: s.name, Pattern: s.pattern, FromBeginning: s.config.fromBeginning,
	})
	if err != nil {
		return nil, public(err)
	}
	b.subscriptions = append(b.subscriptions, s)
	if b.state == running {
		s.start()
	}
	return s, nil
}

func (s *Subscription) refuse(problem string) error {
	return &SubscribeError{Subscription: s.name, Problem: problem}
}

func nameProblem(name string) string {
	switch {
	case strings.TrimSpace(name) != name || name == "":
		return "a subscription needs a name without spaces around it; the file remembers it"
	case len(name) > 200:
		return fmt.Sprintf("the name has %d bytes, the limit is 200", len(name))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "the name holds bytes that cannot be printed"
	}
	return ""
}

// start begins to deliver.
func (s *Subscription) start() {
	s.runner = dispatch.Start(s.consumer, dispatch.Config{
		Owner: s.bus, Name: s.name, Concurrency: s.config.concurrency,
		Handle: s.handle, Settings: s.settingsOf, Key: s.key, Strict: s.config.strict,
		Logger: s.bus.config.logger, Count: (*counter)(s),
	})
}

func (s *Subscription) stop(ctx context.Context) error {
	if s.runner == nil {
		return nil
	}
	return s.runner.Stop(ctx, shutdownGrace)
}

// Name returns the durable name.
func (s *Subscription) Name() string { return s.name }

// Pattern returns the event type, or the pattern of event types, it is for.
func (s *Subscription) Pattern() string { return s.pattern }

// Unsubscribe detaches the handler. It waits for the one that is running as
// [Bus.Shutdown] does. The durable name stays: its events wait in the file until
// it is subscribed again, by this process or a later one.
func (s *Subscription) Unsubscribe(ctx context.Context) error {
	b := s.bus
	b.mu.Lock()
	at := slices.Index(b.subscriptions, s)
	if at < 0 || b.state == stopping {
		b.mu.Unlock()
		return nil
	}
	b.mu.Unlock()
	err := s.stop(ctx)
	if flushErr := b.log.Flush(context.WithoutCancel(ctx)); err == nil {
		err = public(flushErr)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscriptions = slices.DeleteFunc(slices.Clone(b.subscriptions), func(other *Subscription) bool { return other == s })
	return err
}

// counter is the dispatch.Counter of a subscription.
type counter Subscription

func (c *counter) Handled(eventType string) {
	c.handled.Add(1)
	c.bus.counters.of(eventType).handled.Add(1)
}

func (c *counter) Failed(eventType string, retried bool) {
	c.failed.Add(1)
	if retried {
		c.retried.Add(1)
		c.bus.counters.of(eventType).retried.Add(1)
	}
}

func (c *counter) Dead(eventType string) {
	c.dead.Add(1)
	c.bus.counters.of(eventType).dead.Add(1)
}

func (c *counter) Abandoned(delta int) { c.abandoned.Add(int64(delta)) }
