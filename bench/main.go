// Command bench measures how fast the bus is, as a ratio to what its storage
// does on the same machine at the same time.
//
//	go run ./bench                 a table, in about four minutes
//	go run ./bench -short -json    one JSON object per case, within a minute
//	go run ./bench -case publish   only the cases whose names match
//	go run ./bench -limits         whether what the project promises holds, for CI
//	go run ./bench -growth         how what the bus does grows with the size of the file
//	go run ./bench -idle 100       what so many idle buses cost
//	go run ./bench -written        how many bytes an event takes on the disk, and how many are written for it
//
// That limit is mostly a bare loop that inserts the same rows into the
// same tables through the same SQLite driver, with as many rows per commit as
// the case has publishers, and synced to disk as the bus does it. Absolute
// numbers tell more about the disk than about the bus, and on a busy machine
// they change from second to second. So the two take turns in short slices, and
// both see the same machine.
//
// cases.go lists what is measured. throughput.go holds the cases about events per second: load.go sets a bus to work,
// limit.go has the bare loop and a plain file, and rounds.go lets them take turns. tx.go has the cases about
// transactions that a program shares with the bus, and tx_own.go the same with database/sql. latency.go, backlog.go,
// recovery.go and deadletters.go have cases that measure times too, many.go has what cases share that do something
// fifty thousand times, limits.go says how slow cases may be, and growth.go how they grow. codec.go has the cases about
// JSON alone, generate.go the one about the generator, and report.go prints. Read main.go, cases.go and throughput.go
// first.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	beChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// How long each case is measured unless -time says otherwise, and how many
// events it has, if it is about files with many, unless -events does.
const (
	normalTime   = 10 * time.Second
	normalEvents = 1_000_000
	shortTime    = time.Second
	shortEvents  = 200_000
	// shortFill bounds how long a short run makes such a file, or does what it is to do many
	// times: on a slow disk there are fewer events.
	shortFill = 3 * time.Second
)

