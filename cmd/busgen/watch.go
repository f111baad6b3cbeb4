package main

import (
	"context"
	"io"
	"os"
	"time"
)

// lookEvery is how often a watched file is looked at.
const lookEvery = 200 * time.Millisecond

// watch runs a verb now, and again whenever the file has changed, until ctx ends.
// What each round reports, and what is wrong, is printed at once; nothing that is
// wrong ends it. A file that is being written is left to settle: it counts as
// changed when two looks in a row see it the same.
func watch(ctx context.Context, path string, round func() (string, error), stdout, stderr io.Writer) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	done, last := fileState{}, stateOf(path)
	for first := true; ; first = false {
		now := stateOf(path)
		if first || now != done && now == last {
			done = now
			report, err := round()
			if _, printErr := io.WriteString(stdout, report); printErr != nil {
				return printErr
			}
			explain(stderr, err)
		}
		last = now
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// fileState tells contents of a file apart without reading them.
type fileState struct {
	modified time.Time
	size     int64
	missing  bool
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{missing: true}
	}
	return fileState{modified: info.ModTime(), size: info.Size()}
}
