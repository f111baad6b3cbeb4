package runtime

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

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
