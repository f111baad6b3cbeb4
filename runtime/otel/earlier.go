package busotel

import (
	"sync"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/busgen/busgen/runtime/observe"
)

// earlier remembers the spans of attempts that are followed by others, so that these are linked
// to them. It is a comfort: spans that do not fit, and those of before a restart, are forgotten.
type earlier struct {
	mu       sync.Mutex
	now, old map[delivery]trace.SpanContext // the old ones are dropped when there are as many new ones
}

// earlierLimit is how many are in each of the two.
const earlierLimit = 4096

type delivery struct {
	event        uuid.UUID
	subscription string
}

// put remembers the span of an attempt. Names of ephemeral subscriptions are not unique.
func (e *earlier) put(i observe.AttemptInfo, sc trace.SpanContext) {
	if i.Ephemeral || !sc.IsValid() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil || len(e.now) >= earlierLimit {
		e.old, e.now = e.now, map[delivery]trace.SpanContext{}
	}
	e.now[delivery{i.ID, i.Subscription}] = sc
}

// take returns the span of the attempt before this one, if it is known.
func (e *earlier) take(i observe.AttemptInfo) trace.SpanContext {
	if i.Attempt == 1 || i.Ephemeral {
		return trace.SpanContext{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := delivery{i.ID, i.Subscription}
	sc, known := e.now[key]
	if !known {
		sc = e.old[key]
	}
	delete(e.now, key)
	delete(e.old, key)
	return sc
}
