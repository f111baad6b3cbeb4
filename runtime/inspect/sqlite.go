package inspect

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// defaultEngine is SQLite. No other file of this package names it.
type defaultEngine struct{ sqlite.Engine }

// Inspect refuses what is not the path of a file.
func (d defaultEngine) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	if err := engine.RequirePath(target); err != nil {
		return nil, err
	}
	return d.Engine.Inspect(ctx, target, actor)
}
