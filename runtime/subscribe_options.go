package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// SubscribeOption tunes a subscription.
type SubscribeOption func(*subscribeConfig) error

type subscribeConfig struct {
	own           declare.Override // over what the catalogue says
	rules         []errorRule
	middleware    []Middleware
	group         string
	groupAliases  []string
	aliases       []string
	fromBeginning bool
	ephemeral     bool
	elsewhere     bool // its success is stored in another database, too
	maxSteps      int  // 0 for the default
	stepLimit     int  // bytes; 0 for the default
	undoOnDeath   bool
}

// WithRetry overrides single fields of the retry policy for this
// subscription; the others keep what the catalogue says for the event type.
func WithRetry(overrides ...retry.Option) SubscribeOption {
	return func(c *subscribeConfig) error {
		c.own.Retry = append(c.own.Retry, overrides...)
		return nil
	}
}

// WithTimeout sets how long one attempt may take in this subscription, instead
// of what the catalogue says for the event type. It must be positive; see [WithoutTimeout].
func WithTimeout(d time.Duration) SubscribeOption {
	return func(c *subscribeConfig) error {
		if d <= 0 {
			return fmt.Errorf("the timeout %v is not positive", d)
		}
		c.own.Timeout = &d
		return nil
	}
}

// WithoutTimeout lets an attempt in this subscription take as long as it likes, as
// timeout: off does in the catalogue.
//
// A handler that hangs then keeps its place, and its partition key, until the bus is shut
// down: at the end of the shutdown timeout its context ends, and if it ignores that for a
// second it counts as a failed attempt. After a crash, no other handler begins as long as
// one that may have caused the crash runs. A handler without a timeout should end by itself,
// and is worth a [WithSlowAfter]. ExpiresAfter still ends it, if the event type has that.
func WithoutTimeout() SubscribeOption {
	return func(c *subscribeConfig) error {
		c.own.Timeout = new(time.Duration)
		return nil
	}
}

// WithSlowAfter sets how long an attempt may take before it is logged as slow, and [observe.Observer].Slow is called; 0
// for never. The default is that of the event type, 10 s unless the catalogue
// says otherwise.
func WithSlowAfter(d time.Duration) SubscribeOption {
	return func(c *subscribeConfig) error {
		if d < 0 {
			return fmt.Errorf("the time %v after which a handler is slow is negative", d)
		}
		c.own.SlowAfter = &d
		return nil
	}
}

// WithExpiresAfter sets how long after its publication an event may still be
// tried in this subscription; 0 for no limit. See [declare.Settings].
func WithExpiresAfter(d time.Duration) SubscribeOption {
	return func(c *subscribeConfig) error {
		if d < 0 {
			return fmt.Errorf("the time %v after which events expire is negative", d)
		}
		c.own.ExpiresAfter = &d
		return nil
	}
}

// WithMaxSnoozes sets how often a handler of this subscription may put one event
// off ([Snooze]); 0 for no limit. See [declare.Settings].
func WithMaxSnoozes(n int) SubscribeOption {
	return func(c *subscribeConfig) error {
		if n < 0 {
			return fmt.Errorf("the limit of %d snoozes is negative", n)
		}
		c.own.MaxSnoozes = &n
		return nil
	}
}

// WithMaxSteps sets how many steps (package step) a handler of this subscription may do for one event, from 1 to 100,000. The
// default is 1,000. The next one makes the event a dead letter, with reason max_steps: so a loop ends that makes new
// names for ever.
func WithMaxSteps(n int) SubscribeOption {
	return func(c *subscribeConfig) error {
		if n < 1 || n > 100_000 {
			return fmt.Errorf("a limit of %d steps is not within 1 to 100000", n)
		}
		c.maxSteps = n
		return nil
	}
}

// WithUndoOnDeath has the steps of an event undone (package step) before it becomes a dead letter, for whatever reason: as if the
// handler had returned step.Rollback. The reason of the dead letter is undone then, and its error says what it has died of. An event
// without a step that has an undo function is dead as ever. In a group it holds for all members.
func WithUndoOnDeath() SubscribeOption {
	return func(c *subscribeConfig) error {
		c.undoOnDeath = true
		return nil
	}
}

// WithStepLimit sets how many bytes the result of a step (package step) may have as JSON, from 1 KiB to 16 MiB. The default
// is 256 KiB. All results of an event may have 16 times as many together. A result that is larger is lost: the event becomes
// a dead letter at once, and the step is not done again.
func WithStepLimit(bytes int) SubscribeOption {
	return func(c *subscribeConfig) error {
		if bytes < 1<<10 || bytes > 16<<20 {
			return fmt.Errorf("a limit of %d bytes for the result of a step is not within 1 KiB to 16 MiB", bytes)
		}
		c.stepLimit = bytes
		return nil
	}
}

// WithBreaker overrides single fields of the circuit breaker of this
// subscription. A subscription by pattern whose event types have different
// breakers starts from the default one.
func WithBreaker(overrides ...breaker.Option) SubscribeOption {
	return func(c *subscribeConfig) error {
		c.own.Breaker = append(c.own.Breaker, overrides...)
		return nil
	}
}

