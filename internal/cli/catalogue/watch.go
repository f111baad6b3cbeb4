package catalogue

import (
	"context"
	"io"
	"time"

	"github.com/busgen/busgen/internal/catalog/watch"
	"github.com/busgen/busgen/internal/cli"
)

// lookEvery is the time between two looks at a watched catalogue.
const lookEvery = 200 * time.Millisecond

// whenChanged runs a verb now, and again whenever the catalogue at path has
// changed, until ctx ends. It prints the report and the error of each round.
func whenChanged(ctx context.Context, path string, round func() (string, error), stdout, stderr io.Writer) error {
	file := watch.New(path)
	file.Look(false)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for unreadable, due := 0, true; ; {
		if due {
			report, err := round()
			if _, printErr := io.WriteString(stdout, report); printErr != nil {
				return printErr
			}
			cli.Explain(stderr, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		changed, settled, err := file.Look(true)
		switch {
		case err != nil: // there is no file for a moment when an editor replaces it
			unreadable++
			due = unreadable == 2
		case settled:
			due = changed != nil || unreadable > 1
			unreadable = 0
		default:
			due = false
		}
	}
}
