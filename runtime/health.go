package runtime

import (
	"fmt"

	"github.com/busgen/busgen/runtime/observe"
)

// WithHealth sets the thresholds that the bus watches while it dispatches, and a
// function to call when one is exceeded and when it no longer is; nil for none.
// The bus also logs both: a Warn and an Info, and nothing in between.
//
// The default is [observe.DefaultHealth] without a function; a Health that is only Off
// watches nothing. The function is called like [observe.Observer].HealthChanged: it may
// take its time.
func WithHealth(h observe.Health, changed func(observe.HealthCheck)) Option {
	return func(c *config) error {
		if err := h.Validate(); err != nil && !h.Off {
			return fmt.Errorf("WithHealth: %w", err)
		}
		c.health = h
		if changed != nil {
			c.observers = append(c.observers, observe.Observer{HealthChanged: changed})
		}
		return nil
	}
}

// Health returns how the bus was when it last looked, which only a bus does that
// dispatches or stands by. One that stands by looks at the file only: at its dead
// letters, and whether it can be written. It costs next to nothing.
func (b *Bus) Health() observe.HealthStatus { return busOf(b).health.status() }