// WithConcurrency lets up to n handlers of this subscription run at once, from
// 1 to 1024. The default is that of the event type: 1 unless the catalogue says
// otherwise, and for a subscription by pattern the smallest of its types, so that no type
// loses an order that its catalogue gives it. With 1, events are handled one by one in the
// order of the log. With more, events whose type has a partition_by keep that order
// within each key, one at a time, and the others have none.
func WithConcurrency(n int) SubscribeOption {
	return func(c *subscribeConfig) error {
		if n < 1 || n > format.MaxConcurrency {
			return fmt.Errorf("a concurrency of %d is not within 1 to %d", n, format.MaxConcurrency)
		}
		c.own.Concurrency = &n
		return nil
	}
}

// WithStrictOrder makes a failing event hold back the later ones of its partition
// key until it is settled: handled, or dead-lettered after its last retry. Events
// whose type has no partition_by hold back each other. Other keys go on, as long
// as no more than 256 events are held back; then the subscription waits.
//
// The order is that of first attempts: delayed events, and dead letters
// that are retried by hand, are exempt from it.
//
// The default is that of the event type: none unless the catalogue has a strict_order. See
// [WithoutStrictOrder].
func WithStrictOrder() SubscribeOption {
	return func(c *subscribeConfig) error {
		c.own.StrictOrder = new(true)
		return nil
	}
}

// WithoutStrictOrder lets the later events of a key go on while one waits for a retry, also if
// the catalogue says strict_order. A subscription by pattern may need it: without it, it has a
// strict order if one of its event types has. In a group, a strict order of another member holds
// all the same.
func WithoutStrictOrder() SubscribeOption {
	return func(c *subscribeConfig) error {
		c.own.StrictOrder = new(bool)
		return nil
	}
}

// FromBeginning makes a subscription whose name is new start with the oldest
// event in the file instead of the next one. A name that is known goes on where
// it was, with or without this option.
func FromBeginning() SubscribeOption {
	return func(c *subscribeConfig) error {
		c.fromBeginning = true
		return nil
	}
}

// InGroup makes the subscription a member of a group. The members of a group
// share one delivery of each event: they handle it one after the other, in the
// order in which they were subscribed, those that are for its type. The first
// that fails ends the run, and the retry resumes with it; those before it do not
// run again.
//
// The group is what the file remembers, under the group's name: it is paused,
// listed and dead-lettered as one subscription. Its retry policy is the most
// permissive merge of what its members override with [WithRetry] (see
// [retry.Policy.MostPermissive]); timeouts, error rules and breakers are each
// member's own. A member whose breaker is open is passed over, and the event
// comes back for it. [WithConcurrency], [WithStrictOrder] and [FromBeginning] of
// one member hold for the group. If no member has WithConcurrency, the group has the
// smallest concurrency that the catalogue gives to one of its event types. What the catalogue
// gives to a member that differs from its event type counts as if it were an option.
//
// The members are subscribed before the bus is started. Unsubscribing one
// detaches the whole group: its events wait in the file.
//
// The catalogue can declare a group and its members; this option is then not needed, and
// with another group it is an error. Nobody else can join a declared group.
//
// A group that is renamed keeps what was left to it if the first member that is
// subscribed names what the group was called before, as with [WithAliases].
func InGroup(name string, aliases ...string) SubscribeOption {
	return func(c *subscribeConfig) error {
		for _, one := range append([]string{name}, aliases...) {
			if problem := nameProblem(one); problem != "" {
				return fmt.Errorf("the group %q: %s", one, problem)
			}
		}
		c.group, c.groupAliases = name, aliases
		return nil
	}
}

// WithAliases names what the subscription was called before. What the file has under
// such a name (its place in the log, what waits for a retry, its dead letters, a
// pause) belongs to the new name from then on. A program that only knows the old
// name still finds it. If the file has subscriptions of both names, subscribing
// fails with an error that says so. Aliases that the catalogue declares need not be
// repeated.
//
// A member of a group has no place in the log of its own: with its former names it is
// not asked again for what it has handled under them.
func WithAliases(names ...string) SubscribeOption {
	return func(c *subscribeConfig) error {
		for _, name := range names {
			if problem := nameProblem(name); problem != "" {
				return fmt.Errorf("the alias %q: %s", name, problem)
			}
		}
		c.aliases = append(c.aliases, names...)
		return nil
	}
}

// WithPermanentErrors makes errors that match dead-letter their event at once,
// in this subscription. It comes before what the catalogue says about errors.
func WithPermanentErrors(match func(error) bool) SubscribeOption {
	return withErrorRule(errorRule{match: match, permanent: true})
}

// WithErrorRetry gives errors that match a retry policy of their own in this
// subscription: its policy with these overrides. It comes before what the
// catalogue says about errors.
func WithErrorRetry(match func(error) bool, overrides ...retry.Option) SubscribeOption {
	return withErrorRule(errorRule{match: match, retry: overrides})
}

// errorRule is an [declare.ErrorRule] with a function instead of a name.
type errorRule struct {
	match     func(error) bool
	permanent bool
	retry     []retry.Option
}

func withErrorRule(rule errorRule) SubscribeOption {
	return func(c *subscribeConfig) error {
		if rule.match == nil {
			return errors.New("the function that matches errors is nil")
		}
		c.rules = append(c.rules, rule)
		return nil
	}
}
