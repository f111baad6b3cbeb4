package runtime

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// PublishOption tunes one call of a Publish function.
type PublishOption func(*publishConfig)

type publishConfig struct {
	metadata  map[string]string
	dedupeKey string
	due       time.Time
	own       queue.Own
	problem   error // the first option that is not valid

	immediately bool
	unkeyed     bool // the event type's DedupeBy does not apply
}

// WithMetadata attaches texts that are not part of the payload, such as a
// tenant or a trace id. Handlers find them in [Event]. Given twice, the later
// value of a key wins. Keys and values are valid UTF-8. The keys parent_id, published_by,
// hops, busgen.priority, busgen.timeout, busgen.expires_after, busgen.schedule and
// busgen.scheduled_for are the bus's own, and refused with an *[OptionError]. Events that a handler
// publishes with its context take traceparent and tracestate (W3C Trace Context) over from
// the event it handles, unless they are given a traceparent.
func WithMetadata(metadata map[string]string) PublishOption {
	return func(c *publishConfig) {
		if key := ownKey(metadata); key != "" {
			c.refuse(&OptionError{"WithMetadata", fmt.Sprintf("the key %q is written by the bus itself: use another one", key)})
			return
		}
		if c.metadata == nil {
			c.metadata = make(map[string]string, len(metadata))
		}
		for key, value := range metadata {
			c.metadata[key] = value
		}
	}
}

// WithCorrelationID marks events that belong to the same piece of work. It is
// metadata under [event.CorrelationKey]; handlers find it in [Event].CorrelationID.
// Events that a handler publishes with its context have the correlation id of
// the event it handles, or the id of that event if it has none, unless they are
// given another.
func WithCorrelationID(id string) PublishOption {
	return WithMetadata(map[string]string{event.CorrelationKey: id})
}

// WithDedupeKey makes publishing idempotent: an event of the same type and key
// that was stored within the window of the bus ([WithDedupeWindow], 24 hours by
// default) is not stored again. The receipt is then that of the first event, and
// its Duplicate is true. The same key with another payload is a
// *[event.ConflictError], unless the two are of different versions, which cannot be
// compared. Payloads are the same if their values are: by their JSON, whatever the order of
// its keys, or by [Equal]. The key is free again when the first event is cancelled, and when
// a dead letter of it is discarded or edited. The n-th event of a batch has the key with #n behind it, so
// that publishing the batch again stores nothing.
//
// The key is 1 to 200 bytes of UTF-8. It takes the place of the one that an event type
// has by its DedupeBy ([Spec]).
//
// With a handler's context the key is looked up at once, in the file and among what this
// attempt has published before: the receipt of a duplicate is that of the first event, and
// a conflict is an error as outside of handlers. It is looked up again when the event is
// stored with the handler's success. If another event has got the key by then, this one is
// dropped, because the handler cannot be told any more: in silence if the payload is the
// same, and with an error in the log that names both events if it is not. An attempt that
// fails leaves no key behind.
func WithDedupeKey(key string) PublishOption {
	return func(c *publishConfig) {
		if key == "" || len(key) > keyLimit || !utf8.ValidString(key) {
			c.refuse(&OptionError{"WithDedupeKey", fmt.Sprintf("the key %.40q is not 1 to 200 bytes of UTF-8", key)})
			return
		}
		c.dedupeKey = key
	}
}

// WithDelay stores the event now and delivers it d later. The due time is stored
// with it: it survives restarts, and follows the wall clock. Subscriptions that
// are made after the event was published do not get it, unless from the
// beginning. A delay that is not positive is none.
func WithDelay(d time.Duration) PublishOption {
	return func(c *publishConfig) {
		if d > 0 {
			c.due = time.Now().Add(d)
		}
	}
}

// WithPublishAt is [WithDelay] until the given time. A time that has passed is
// no delay. One after the year 9999 is refused with an *[OptionError].
func WithPublishAt(at time.Time) PublishOption {
	return func(c *publishConfig) {
		if at.UTC().Year() > lastYear {
			c.refuse(&OptionError{"WithPublishAt", fmt.Sprintf("the year %d is after %d", at.UTC().Year(), lastYear)})
			return
		}
		if time.Until(at) > 0 {
			c.due = at
		}
	}
}

// WithPriority gives one event another priority than its type has, in all subscriptions.
// An unknown priority is refused with an *[OptionError].
func WithPriority(p Priority) PublishOption {
	return func(c *publishConfig) {
		said := queue.Priority(p)
		if !said.Valid() {
			c.refuse(&OptionError{"WithPriority", fmt.Sprintf("%d is none of the priorities: use a constant, such as PriorityHigh", int(p))})
			return
		}
		c.own.Priority = &said
	}
}

// WithAttemptTimeout limits how long one attempt at this event may take, in all
// subscriptions. It can only shorten what the catalogue and [WithTimeout] allow: the
// shorter limit holds. d must be positive, or Publish returns an *[OptionError].
func WithAttemptTimeout(d time.Duration) PublishOption {
	return func(c *publishConfig) { c.limit("WithAttemptTimeout", &c.own.Timeout, d) }
}

// WithExpiry lets the event expire d after its publication, or after its due time if it is
// delayed. What is not handled by then becomes a dead letter with the reason expired, as
// with the setting expires_after ([declare.Settings].ExpiresAfter). Of the two the shorter one
// holds. d must be positive, or Publish returns an *[OptionError].
func WithExpiry(d time.Duration) PublishOption {
	return func(c *publishConfig) { c.limit("WithExpiry", &c.own.ExpiresAfter, d) }
}

// limit sets a limit that an option gives.
func (c *publishConfig) limit(option string, limit *time.Duration, d time.Duration) {
	if d <= 0 {
		c.refuse(&OptionError{option, fmt.Sprintf("the time %v is not positive", d)})
		return
	}
	*limit = d
}

// lastYear is the last one that texts of times have four digits for. The file could
// keep some more.
const lastYear = 9999

func (c *publishConfig) refuse(problem error) {
	if c.problem == nil {
		c.problem = problem
	}
}

// addTo sets what the storage needs to know about the i-th of n events.
func addTo(r *engine.Record, c *publishConfig, i, n int, window time.Duration) {
	r.Due = c.due
	if c.dedupeKey == "" {
		return
	}
	key := c.dedupeKey
	if n > 1 {
		key = fmt.Sprintf("%s#%d", key, i)
	}
	r.Dedupe = &engine.Dedupe{Key: key, Expires: r.CreatedAt.Add(window)}
}
