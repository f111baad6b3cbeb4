package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
)

// progress is one line about what has happened so far.
func progress(stats runtime.Stats, sold int64, orders int) string {
	var sum observe.TypeStats
	for _, t := range stats.Types {
		sum.Handled += t.Handled
		sum.Retried += t.Retried
		sum.Dead += t.Dead
	}
	return fmt.Sprintf("  %d of %d orders sold, %d deliveries handled, %d retried, %d dead",
		sold, orders, sum.Handled, sum.Retried, sum.Dead)
}

// showProgress keeps one line up to date on a terminal; anywhere else it prints
// a line now and then. stop prints the last one.
func showProgress(out io.Writer, line func() string) (stop func()) {
	every, before, after := time.Second/2, "", "\n"
	if isTerminal(out) {
		every, before, after = time.Second/20, "\r", "\x1b[K" // \x1b[K clears the rest of the line
	}
	done := make(chan struct{})
	var printing sync.WaitGroup
	printing.Go(func() {
		for ticker := time.NewTicker(every); ; {
			select {
			case <-ticker.C:
				fmt.Fprint(out, before, line(), after)
			case <-done:
				ticker.Stop()
				fmt.Fprint(out, before, line(), after)
				if before != "" {
					fmt.Fprintln(out)
				}
				return
			}
		}
	})
	return func() {
		close(done)
		printing.Wait()
	}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
