package runtime

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/testhook"
	"github.com/busgen/busgen/runtime/retry"
)

// Option tunes a bus. Options are given to the generated Open, or to [Open].
type Option func(*config) error

type config struct {
	logger          *slog.Logger
	shutdownTimeout time.Duration
	payloadLimit    int
	dedupeWindow    time.Duration
	durability      Durability
	standby         bool
	retention       time.Duration
	maxPending      int
	whenFull        WhenFull
	classes         map[string]func(error) bool
	observers       []Observer
	health          Health
	intercept       testhook.Intercept // nil outside of package runtimetest
	wall            func() time.Time   // nil outside of tests
	engine          engine.Engine
}

// DefaultShutdownTimeout is how long [Bus.Shutdown] waits for running handlers
// when its context has no deadline of its own.
const DefaultShutdownTimeout = 30 * time.Second

// DefaultPayloadLimit is the largest payload, and the largest metadata, that
// is accepted: 1 MiB of JSON.
const DefaultPayloadLimit = 1 << 20

// WithLogger sets where the bus logs: one Warn per failed attempt, one Error
// per dead letter, Info on start and recovery. The default is [slog.Default].
// The logger's handler must not call the bus: some lines are written while the bus holds
// a lock. A handler that panics harms nothing but its own line.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		if logger == nil {
			return fmt.Errorf("WithLogger: the logger is nil; use slog.New(slog.DiscardHandler) for silence")
		}
		c.logger = logger
		return nil
	}
}

// WithShutdownTimeout sets how long [Bus.Shutdown] waits for running handlers
// when its context has no deadline. The default is [DefaultShutdownTimeout].
func WithShutdownTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithShutdownTimeout: %v is not positive", d)
		}
		c.shutdownTimeout = d
		return nil
	}
}

// WithPayloadLimit sets the largest payload in bytes of JSON; the same limit
// holds for metadata. The default is [DefaultPayloadLimit].
func WithPayloadLimit(bytes int) Option {
	return func(c *config) error {
		if bytes <= 0 {
			return fmt.Errorf("WithPayloadLimit: %d is not positive", bytes)
		}
		c.payloadLimit = bytes
		return nil
	}
}

// DefaultDedupeWindow is how long an idempotency key is remembered.
const DefaultDedupeWindow = 24 * time.Hour

// WithDedupeWindow sets how long the keys of [WithDedupeKey] are remembered. The
// default is [DefaultDedupeWindow].
func WithDedupeWindow(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithDedupeWindow: %v is not positive", d)
		}
		c.dedupeWindow = d
		return nil
	}
}

// Durability is what a published event survives.
type Durability int

const (
	// Full is the default: when Publish returns nil the event is on disk. It
	// survives the death of the process, of the operating system, and a power
	// cut. A lone publisher waits for the disk with every event.
	Full Durability = iota
	// Normal leaves the event to the operating system: it survives the death of
	// the process, kill -9 included. When the power fails or the operating system
	// crashes, the last events may be lost, always from the end of the log and
	// never from its middle. Publishing is many times faster.
	Normal
)

// WithDurability chooses what the events published by this bus survive. The
// default is [Full].
func WithDurability(d Durability) Option {
	return func(c *config) error {
		if d != Full && d != Normal {
			return fmt.Errorf("WithDurability: %d is neither Full nor Normal", d)
		}
		c.durability = d
		return nil
	}
}

// WithStandby makes [Bus.Start] wait while another process dispatches from the
// file, and take over as soon as that one ends, however it ends. Without it Start
// returns [ErrAlreadyRunning].
func WithStandby() Option {
	return func(c *config) error {
		c.standby = true
		return nil
	}
}

// DefaultRetention is how long settled events are kept.
const DefaultRetention = 7 * 24 * time.Hour

// Forever is the retention that deletes nothing.
const Forever = time.Duration(math.MaxInt64)

// WithRetention sets how long after its publication an event is kept when every
// subscription has settled it; [Forever] keeps all. The default is
// [DefaultRetention]. Events that are open, and those of dead letters, are never
// deleted. The bus that dispatches looks once a minute and deletes in small steps.
// The file does not shrink by that, its space is used again; see [Bus.Compact].
func WithRetention(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithRetention: %v is not positive", d)
		}
		c.retention = d
		return nil
	}
}

// WhenFull is what happens to a publisher when too much is pending.
type WhenFull int

const (
	// Refuse returns a *[PendingError] at once.
	Refuse WhenFull = iota
	// Block waits until there is room, or until the publisher's context ends.
	Block
)

