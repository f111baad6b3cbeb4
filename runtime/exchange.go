package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// exchange is what a caller of Request or Collect shares with the handlers that answer.
//
// An answer counts if its attempt succeeds, and not when the handler returns: that may
// have been too late. So it is offered first (turn.returned), and taken when the bus
// counts the success (answerCounter). The caller waits until it has enough answers, or
// until every feed that answers has settled the event.
//
// Attempts are settled under their own locks, which is when they take mu. So nobody who
// holds mu calls a method of an attempt, and none of its context, nor code of the program.
type exchange struct {
	id    uuid.UUID // of the event
	typ   string
	first int           // how many answers are enough; 0 for all
	done  chan struct{} // closed when there is nothing to wait for any more

	mu      sync.Mutex
	pending map[string]bool // feeds that were asked and have not settled the event
	running map[*dispatch.Attempt]bool
	offers  map[*dispatch.Attempt]any // of handlers that have returned
	said    *said                     // nil when the caller has left
	enough  string                    // who has answered, once the caller needs no more answers
	over    bool                      // done is closed, or the caller has left: no answer is taken any more
}

// said is what the caller gets. It does not change any more once the caller has left.
type said struct {
	id      uuid.UUID
	typ     string
	answers []ask.Answer[any]
	failed  []*ask.AnswerError
}

func newExchange(id uuid.UUID, typ string, first int) *exchange {
	return &exchange{
		id: id, typ: typ, first: first, done: make(chan struct{}), said: &said{id: id, typ: typ},
		pending: map[string]bool{}, running: map[*dispatch.Attempt]bool{}, offers: map[*dispatch.Attempt]any{},
	}
}

// close says that the caller needs to wait no longer. The caller holds mu.
func (x *exchange) close() {
	if !x.over {
		x.over = true
		close(x.done)
	}
}

// turn is one attempt of a handler that answers. Its exchange is nil if nobody waits for
// the answer.
type turn struct {
	x *exchange
	a *dispatch.Attempt
}

// begin is called before a handler that answers. The error settles the delivery without
// calling the handler: the answer is not needed any more. A feed that has settled the event
// before is not asked: its dead letter is tried again, or the event is replayed.
func (e *exchanges) begin(a *dispatch.Attempt, s *innerSubscription) (turn, error) {
	x := e.find(a.ID)
	if x == nil || a.Replayed {
		return turn{}, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !x.pending[s.feed.name]:
		return turn{}, nil
	case x.enough != "":
		return turn{}, x.tooLate()
	}
	x.running[a] = true
	return turn{x, a}, nil
}

// tooLate returns what a handler's answer means once there are enough. The caller holds mu.
func (x *exchange) tooLate() error { return &errs.AnsweredError{Reason: answeredBy(x.enough)} }

func answeredBy(names string) string { return "answered by " + names }

// returned takes what the handler has returned, and returns what that means for the
// delivery.
func (t turn) returned(value any, err error) error {
	none := declines(err)
	if t.x == nil {
		if none {
			return nil
		}
		return err
	}
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	if t.x.enough != "" {
		return t.x.tooLate()
	}
	if none {
		return nil
	}
	if err == nil && !t.x.over {
		t.x.offers[t.a] = value
	}
	return err
}

// end is called when the handler is back, also by a panic.
func (t turn) end() {
	if t.x == nil {
		return
	}
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	delete(t.x.running, t.a)
}

// declines tells whether a handler says that it has no answer. What it asks for beside
// that, such as [Permanent], comes first; and that nobody was there to be asked is a
// failure.
func declines(err error) (ok bool) {
	defer func() { ok = recover() == nil && ok }() // methods of the error are the program's
	var nobody *ask.NoAnswererError
	own := errs.OwnWords(err)
	return err != nil && errors.Is(own, ask.ErrNoAnswer) && !errors.As(own, &nobody) && !errs.Steers(err)
}

// answerCounter counts for a subscription that answers.
type answerCounter struct{ *counter }