// run returns the exit code: 0, 1 when a case could not be measured, or 2 when
// the arguments make no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { usage(flags) }
	var (
		isShort = flags.Bool("short", false, "measure for a shorter time: all cases take less than a minute")
		asJSON  = flags.Bool("json", false, "print one JSON object per case instead of a table")
		limits  = flags.Bool("limits", false,
			"measure for a short time whether the bus is as fast as it must be, with allowances for\na busy machine; exit "+
				"status 1 if it is not")
		growing = flags.Bool("growth", false,
			"measure how operations grow with the number of events, subscriptions and so on: about 20\nminutes and 4 GB. "+
				"With -short files are a hundredth of that, and nothing waits for a prune.\n-case chooses "+dimensionNames()+".")
		idling  = flags.Int("idle", 0, "measure what so `many` buses cost that have nothing to do")
		writing = flags.Bool("written", false,
			"measure how many bytes are written for each event (-events is 200000, with -short 10000)")
		pattern = flags.String("case", "", "measure only the cases whose names match this `regexp`")
		total   = flags.Duration("time", 0, "measure each case for about this `long` (default 10s, with -short 1s)")
		events  = flags.Int("events", 0,
			"let the cases of a million events have this `many` (default 1000000, with -short\n200000 or what can be stored "+
				"in three seconds). With -growth: the largest file, and all\nother sizes in proportion (default 10000000, with "+
				"-short 100000)")
		folder = flags.String("dir", "",
			"make the event logs in this `folder`, on the disk to be measured (default the\ntemporary folder, which some "+
				"systems keep in memory)")
	)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	choose := selectCases
	if *growing {
		choose = func(pattern string) ([]benchCase, error) { return nil, checkDimensions(pattern) }
	}
	selected, err := choose(*pattern)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("%q is not a flag: use -case to choose what to measure", flags.Arg(0))
	}
	if err == nil && *total < 0 {
		err = fmt.Errorf("-time %v is negative", *total)
	}
	if err == nil && *events < 0 {
		err = fmt.Errorf("-events %d is negative", *events)
	}
	if err == nil && *limits && (*asJSON || *pattern != "") {
		err = errors.New("-limits has its own cases and its own report: leave out -case and -json")
	}
	if err == nil && *idling < 0 {
		err = fmt.Errorf("-idle %d is negative", *idling)
	}
	if err == nil && *writing && (*limits || *growing || *idling > 0 || *total != 0 || *pattern != "") {
		err = errors.New("-written measures all ways to publish: of the other flags it knows -events, -short, -json and -dir")
	}
	if err == nil && *idling > 0 && (*limits || *growing || *isShort || *pattern != "") {
		err = errors.New("-idle measures idle buses only: of the other flags it knows -time, -json and -dir")
	}
	if err == nil && *growing && (*limits || *total != 0) {
		err = errors.New("-growth measures everything a number of times: leave out -time and -limits")
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	if *writing {
		n := normalWritten
		if *isShort {
			n = shortWritten
		}
		if err := measureWritten(ctx, cmp.Or(*events, n), *asJSON, *folder, stdout); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	if *idling != 0 {
		r, err := measureIdle(ctx, *idling, cmp.Or(*total, normalTime), *folder)
		if err == nil && *asJSON {
			err = json.NewEncoder(stdout).Encode(r)
		} else if err == nil {
			err = r.print(stdout)
		}
		if err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	if *growing {
		if err := runGrowth(ctx, *pattern, *events, *isShort, *asJSON, *folder, stdout); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	each := setting{total: cmp.Or(*total, normalTime), events: cmp.Or(*events, normalEvents)}
	if *isShort || *limits {
		each = setting{total: cmp.Or(*total, shortTime), events: cmp.Or(*events, shortEvents), fillFor: shortFill}
	}
	if *limits {
		if err := hold(ctx, bounds, each, *folder, stdout); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	var r report = &table{w: stdout}
	if *asJSON {
		r = &lines{w: stdout}
	}
	if err := measure(ctx, selected, each, *folder, r); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// measure runs the cases, each in a folder of its own, and leaves no files
// behind.
func measure(ctx context.Context, cases []benchCase, each setting, folder string, r report) error {
	root, err := os.MkdirTemp(folder, "busgen-bench-")
	if err != nil {
		return fmt.Errorf("no folder for the event logs: %w", err)
	}
	defer os.RemoveAll(root)
	r.begin()
	for _, c := range cases {
		s := each
		if s.dir, err = os.MkdirTemp(root, c.name+"-"); err != nil {
			return err
		}
		result, err := c.run(ctx, &s)
		if err = errors.Join(err, s.close()); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		result.Case = c.name
		if err := errors.Join(r.add(result), os.RemoveAll(s.dir)); err != nil {
			return err
		}
	}
	r.end(root)
	return nil
}

// selectCases returns the cases whose names match pattern; all match "".
func selectCases(pattern string) ([]benchCase, error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-case %s: %w", pattern, err)
	}
	var selected []benchCase
	for _, c := range cases {
		if match.MatchString(c.name) {
			selected = append(selected, c)
		}
	}
	if selected == nil {
		return nil, fmt.Errorf("-case %s matches no case; bench -h lists them", pattern)
	}
	return selected, nil
}

func usage(flags *flag.FlagSet) {
	w := flags.Output()
	fmt.Fprint(w, `bench measures the bus against a limit, which is mostly a bare loop that inserts the
same rows through the same SQLite driver, with the same indexes and as many rows per
commit, taking turns with the bus.

usage: go run ./bench [flags]

cases:
`)
	for _, c := range cases {
		fmt.Fprintf(w, "  %-18s%s\n", c.name, c.doc)
	}
	fmt.Fprint(w, "\nflags:\n")
	flags.PrintDefaults()
}