// WithMaxPending limits the events that wait in the subscription that is furthest
// behind, whether it is handled at the moment or not: from n on publishers are
// refused or wait. History and dead letters do not count. Without this option
// there is no limit but the disk.
//
// The limit is kept closely, not exactly: publishers in other processes are
// noticed late. Events that a handler publishes with its context are never
// refused, because they are part of settling another.
func WithMaxPending(n int, when WhenFull) Option {
	return func(c *config) error {
		if n <= 0 || when != Refuse && when != Block {
			return fmt.Errorf("WithMaxPending: the limit %d is not positive, or %d is neither Refuse nor Block", n, when)
		}
		c.maxPending, c.whenFull = n, when
		return nil
	}
}

// SubscribeOption tunes a subscription.
type SubscribeOption func(*subscribeConfig) error

type subscribeConfig struct {
	retry           []retry.Option
	timeout         time.Duration  // 0: the event type's
	slowAfter       *time.Duration // nil: the event type's
	expiresAfter    *time.Duration // nil: the event type's
	breaker         []breaker.Option
	maxSnoozes      *int // nil: the event type's
	failureThrottle *int // nil: the event type's
	rules           []errorRule
	group           string
	groupAliases    []string
	aliases         []string
	concurrency     int
	fromBeginning   bool
	strict          bool
}

// WithRetry overrides single fields of the retry policy for this
// subscription; the others keep what the catalogue says for the event type.
func WithRetry(overrides ...retry.Option) SubscribeOption {
	return func(c *subscribeConfig) error {
		c.retry = append(c.retry, overrides...)
		return nil
	}
}

// WithTimeout sets how long one attempt may take in this subscription, instead
// of what the catalogue says for the event type.
func WithTimeout(d time.Duration) SubscribeOption {
	return func(c *subscribeConfig) error {
		if d <= 0 {
			return fmt.Errorf("the timeout %v is not positive", d)
		}
		c.timeout = d
		return nil
	}
}

// WithSlowAfter sets how long an attempt may take before it is logged as slow; 0
// for never. The default is that of the event type, 10 s unless the catalogue
// says otherwise.
func WithSlowAfter(d time.Duration) SubscribeOption {
	return func(c *subscribeConfig) error {
		if d < 0 {
			return fmt.Errorf("the time %v after which a handler is slow is negative", d)
		}
		c.slowAfter = &d
		return nil
	}
}

// WithExpiresAfter sets how long after its publication an event may still be
// tried in this subscription; 0 for no limit. See [Settings].
func WithExpiresAfter(d time.Duration) SubscribeOption {
	return func(c *subscribeConfig) error {
		if d < 0 {
			return fmt.Errorf("the time %v after which events expire is negative", d)
		}
		c.expiresAfter = &d
		return nil
	}
}

// WithMaxSnoozes sets how often a handler of this subscription may put one event
// off ([Snooze]); 0 for no limit. See [Settings].
func WithMaxSnoozes(n int) SubscribeOption {
	return func(c *subscribeConfig) error {
		if n < 0 {
			return fmt.Errorf("the limit of %d snoozes is negative", n)
		}
		c.maxSnoozes = &n
		return nil
	}
}

// WithBreaker overrides single fields of the circuit breaker of this
// subscription. A subscription by pattern whose event types have different
// breakers starts from the default one.
func WithBreaker(overrides ...breaker.Option) SubscribeOption {
	return func(c *subscribeConfig) error {
		c.breaker = append(c.breaker, overrides...)
		return nil
	}
}

// WithFailureThrottle makes the subscription run one handler at a time after n
// failures in a row, until one succeeds; 0 for never. It matters with
// [WithConcurrency]: a service in trouble gets one call at a time, not n.
func WithFailureThrottle(n int) SubscribeOption {
	return func(c *subscribeConfig) error {
		if n < 0 {
			return fmt.Errorf("a failure throttle after %d failures is negative", n)
		}
		c.failureThrottle = &n
		return nil
	}
}

// WithBrake is the former name of [WithFailureThrottle].
//
// Deprecated: use [WithFailureThrottle].
func WithBrake(n int) SubscribeOption { return WithFailureThrottle(n) }

// WithConcurrency lets up to n handlers of this subscription run at once, from
// 1 to 1024. The default is 1: events are handled one by one in the order of
// the log. With more, events whose type has a partition_by keep that order
// within each key, and the others have none.
func WithConcurrency(n int) SubscribeOption {
	return func(c *subscribeConfig) error {
		if n < 1 || n > 1024 {
			return fmt.Errorf("a concurrency of %d is not within 1 to 1024", n)
		}
		c.concurrency = n
		return nil
	}
}

// WithStrictOrder makes a failing event hold back the later ones of its partition
// key until it is settled: handled, or dead-lettered after its last retry. Events
// whose type has no partition_by hold back each other. Other keys go on, as long
// as no more than 256 events are held back; then the subscription waits.
//
// The order is that of first attempts: a dead letter that is retried by hand, and
// a delayed event, come when they come.
func WithStrictOrder() SubscribeOption {
	return func(c *subscribeConfig) error {
		c.strict = true
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
