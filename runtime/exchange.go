package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// exchange is what a caller of Request or Collect shares with the handlers that answer.
//
// An answer counts if its attempt succeeds, and not when the handler returns: that may
// have been too late. So it is offered first (turn.returned), and taken when the bus
// counts the success (answerCounter). The caller waits until it has enough answers, or
// until every feed that answers has settled the event.
type exchange struct {
	id    uuid.UUID // of the event
	typ   string
	wants reflect.Type
	first int           // how many answers are enough; 0 for all
	done  chan struct{} // closed when there is nothing to wait for any more

	mu      sync.Mutex
	pending map[string]bool // feeds that have not settled the event
	running map[*dispatch.Attempt]context.CancelCauseFunc
	offers  map[*dispatch.Attempt]any // of handlers that have returned
	answers []answered
	failed  []*AnswerError
	over    bool // done is closed, or the caller has left: no answer is taken any more
	left    bool // the caller has
}

type answered struct {
	subscription string
	value        any
}

// newExchange returns an exchange with the feeds of these names.
func newExchange(id uuid.UUID, typ string, feeds map[string]bool, wants reflect.Type, first int) *exchange {
	return &exchange{
		id: id, typ: typ, wants: wants, first: first, done: make(chan struct{}), pending: feeds,
		running: map[*dispatch.Attempt]context.CancelCauseFunc{}, offers: map[*dispatch.Attempt]any{},
	}
}

// enough returns who has answered, if the caller needs no more answers. The caller holds
// mu.
func (x *exchange) enough() (names string, ok bool) {
	if x.first == 0 || len(x.answers) < x.first {
		return "", false
	}
	all := make([]string, len(x.answers))
	for i, a := range x.answers {
		all[i] = a.subscription
	}
	return strings.Join(all, ", "), true
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
	s *Subscription
}

// begin returns the context for a handler that answers. The error settles the delivery
// without calling the handler: the answer is not needed any more.
func (e *exchanges) begin(a *dispatch.Attempt, s *Subscription) (context.Context, turn, error) {
	x := e.find(a.ID)
	if x == nil {
		return a, turn{}, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if names, ok := x.enough(); ok {
		return nil, turn{}, tooLate(names)
	}
	ctx, cancel := context.WithCancelCause(a)
	x.running[a] = cancel
	return ctx, turn{x, a, s}, nil
}

func tooLate(names string) error { return &dispatch.AnsweredError{Reason: "answered by " + names} }

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
	if names, ok := t.x.enough(); ok {
		return tooLate(names)
	}
	if none {
		return nil
	}
	if err == nil {
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
	t.x.running[t.a](nil)
	delete(t.x.running, t.a)
}

// declines tells whether a handler says that it has no answer. What it asks for beside
// that, such as [Permanent], comes first; and that nobody was there to be asked is a
// failure.
func declines(err error) (ok bool) {
	defer func() { ok = recover() == nil && ok }() // methods of the error are the program's
	var nobody *NoAnswererError
	return err != nil && errors.Is(err, ErrNoAnswer) && !errors.As(err, &nobody) && !dispatch.Steers(err)
}

// answerCounter counts for a subscription that answers.
type answerCounter struct{ *counter }

// Handled implements [dispatch.Counter].
func (c answerCounter) Handled(a *dispatch.Attempt, ended time.Time, staged []engine.Record) {
	c.counter.Handled(a, ended, staged)
	if x := c.bus.exchanges.find(a.ID); x != nil {
		x.take(a, (*Subscription)(c.counter))
	}
}

// take makes an answer of what an attempt that has succeeded has offered.
func (x *exchange) take(a *dispatch.Attempt, s *Subscription) {
	x.mu.Lock()
	defer x.mu.Unlock()
	value, ok := x.offers[a]
	delete(x.offers, a)
	if !ok || x.over {
		return
	}
	if s.answers != x.wants { // it was subscribed after the caller had looked
		x.failed = append(x.failed, &AnswerError{s.name, s.answersOther(x.wants)})
		return
	}
	x.answers = append(x.answers, answered{s.name, value})
	if _, ok := x.enough(); ok {
		x.close()
	}
}

// settled notes that a feed has settled the event, or has failed for good. It reports
// whether nobody needs the exchange any more.
func (x *exchange) settled(feed string, failed *AnswerError) (needless bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.pending[feed] {
		return false
	}
	delete(x.pending, feed)
	if failed != nil && !x.over {
		x.failed = append(x.failed, failed)
	}
	if len(x.pending) > 0 {
		return false
	}
	x.close()
	return x.left
}

// logPatience is how long a caller waits before it asks the log, too, whether the event
// is settled. What the handlers of this process do it hears without that; what an
// operator discards, the log knows.
const logPatience = 100 * time.Millisecond

// wait waits until there is nothing to wait for any more.
func (x *exchange) wait(ctx context.Context, bus *Bus, seq int64) error {
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
		settled, err := bus.log.Outcome(asking, seq)
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

// answersOther is the error for a caller that wants another type.
func (s *Subscription) answersOther(wants reflect.Type) error {
	return &AnswerTypeError{EventType: s.pattern, Subscription: s.name, Answers: s.answers.String(), Wanted: wants.String()}
}

// settledInLog takes over what the log says of an event that all subscriptions have
// settled.
func (x *exchange) settledInLog(bus *Bus, all []engine.Settlement) {
	for _, s := range all {
		var failed *AnswerError
		if s.State == engine.StateDead {
			failed = &AnswerError{s.Subscription, bus.answerFailed(x.id, s.Subscription, s.Error, s.Reason)}
		}
		x.settled(s.Subscription, failed)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.close()
}

// answerFailed returns the error of a dead letter: that of its handler, if there is one.
func (b *Bus) answerFailed(id uuid.UUID, feed, text, reason string) error {
	if err := b.causes.of(causeKey{id, feed}, text); err != nil {
		return err
	}
	if text == "" {
		return fmt.Errorf("the event is a dead letter (%s)", reason)
	}
	return errors.New(text)
}

// stopLosers ends the contexts of handlers whose answers are not needed any more, and
// those of the handlers of what they have published at once.
func (x *exchange) stopLosers(bus *Bus) {
	x.mu.Lock()
	var losers []*dispatch.Attempt
	if _, ok := x.enough(); ok {
		for a, cancel := range x.running {
			cancel(ErrAnswered)
			losers = append(losers, a)
		}
	}
	x.mu.Unlock()
	for _, a := range losers {
		bus.abandon(a, ErrAnswered)
	}
}

// result returns why a wait has ended without enough answers, or nil if all was said.
func (x *exchange) result(err error) error {
	select {
	case <-x.done:
		return nil
	default:
	}
	if err != nil {
		err = fmt.Errorf("waiting for answers to %s %s: %w", x.typ, x.id, err)
	}
	return err
}

// unanswered returns why there is no answer, after all who were asked have settled the
// event.
func (x *exchange) unanswered() error {
	if len(x.failed) > 0 {
		return &AllFailedError{EventType: x.typ, ID: x.id, Failed: x.failed}
	}
	return fmt.Errorf("%s %s: %w", x.typ, x.id, ErrNoAnswer)
}
