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

// reported is the number of looks after which an unreadable catalogue is reported.
const reported = 2

// whenChanged runs a verb now, and again whenever a file of the catalogue at path
// is written, until ctx ends. It prints the report and the error of each round.
// The error is that of a round that ctx has interrupted: its work is not done.
func whenChanged(ctx context.Context, path string, round func() (string, error), stdout, stderr io.Writer) error {
	file := watch.New(path)
	file.Touches = true // generated files may have been deleted
	unreadable := 0     // looks in a row
	if _, _, err := file.Look(false); err != nil {
		unreadable = reported // the first round reports it
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for due := true; ; {
		if due {
			report, err := round()
			if _, printErr := io.WriteString(stdout, report); printErr != nil {
				return printErr
			}
			if err != nil && ctx.Err() != nil {
				return err
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
			due = unreadable == reported
		case settled:
			due = changed != nil || unreadable >= reported
			unreadable = 0
		default:
			due = false
		}
	}
}
