package busfile

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

// watching has the flags of status --watch.
type watching struct {
	on       bool
	interval time.Duration
	count    int // 0 for no end
}

// shortestInterval is the least --interval. A look takes milliseconds, and the
// file may be in use.
const shortestInterval = 100 * time.Millisecond

func (w *watching) flags(cmd *cobra.Command) {
	w.interval = time.Second
	cmd.Flags().BoolVarP(&w.on, "watch", "w", false, "look again and again, with rates, until it is interrupted")
	cmd.Flags().Var((*cli.Span)(&w.interval), "interval", "how long to wait between two looks of --watch (default 1s)")
	cmd.Flags().Var((*cli.Number)(&w.count), "count",
		"look this `many` times with --watch, and end (default: until interrupted)")
}

func (w *watching) check(cmd *cobra.Command) error {
	for _, name := range []string{"interval", "count"} {
		if cmd.Flags().Changed(name) && !w.on {
			return fmt.Errorf("--%s works only with --watch: add that", name)
		}
	}
	switch {
	case w.interval < shortestInterval:
		return fmt.Errorf("--interval is %v: it must be at least %v", w.interval, shortestInterval)
	case w.count < 0 || w.count == 0 && cmd.Flags().Changed("count"):
		return fmt.Errorf("--count is %d: it must be at least 1", w.count)
	}
	return nil
}

// watchStatus shows the status again and again, until it is interrupted, a
// condition holds, or the file cannot be read. Each look opens the file anew,
// because the file may have been replaced.
func (c *call) watchStatus(conditions []threshold, w watching) error {
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	out := c.cmd.OutOrStdout()
	screen := terminal.NewRedraw(out)
	var last event.Status
	for n := 1; ; n++ {
		c.screen, c.now = terminal.ScreenOf(out), time.Now() // a window may be resized
		status, err := c.lookAtStatus(last)
		switch {
		case c.context().Err() != nil:
			return nil
		case err != nil:
			return err
		}
		last = status
		if err := c.showLook(screen, out, status, w); err != nil {
			return fmt.Errorf("cannot print the report: %w", err)
		}
		if err := fails(conditions, status, c.now); err != nil || n == w.count {
			return err
		}
		select {
		case <-c.context().Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (c *call) showLook(screen *terminal.Redraw, out io.Writer, status event.Status, w watching) error {
	if c.json {
		report, err := cli.Line(status)
		if err == nil {
			_, err = io.WriteString(out, report)
		}
		return err
	}
	heading := status.At.Format("2006-01-02 15:04:05 UTC") + ", every " + catalog.Short(w.interval)
	return screen.Show(c.screen.Paint(terminal.Dim, heading) + "\n" + c.statusText(status))
}

// rates formats the rates of a subscription. They are empty at the first look.
func rates(s event.SubscriptionState) (published, handled, died, drained string) {
	if s.Rates == nil {
		return "", "", "", ""
	}
	if s.Rates.Dead > 0 {
		died = terminal.Rate(s.Rates.Dead)
	}
	switch in := s.Rates.DrainedIn; {
	case s.BacklogAtMost == 0:
	case in == nil && s.Rates.Published > s.Rates.Handled+s.Rates.Dead:
		drained = "grows"
	case in == nil:
		drained = "not shrinking"
	default:
		drained = "in " + terminal.Span(time.Duration(math.Ceil(min(*in, longest)))*time.Second)
	}
	return terminal.Rate(s.Rates.Published), terminal.Rate(s.Rates.Handled), died, drained
}

// longest is the longest time in seconds that is shown. It fits a time.Duration.
const longest = 1e9
