package busfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/timetable"
)

func newSchedulesList(on cli.Engines) *cobra.Command {
	c := &call{on: on}
	count, from := 5, ""
	cmd := &cobra.Command{
		Use:   "list [events.yaml | FILE]",
		Short: "List schedules with their next times",
		Long: `List shows the schedules of a catalogue, or those of the file of a bus,
with their next times.

In a catalogue an interval (every) has no times yet: it is counted from the
first start of a program with the schedule. It is shown as if that were now.

Of a file it shows the schedules of the program that dispatches from it or did
so last, as that program knows them, and the last event of each. A time that has
come and is not yet published is shown as overdue: the next program that starts
treats it as the schedule says. Pausing an event type does not stop its
schedules; their events are held.

Times are those of the schedule's time zone, with their distance from UTC.

With --json: one line for each, with name, event, cron or every, time_zone,
missed (once, skip or all) and next (the times); of a catalogue also doc and
payload; of a file also since (when it was first started with), passed (times up
to this are over), missed_since, last_event and last_time, if there are any.

Exit status: 0 done, 1 the catalogue has findings, 2 trouble.`,
		Example: `  busgen schedules list
  busgen schedules list -n 10 --from 2026-10-24
  busgen schedules list shop.db --utc`,
		Args: cli.AtMostOne("catalogue or file"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"yaml", "yml", "db"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.json, "json", false, "print JSON, for programs")
	flags.BoolVar(&c.utc, "utc", false, "show times in UTC")
	flags.VarP((*cli.Number)(&count), "limit", "n", "show this `many` times of each")
	flags.StringVar(&from, "from", "",
		"show the times after this `time`, as in 2026-03-29 or 2026-03-29T01:00:00Z (default now)")
	cmd.RunE = cli.Report(func(args []string) (string, error) {
		if err := noEmptyFlag(cmd); err != nil {
			return "", err
		}
		if count < 0 || count > 1000 {
			return "", fmt.Errorf("-n is %d: it must be between 0 and 1000", count)
		}
		c.cmd, c.screen, c.now = cmd, terminal.ScreenOf(cmd.OutOrStdout()), time.Now()
		if from != "" {
			var err error
			if c.now, err = parseTime(from); err != nil {
				return "", err
			}
		}
		list, err := c.schedules(args, count)
		if err != nil {
			return "", err
		}
		if c.json {
			return cli.Lines(list)
		}
		return c.scheduleTable(list), nil
	})
	return cmd
}

// parseTime reads the value of --from.
func parseTime(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, fmt.Errorf("--from %q is not a time: write 2026-03-29 or 2026-03-29T01:00:00Z", text)
}

// schedules reads those of a catalogue or of a file.
func (c *call) schedules(args []string, count int) ([]timetable.Line, error) {
	if len(args) == 0 || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(args[0])) {
		catalogue, err := cli.LoadCatalogue(args)
		if err != nil {
			return nil, cli.Refused(err)
		}
		return timetable.OfCatalogue(catalogue, c.now, count)
	}
	c.target, c.path = args[0], cli.Shown(args[0])
	defer c.close()
	if err := c.open(); err != nil {
		return nil, classified(err)
	}
	stored, err := c.file.Schedules(c.context())
	if err != nil {
		return nil, classified(err)
	}
	return timetable.OfFile(stored, c.now, count)
}

func (c *call) scheduleTable(list []timetable.Line) string {
	if len(list) == 0 {
		return "There are no schedules.\n"
	}
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.screen.Paint(terminal.Bold, terminal.Clean(s.Name)) + "\n")
		if s.Doc != "" {
			b.WriteString("  " + terminal.Clean(s.Doc) + "\n")
		}
		fmt.Fprintf(&b, "  publishes  %s\n  at         %s\n  missed     %s\n",
			strings.TrimSpace(terminal.Clean(s.Event)+" "+payloadOf(s)), terminal.Clean(s.When()), s.Missed)
		if !s.LastTime.IsZero() {
			fmt.Fprintf(&b, "  last       %s, event %s\n", c.scheduled(s, s.LastTime), s.LastEvent)
		}
		if !s.MissedSince.IsZero() {
			fmt.Fprintf(&b, "  overdue    since %s\n", c.scheduled(s, s.MissedSince))
		}
		for n, at := range s.Next {
			title := "next"
			if n > 0 {
				title = ""
			}
			fmt.Fprintf(&b, "  %-10s %s\n", title, c.scheduled(s, at))
		}
	}
	return b.String()
}

// payloadOf returns the payload unless it is empty or, of a file, not known.
func payloadOf(s timetable.Line) string {
	if text := string(s.Payload); text != "{}" {
		return terminal.Clean(text)
	}
	return ""
}

// scheduled formats a time of a schedule.
func (c *call) scheduled(s timetable.Line, at time.Time) string {
	zone := s.Zone
	if c.utc {
		zone = time.UTC
	}
	return at.In(zone).Format("Mon 2006-01-02 15:04:05 -07:00")
}
