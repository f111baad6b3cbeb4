package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// plug kills the process while the bank is busy: no deferred function runs, and nothing
// is flushed.
type plug struct {
	after    int64 // calls of the bank
	db       string
	promises *promises
	out      io.Writer
	calls    atomic.Int64
}

func (p *plug) maybePull() {
	if p.calls.Add(1) != p.after {
		return
	}
	fmt.Fprintf(p.out, "\n\nPulling the plug with %d orders acknowledged. See what is left with:\n  go run ./examples/shop -db %s\n",
		p.promises.added.Load(), p.db)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill() // SIGKILL; on Windows, TerminateProcess
	}
	if err != nil {
		panic(fmt.Sprintf("the plug does not come out: %v", err))
	}
	select {} // for the microseconds until it takes effect
}

// catchUp prints what the last run has left, proves that nothing is missing, and waits
// until all of it is handled.
func (s *shop) catchUp(ctx context.Context, out io.Writer) error {
	last, err := s.ledger.lastNumber(ctx)
	if err != nil || last == 0 {
		return err // a new file
	}
	found := s.bus.Stats().Recovery
	fmt.Fprintln(out, "\nThere is an earlier run in this file:")
	fmt.Fprintf(out, "  %6d handlers were cut off; that costs each an attempt, and they run again now\n", found.Interrupted)
	fmt.Fprintf(out, "  %6d deliveries were waiting for a retry\n", found.Waiting)
	fmt.Fprintf(out, "  %6d events is how far the slowest subscription was behind\n", found.Backlog)
	fmt.Fprintf(out, "  %6d dead letters\n", found.Dead)
	if err := s.promises.prove(ctx, out); err != nil {
		return err
	}
	if err := s.ledger.prove(ctx, always, out); err != nil {
		return err
	}
	began := time.Now()
	if err := s.bus.WaitIdle(ctx); err != nil {
		return err
	}
	handled := uint64(0)
	for _, t := range s.bus.Stats().Types {
		handled += t.Handled
	}
	if handled > 0 {
		fmt.Fprintf(out, "Caught up with %d deliveries in %v.\n", handled, time.Since(began).Round(time.Millisecond))
	}
	return nil
}
