package runtime

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

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