// Handled implements [dispatch.Counter].
func (c answerCounter) Handled(a *dispatch.Attempt, staged []engine.Record) {
	c.counter.Handled(a, staged)
	if x := c.bus.exchanges.find(a.ID); x != nil {
		x.take(a, c.name)
	}
}

// take makes an answer of what an attempt that has succeeded has offered.
func (x *exchange) take(a *dispatch.Attempt, subscription string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	value, ok := x.offers[a]
	delete(x.offers, a)
	if !ok || x.over {
		return
	}
	x.said.answers = append(x.said.answers, ask.Answer[any]{Subscription: subscription, Value: value})
	if len(x.said.answers) == x.first {
		all := make([]string, x.first)
		for i, one := range x.said.answers {
			all[i] = one.Subscription
		}
		x.enough = strings.Join(all, ", ")
		x.close()
	}
}

// settled notes that a feed has settled the event, or has failed for good. It reports
// whether nobody needs the exchange any more.
func (x *exchange) settled(feed string, failed *ask.AnswerError) (needless bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.pending[feed] {
		return false
	}
	delete(x.pending, feed)
	if failed != nil && !x.over {
		x.said.failed = append(x.said.failed, failed)
	}
	if len(x.pending) > 0 {
		return false
	}
	x.close()
	return x.said == nil
}

// leave is called when the caller waits no longer, once or twice. It reports whether that
// is news, and whether handlers that have not begun still need to know of the exchange.
func (x *exchange) leave() (first, keep bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.said == nil {
		return false, false
	}
	x.said, x.over = nil, true // what is kept has no answers
	clear(x.offers)
	return true, x.enough != "" && len(x.pending) > 0
}

// logPatience is how long a caller waits before it asks the log, too, whether the event
// is settled. What the handlers of this process do it hears without that; what an
// operator discards, the log knows.
const logPatience = 100 * time.Millisecond

