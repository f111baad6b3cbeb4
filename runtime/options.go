package runtime

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
	"github.com/busgen/busgen/runtime/internal/testhook"
	"github.com/busgen/busgen/runtime/observe"
)

// Option tunes a bus. Options are given to the generated Open, or to [Open].
type Option func(*config) error

type config struct {
	logger          *slog.Logger
	shutdownTimeout time.Duration
	payloadLimit    int
	metadataLimit   int
	dedupeWindow    time.Duration
	durability      Durability
	standby         bool
	retention       time.Duration
	slowEventAfter  time.Duration // 0 for never
	maxPending      int
	hopLimit        int
	txLimit         time.Duration
	unscheduled     bool
	whenFull        WhenFull
	classes         map[string]func(error) bool
	observers       []observe.Observer
	health          observe.Health
	middleware      []Middleware
	publishing      []PublishMiddleware
	limits          map[string]declare.Limit                     // by name, on top of those of the catalogue
	intercept       testhook.Intercept                           // nil outside of tests
	stepPoint       func(subscription, step string, stored bool) // nil outside of tests
	wall            func() time.Time                             // nil outside of tests
	engine          engine.Engine
	relay           outbox.Relay // nil without an outbox
}

const (
	defaultShutdownTimeout = 30 * time.Second
	defaultPayloadLimit    = 1 << 20 // bytes of JSON
	defaultDedupeWindow    = 24 * time.Hour
	defaultRetention       = 7 * 24 * time.Hour
	defaultSlowEventAfter  = 5 * time.Minute
)

// Options makes one option of several, which apply in their order: for packages that offer
// what needs more than one.
func Options(all ...Option) Option {
	return func(c *config) error {
		for i, option := range all {
			if option == nil {
				return nilOption(i)
			}
			if err := option(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// WithLogger sets where the bus logs: one Warn per failed attempt, one Error
// per dead letter, Info on start and recovery. The default is [slog.Default].
// The logger's handler must not call the bus: some lines are written while the bus holds
// a lock. A handler that panics harms nothing but its own line. One that blocks is waited for once, for a tenth of a
// second. Up to 1,000 lines wait behind it; further ones are lost, and the log says how many.
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
// when its context has no deadline. The default is 30 seconds.
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
// holds for metadata, up to 1 MiB. The default is 1 MiB, and the greatest limit 64 MiB: store larger data elsewhere, and
// publish a reference to it. All payloads of a batch have at most 256 MiB together. An engine may have lower limits.
func WithPayloadLimit(bytes int) Option {
	return func(c *config) error {
		if bytes <= 0 || bytes > engine.MaxPayload {
			return fmt.Errorf("WithPayloadLimit: %d is not a number of bytes from 1 to %d (64 MiB)", bytes, engine.MaxPayload)
		}
		c.payloadLimit = bytes
		return nil
	}
}

// WithDedupeWindow sets how long the keys of [WithDedupeKey] are remembered. The
// default is 24 hours.
func WithDedupeWindow(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("WithDedupeWindow: %v is not positive", d)
		}
		c.dedupeWindow = d
		return nil
	}
}

// Durability says what a published event survives.
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
// returns [event.ErrAlreadyRunning].
func WithStandby() Option {
	return func(c *config) error {
		c.standby = true
		return nil
	}
}

// WithSlowEventAfter sets after what time an event that is not handled is reported
// as slow: 0 for never, 5 minutes by default. It is for events whose catalogue has no
// slow_event_after ([declare.Settings]). The time is counted since the event was
// published, since it was due if it was delayed, or since it was last retried by hand. When
// an attempt fails after that, and will be retried, the bus logs a warning and calls
// SlowEvent of its observers, once for each event and subscription, and perhaps once more
// after a restart. It does the same when an attempt is still at work at that time, and when an
// event had to wait so long for its first attempt: of a backlog for the first event, and again
// after an event of the subscription was handled in time. Snoozes are no failures.
func WithSlowEventAfter(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return fmt.Errorf("WithSlowEventAfter: %v is negative; use 0 to switch the warning off", d)
		}
		c.slowEventAfter = d
		return nil
	}
}

// Forever is the retention that deletes nothing.
const Forever = time.Duration(math.MaxInt64)

// WithRetention sets how long after its publication an event is kept when every
// subscription has settled it; [Forever] keeps all. The default is
// 7 days. Events that are open, and those of dead letters, are never
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
