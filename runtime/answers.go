package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// AnswerHandler handles one event and answers it. It is a [Handler] in everything but its
// result: with a nil error the event is handled and the value is the answer, whatever the
// value is: 0, false, "" and nil are answers. A handler that has none returns
// [ask.ErrNoAnswer]: the event is handled, and the caller goes on waiting for others. Any
// other error means failed: the event is tried again by its retry policy, and a later
// attempt may answer.
//
// An answer with a Validate method, as generated structs, enums and unions have, must be
// valid, or else the attempt has failed with an *[ask.InvalidAnswerError]. What is in lists
// and maps is not checked.
//
// ctx ends like that of a Handler. It also ends, with the cause [ask.ErrAnswered], when the
// caller has got the answers that it wants from other handlers. What the handler returns
// then is ignored: its delivery is discarded, with a reason that names who has answered,
// and what it has published with ctx is not stored. If it panics or outlives its time
// instead, that does not count as a failure.
type AnswerHandler[T, R any] func(ctx context.Context, e Event[T]) (R, error)

// SubscribeAnswer calls handler for every event of one type, and hands its results to
// those who ask with [Request] or [Collect]. Generated code has a typed function for each
// event type with a result, Answer<Event>, which calls this one.
//
// It is a subscription like any other: durable, retried, dead-lettered, with the same
// options and errors as [Subscribe]. An event that was published without asking is
// handled too, and so is one whose caller has gone or has died; the answer is dropped
// then. Events are not handled if somebody else has answered before; see [Request].
//
// In a group ([InGroup]) the members are asked one after the other until the caller has
// got what it wants; the members after that are skipped, apart from those that are no
// answering ones.
func SubscribeAnswer[T Payload, R any](bus *Bus, t *EventType[T], name string, handler AnswerHandler[T, R], opts ...SubscribeOption) (*Subscription, error) {
	given := any(handler) // see eventType
	return subscribeAnswer(bus, t.of, name, handler == nil, pointedTo((*R)(nil)), func(ctx context.Context, h Head, payload any) (any, error) {
		return given.(AnswerHandler[T, R])(ctx, typed[T](h, payload))
	}, opts)
}

// answering is an [AnswerHandler] in terms that do not depend on its types.
type answering func(ctx context.Context, h Head, payload any) (any, error)

func subscribeAnswer(bus *Bus, of AnyEventType, name string, none bool, answers reflect.Type, handler answering, opts []SubscribeOption) (*Subscription, error) {
	t := of.(*eventType)
	s := &innerSubscription{bus: busOf(bus), name: name, pattern: t.spec.Name, answers: answers}
	if none {
		return s.subscribe(nil, nil, opts)
	}
	checked := func(ctx context.Context, h Head, payload any) (any, error) {
		value, err := handler(ctx, h, payload)
		if err == nil {
			err = checkAnswer(t.spec.Name, value)
		}
		return value, err
	}
	handle := func(a *dispatch.Attempt) error {
		if a.Type != t.spec.Name {
			return s.mismatch(a.Type)
		}
		turn, err := s.bus.exchanges.begin(a, s)
		if err != nil {
			return err
		}
		defer turn.end()
		payload, err := t.decodeFor(a, (*eventType).decodeShared)
		if err != nil {
			return err
		}
		if s.around != nil {
			value, err := answerAround(a, s, t.takeOut(payload))
			return turn.returned(value, err)
		}
		value, err := checked(a.Given(), newHead(a, name), payload)
		t.give(payload)
		return turn.returned(value, err)
	}
	return s.subscribe(handle, innermost(s, t.of, t.unboxed(keepAnswer(checked))), opts)
}

// given is what a handler has answered, for who has called it through middleware.
type given struct {
	value any
	ok    bool
}

type givenKey struct{}

// answerAround calls the handler through its middleware.
func answerAround(a *dispatch.Attempt, s *innerSubscription, payload any) (value any, err error) {
	var answer given
	err = s.around(context.WithValue(a.Given(), givenKey{}, &answer), eventOf(a, s.name, payload))
	if err == nil && !answer.ok {
		err = ask.ErrNoAnswer // the middleware says that the event is handled
	}
	return answer.value, err
}

// keepAnswer is what the middleware of an answering subscription is around.
func keepAnswer(handler answering) typedHandler {
	return func(ctx context.Context, h Head, payload any) error {
		value, err := handler(ctx, h, payload)
		if answer, _ := ctx.Value(givenKey{}).(*given); err == nil && answer != nil {
			*answer = given{value, true}
		}
		return err
	}
}

// checkAnswer calls the Validate method of an answer, if it has one.
func checkAnswer(eventType string, value any) error {
	answer, ok := value.(Payload)
	if v := reflect.ValueOf(value); !ok || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	if err := answer.Validate(); err != nil {
		return &ask.InvalidAnswerError{EventType: eventType, Err: err}
	}
	return nil
}

