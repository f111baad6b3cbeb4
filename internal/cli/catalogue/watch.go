package catalogue

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
)

// lookEvery is how often a watched file is looked at.
const lookEvery = 200 * time.Millisecond

// watch runs a verb now, and again whenever the catalogue at path has changed, or a file
// that it includes, until ctx ends. What each round reports, and what is wrong, is printed
// at once; nothing that is wrong ends it. A file that is being written is left to settle: it
// counts as changed when two looks in a row see it the same.
func watch(ctx context.Context, path string, round func() (string, error), stdout, stderr io.Writer) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	files := filesOf(path)
	done := files.state()
	last := done
	for first := true; ; first = false {
		now := files.state()
		if first || now != done && now == last {
			files = filesOf(path) // before the round, so that no change comes between
			now = files.state()
			done = now
			report, err := round()
			if _, printErr := io.WriteString(stdout, report); printErr != nil {
				return printErr
			}
			cli.Explain(stderr, err)
		}
		last = now
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// watchedFiles are those that a catalogue consists of.
type watchedFiles struct {
	root     string
	included catalog.Trace
}

// filesOf reads a catalogue to learn what it includes.
func filesOf(path string) *watchedFiles {
	w := &watchedFiles{path, catalog.Trace{Files: catalog.Disk{}}}
	if text, err := (catalog.Disk{}).ReadFile(path); err == nil {
		catalog.ParseWith(&w.included, path, text) // findings are for the verb
	}
	return w
}

// state tells contents of the files apart without reading them.
func (w *watchedFiles) state() string {
	var all strings.Builder
	for _, name := range append([]string{w.root}, w.included.Names...) {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintln(&all, info.ModTime().UnixNano(), info.Size())
		} else {
			fmt.Fprintln(&all, "missing")
		}
	}
	fmt.Fprintln(&all, w.included.Moved())
	return all.String()
}
