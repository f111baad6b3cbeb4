package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	if scheme, _, isURL := strings.Cut(target, "://"); isURL {
		return nil, foreignTarget(scheme)
	}
	return d.Engine.Open(ctx, target, options)
}

// otherEngines are the engines with a package of their own, by the scheme of their
// targets.
var otherEngines = map[string]struct{ path, option string }{
	"nats":     {"github.com/busgen/busgen/runtime/jetstream", "jetstream.Engine()"},
	"postgres": {"github.com/busgen/busgen/runtime/postgres", "postgres.Engine()"},
}

// foreignTarget says what is missing. It does not repeat the target, which may hold a
// password.
func foreignTarget(scheme string) error {
	if scheme == "file" {
		return errors.New("open file://…: give the path of the file itself, without file://")
	}
	if other, known := otherEngines[scheme]; known {
		return fmt.Errorf("open %s://…: the engine for this is not built in: import %s, if your version of busgen has it, and pass %s to Open",
			scheme, other.path, other.option)
	}
	return fmt.Errorf("open %s://…: no engine for this is known; without an option that brings one, Open takes the path of a file", scheme)
}