// Request publishes an event and returns the first answer to it, by time, of the
// subscriptions of this bus that answer such events ([SubscribeAnswer]). Generated code
// has a typed function for each event type with a result, Request<Event>, which calls
// this one.
//
// The event is an event like any other: it is on disk before a handler sees it,
// subscriptions that do not answer handle it too, and nobody waits for them. With the
// first answer the others that answer are not needed any more: the contexts of handlers
// that run end with the cause [ask.ErrAnswered], and deliveries that have not begun are
// discarded without calling their handlers; the reason is "answered by NAME".
//
// Request waits for retries, and for subscriptions that are paused or whose circuit
// breaker is open, as long as ctx allows: give it a deadline. If ctx ends first, its
// error is returned and the event stays: it is handled as if nobody had asked. Answers
// are not stored and do not travel between processes: a caller that has died gets none,
// and the bus must be the one that dispatches.
//
// In a handler of this bus, the event is published at once, as by [Immediately], and the
// handler's worker is lent to the answering handlers while Request waits, as in
// [Receipt.Wait]: a handler may ask its own subscription.
//
// The options are those of [Publish] except for [WithDedupeKey], which is refused with an
// *[OptionError]: an event that was handled before is not answered again. For the same reason
// the event has no key by the DedupeBy of its type ([Spec]). Errors, apart
// from those of Publish:
//
//   - *[ask.NoAnswererError]: no subscription of this bus answers such events. Nothing was published.
//   - [ask.ErrNoAnswer]: everybody who was asked has handled the event and had no answer. A
//     *NoAnswererError matches it, too.
//   - *[ask.AllFailedError]: nobody has answered, and at least one has failed for good. [errors.Is] and
//     [errors.As] find the handlers' errors.
//   - [ask.ErrNotDispatching]: the bus is not started. Nothing was published.
//   - *[ask.AnswerTypeError]: a subscription answers with another type than R. Nothing was published.
//   - [ErrShutdown]: the bus was shut down before there was an answer. The event is handled after the
//     next start.
func Request[R any, T Payload](ctx context.Context, bus *Bus, t *EventType[T], payload T, opts ...PublishOption) (R, error) {
	value, err := request(ctx, bus, t.of, boxed(t.of, payload), pointedTo((*R)(nil)), opts)
	answer, _ := value.(R) // a nil interface is the zero value
	return answer, err
}

// request returns the first answer, which is of the type that the caller wants.
func request(ctx context.Context, bus *Bus, of AnyEventType, payload any, wants reflect.Type, opts []PublishOption) (answer any, err error) {
	said, err := question(ctx, bus, of, payload, wants, &collectConfig{publish: opts, first: 1})
	if said != nil && len(said.answers) > 0 {
		return said.answers[0].Value, nil
	}
	if err == nil {
		err = said.nothing()
	}
	return nil, err
}

// Collect publishes an event and returns all answers to it, in the order in which they
// came. It waits until every subscription of this bus that answers such events has
// settled the event, or until it has as many answers as [FirstAnswers] asks for, or until
// the time of [AnswersWithin] or [AnswersUntil] has come. In all else it is [Request].
//
// The error joins an *[ask.AnswerError] for each subscription that has failed for good; the
// answers of the others are returned beside it. Nobody having an answer is no error. If
// ctx ends, its error is among them.
func Collect[R any, T Payload](ctx context.Context, bus *Bus, t *EventType[T], payload T, opts ...CollectOption) ([]ask.Answer[R], error) {
	all, err := collect(ctx, bus, t.of, boxed(t.of, payload), pointedTo((*R)(nil)), opts)
	if all == nil {
		return nil, err
	}
	answers := make([]ask.Answer[R], len(all))
	for i, a := range all {
		answers[i].Subscription = a.Subscription
		answers[i].Value, _ = a.Value.(R) // a nil interface is the zero value
	}
	return answers, err
}

// collect returns all answers, which are of the type that the caller wants; nil if nothing was published.
func collect(ctx context.Context, bus *Bus, of AnyEventType, payload any, wants reflect.Type, opts []CollectOption) ([]ask.Answer[any], error) {
	c, err := collectConfigOf(opts)
	if err != nil {
		return nil, err
	}
	said, err := question(ctx, bus, of, payload, wants, c)
	if said == nil {
		return nil, err
	}
	return append([]ask.Answer[any]{}, said.answers...), said.errorsAnd(err)
}

// collectConfigOf returns what the options of a Collect say, or the first that is not valid.
func collectConfigOf(opts []CollectOption) (*collectConfig, error) {
	var c collectConfig
	for i, opt := range opts {
		if isNil(opt) {
			return nil, nilOption(i)
		}
		opt.collect(&c)
	}
	return &c, c.problem
}

// errEnough is why the wait of a Collect ends at its time.
var errEnough = errors.New("the time for answers is over")

// CollectOption tunes one call of [Collect]. Every [PublishOption] is one.
type CollectOption interface{ collect(*collectConfig) }

type collectConfig struct {
	publish []PublishOption
	first   int           // 0 for all
	within  time.Duration // since the event was stored; 0 for no limit
	until   time.Time     // zero for no limit
	problem error         // the first option that is not valid
}