// wait waits until there is nothing to wait for any more.
func (x *exchange) wait(ctx context.Context, bus *innerBus, seq int64) error {
	timer := time.NewTimer(logPatience)
	defer timer.Stop()
	select {
	case <-x.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	asking, end := context.WithCancel(ctx)
	defer end()
	asked := make(chan error, 1)
	go func() {
		settled, err := bus.outcome(asking, x.id, seq)
		if err == nil {
			x.settledInLog(bus, settled)
		}
		asked <- err
	}()
	select {
	case <-x.done:
		return nil
	case err := <-asked:
		return public(err)
	}
}

// settledInLog takes over what the log says of an event that all subscriptions have
// settled.
func (x *exchange) settledInLog(bus *innerBus, all []engine.Settlement) {
	for _, s := range all {
		var failed *ask.AnswerError
		switch {
		case s.State == event.StateDead:
			failed = &ask.AnswerError{Subscription: s.Subscription, Err: bus.answerFailed(x.id, s.Subscription, s.Error, s.Reason)}
		case s.Cancelled():
			failed = cancelledAnswer(x.id, s.Subscription)
		}
		x.settled(s.Subscription, failed)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.close()
}

// answerFailed returns the error of a dead letter: that of its handler, if there is one.
func (b *innerBus) answerFailed(id uuid.UUID, feed, text, reason string) error {
	cause := b.causes.of(causeKey{id, feed}, text)
	if text == "" {
		text = fmt.Sprintf("the event is a dead letter (%s)", reason)
	}
	return errs.NewHandlerError(text, cause)
}

// cancelledAnswer says that the event was cancelled before a subscription had answered.
func cancelledAnswer(id uuid.UUID, name string) *ask.AnswerError {
	return &ask.AnswerError{Subscription: name, Err: &CancelledError{ID: id, Subscriptions: []string{name}}}
}

// stopLosers ends the contexts of handlers whose answers are not needed any more, and
// those of the handlers of what they have published at once.
func (x *exchange) stopLosers(bus *innerBus) {
	x.mu.Lock()
	enough := x.enough
	losers := slices.Collect(maps.Keys(x.running))
	x.mu.Unlock()
	if enough == "" {
		return
	}
	losers = slices.DeleteFunc(losers, func(a *dispatch.Attempt) bool {
		return !a.Lose(ask.ErrAnswered, answeredBy(enough)) // it was over before, as one of the winner that has timed out
	})
	for _, a := range losers {
		bus.abandon(a, ask.ErrAnswered)
	}
}

// result returns why a wait with ctx has ended without enough answers, or nil if all was
// said, or the time for it is over.
func (x *exchange) result(ctx context.Context, err error) error {
	select {
	case <-x.done:
		return nil
	default:
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == errEnough {
		return nil
	}
	return fmt.Errorf("waiting for answers to %s %s: %w", x.typ, x.id, err)
}

// errorsAnd joins the errors of those who have failed for good, and err.
func (s *said) errorsAnd(err error) error {
	var errs []error
	for _, one := range s.failed {
		errs = append(errs, one)
	}
	return errors.Join(append(errs, err)...)
}

// nothing returns why there is no answer, after all who were asked have settled the event.
func (s *said) nothing() error {
	if len(s.failed) > 0 {
		return &ask.AllFailedError{EventType: s.typ, ID: s.id, Failed: s.failed}
	}
	return fmt.Errorf("%s %s: %w", s.typ, s.id, ask.ErrNoAnswer)
}

// exchanges are those of a bus that handlers may still ask for, by the id of their event:
// those whose callers wait, and those whose callers have their answers while others have
// not settled the event.
type exchanges struct {
	mu   sync.Mutex
	of   map[uuid.UUID]*exchange
	kept []uuid.UUID // a ring of those whose callers have their answers
	next int         // the oldest of a full ring
}

// exchangesKept is for how many answered events the bus remembers that the deliveries
// that have not begun are not needed any more, so that memory does not grow with a
// backlog. Those of older events are handled.
const exchangesKept = 1 << 14

// find returns the exchange of an event, or nil.
func (e *exchanges) find(id uuid.UUID) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of[id]
}

// open makes handlers find an exchange, before its event is published. Who is unsubscribed
// after that is reported to gone.
func (e *exchanges) open(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[uuid.UUID]*exchange{}
	}
	e.of[x.id] = x
}

// leave is called when the caller waits no longer, once or twice. If it has enough
// answers, the exchange stays for the handlers that have not begun; else the event is
// handled as if nobody had asked.
func (e *exchanges) leave(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	news, keep := x.leave()
	if !news {
		return
	}
	if !keep {
		delete(e.of, x.id)
		return
	}
	if len(e.kept) < exchangesKept {
		e.kept = append(e.kept, x.id)
		return
	}
	delete(e.of, e.kept[e.next])
	e.kept[e.next] = x.id
	e.next = (e.next + 1) % exchangesKept
}

// settled is called for each disposition of a feed that answers.
func (e *exchanges) settled(f *feed, id uuid.UUID, v engine.Disposition) {
	x := e.find(id)
	if x == nil {
		return
	}
	var failed *ask.AnswerError
	if v.Kind == engine.Dead {
		name, text := f.name, ""
		if v.Attempt != nil {
			name, text = cmp.Or(v.Attempt.Member, f.name), v.Attempt.Error
		}
		failed = &ask.AnswerError{Subscription: name, Err: f.bus.answerFailed(id, f.name, text, v.Reason)}
	} else if v.Kind == engine.Discard && v.Reason == engine.ReasonCancelled {
		failed = cancelledAnswer(id, f.name)
	}
	if ledger.Settles(v.Kind) { // else it comes again
		e.close(x, f.name, failed)
	}
}

// close notes that a feed has settled the event of an exchange, or never will.
func (e *exchanges) close(x *exchange, feed string, failed *ask.AnswerError) {
	if x.settled(feed, failed) {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.of, x.id)
	}
}

// errUnsubscribed is why nobody waits any longer for the answers of a feed.
var errUnsubscribed = errors.New("it was unsubscribed before it had answered; the event stays pending for it")

// gone is called when a feed was unsubscribed.
func (e *exchanges) gone(f *feed) {
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.of))
	e.mu.Unlock()
	for _, x := range all {
		e.close(x, f.name, &ask.AnswerError{Subscription: f.name, Err: errUnsubscribed})
	}
}
