package inspect

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// FileFormat is the version of the tables in the file of a bus that this module writes: the
// user_version of the file. Files of all older formats are read, and brought to this one when a
// bus opens them; those of a newer format are refused.
const FileFormat = sqlite.FileFormat

// defaultEngine is SQLite. No other file of this package names it.
type defaultEngine struct{ sqlite.Engine }

// Inspect refuses what is not the path of a file.
func (d defaultEngine) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	if err := engine.RequirePath(target); err != nil {
		return nil, err
	}
	return d.Engine.Inspect(ctx, target, actor)
}