// wait returns the context for waiting, from now on.
func (c *collectConfig) wait(ctx context.Context) (context.Context, context.CancelFunc) {
	at := c.until
	if c.within > 0 {
		if end := time.Now().Add(c.within); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	if at.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, at, errEnough)
}

func (o PublishOption) collect(c *collectConfig) { c.publish = append(c.publish, o) }

type collectOption func(*collectConfig)

func (o collectOption) collect(c *collectConfig) { o(c) }

// isNil tells whether an option is nil, or a nil function.
func isNil(o CollectOption) bool { return o == nil || reflect.ValueOf(o).IsNil() }

// FirstAnswers ends a [Collect] as soon as there are n answers, at least 1. Handlers that
// are still at work are ended as by [Request]. The default is to wait for all.
func FirstAnswers(n int) CollectOption {
	return collectOption(func(c *collectConfig) {
		if c.first = n; n < 1 {
			c.refuse("FirstAnswers", fmt.Sprintf("%d answers are less than 1", n))
		}
	})
}

// AnswersWithin ends a [Collect] after d, with the answers that have come by then and no
// error for the others. They go on: the event is theirs to handle, and only their answers
// come too late. The time begins when the event is stored: however long that takes, the
// handlers have d. A limit for the whole call is a deadline of ctx. A d that is not
// positive is refused with an *[OptionError].
func AnswersWithin(d time.Duration) CollectOption {
	return collectOption(func(c *collectConfig) {
		if c.within = d; d <= 0 {
			c.refuse("AnswersWithin", fmt.Sprintf("the time %v is not positive", d))
		}
	})
}

// AnswersUntil is [AnswersWithin] until the given time, which must lie in the future. If it
// has come before the event is stored, there are no answers, and no error either. With
// both options the earlier time holds.
func AnswersUntil(at time.Time) CollectOption {
	return collectOption(func(c *collectConfig) {
		if c.until = at; time.Until(at) <= 0 {
			c.refuse("AnswersUntil", fmt.Sprintf("%v has passed", at))
		}
	})
}

func (c *collectConfig) refuse(option, problem string) {
	if c.problem == nil {
		c.problem = &OptionError{option, problem}
	}
}

// question publishes an event and waits for its answers. What was said is nil if nothing was
// published.
func question(ctx context.Context, to *Bus, of AnyEventType, payload any, wants reflect.Type, c *collectConfig) (*said, error) {
	t, bus := of.(*eventType), busOf(to)
	attempt, opts := bus.attemptOf(ctx), c.publish
	deny := func(err error) (*said, error) { return nil, refused(to, 1, err) }
	if attempt != nil && attempt.Batch() != nil {
		return nil, ErrBatchWait
	}
	if attempt != nil {
		opts = append(slices.Clip(opts), Immediately())
	}
	batch, err := newBatch(ctx, bus, nil, t.spec.Name, t.spec.Version, 1, opts)
	if err != nil {
		return deny(err)
	}
	defer batch.free()
	batch.config.unkeyed = true
	if batch.config.dedupeKey != "" {
		return deny(batch.over(&OptionError{"WithDedupeKey", "a request cannot have a dedupe key: an event that was handled before is not answered again"}))
	}
	if err := encode(ctx, batch, t, 0, payload); err != nil {
		return deny(batch.over(err))
	}
	t.give(payload)
	x := newExchange(batch.records[0].ID, t.spec.Name, c.first)
	if err := bus.open(x, wants); err != nil {
		return deny(batch.over(err))
	}
	defer bus.exchanges.leave(x)
	said := x.said
	if err := batch.append(ctx); err != nil {
		return deny(batch.over(err))
	}
	batch.over(nil)
	seq := batch.records[0].Seq
	ctx, end := c.wait(ctx)
	defer end()
	wait := func(ctx context.Context) error {
		err := x.wait(ctx, bus, seq)
		bus.exchanges.leave(x)
		x.stopLosers(bus) // before the worker is taken back, which may be lent to one of them
		return err
	}
	if attempt != nil {
		err = bus.lend(ctx, attempt, seq, wait)
	} else {
		err = wait(ctx)
	}
	return said, x.result(ctx, err)
}

// open opens an exchange with the subscriptions of this bus that answer events of its
// type, with the type that the caller wants.
func (b *innerBus) open(x *exchange, wants reflect.Type) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.state {
	case running:
	case stopping:
		return ErrShutdown
	default:
		return ask.ErrNotDispatching
	}
	for _, s := range b.subscriptions {
		if s.answers == nil || s.pattern != x.typ || s.feed.detached != nil {
			continue
		}
		if s.answers != wants {
			return &ask.AnswerTypeError{EventType: x.typ, Subscription: s.name, Answers: s.answers.String(), Wanted: wants.String()}
		}
		x.pending[s.feed.name] = true
	}
	if len(x.pending) == 0 {
		return &ask.NoAnswererError{EventType: x.typ}
	}
	b.exchanges.open(x) // under mu: who is unsubscribed from now on finds it
	return nil
}
