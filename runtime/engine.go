package runtime

import (
	"context"
	"errors"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// WithEngine keeps the events in another place than a file. Programs do not call it:
// the package of an engine has a function that returns this option. The default is the
// engine of this package, SQLite, whose target is the path of a file.
func WithEngine(e engine.Engine) Option {
	return func(c *config) error {
		if e == nil {
			return errors.New("WithEngine: the engine is nil; leave the option out for a file")
		}
		c.engine = e
		return nil
	}
}

// defaultEngine is SQLite. No other file of this package names it.
type defaultEngine struct{ sqlite.Engine }

// Open refuses what is not the path of a file: a bus must not begin to use a file
// named nats: because an option was forgotten.
func (d defaultEngine) Open(ctx context.Context, target string, options engine.Options) (engine.Log, error) {
	if err := engine.RequirePath(target); err != nil {
		return nil, err
	}
	return d.Engine.Open(ctx, target, options)
}
