// Command peers measures busgen beside other Go libraries that keep jobs or messages in a
// SQLite file, on this machine and in one run:
//
//	go run .                     one table, within ten minutes
//	go run . -only 'goqite|busgen'
//	go run . -h                  how each is set, and where its documentation says so
//
// All store the same payload of about 200 bytes in a file of their own, in WAL mode and with
// synchronous=FULL, so that a publish that has returned survives a power cut. Each is
// measured as its documentation starts it, and tuned.
//
// peer.go says what a peer is, and list.go which there are: their settings, what each keeps
// and what it does not sync. Each has a file that drives it. cases.go has what is measured,
// crash.go the process that is killed, and report.go prints.
package main

import (
	"context"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := 1
	if os.Getenv(childPeer) != "" {
		code = beChild(ctx)
	} else {
		code = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// scale says how much is measured.
type scale struct {
	publish time.Duration // how long publishers publish
	slow    int64         // how many events go to handlers that take slowHandler
	samples int           // of the latency
	done    int           // how many handled events a used file has
	limit   time.Duration // after which a round ends with what it has
	crash   time.Duration // after which a killed event that has not come again is given up
}

var normal = scale{
	publish: 500 * time.Millisecond, slow: 1000, samples: 40, done: 1_000_000,
	limit: 2500 * time.Millisecond, crash: time.Minute,
}

// run returns the exit code: 0, 1 when a peer could not be measured, or 2 when the arguments
// make no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := normal
	only := flags.String("only", "", "measure only the peers whose names match this `regexp`, such as 'River|busgen'")
	folder := flags.String("dir", "", "make the files in this `folder`, on the disk to be measured (default the temporary folder,\nwhich some systems keep in memory)")
	flags.IntVar(&s.done, "done", s.done, "how many handled events a used file has")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Usage of peers, which prints a table of busgen beside other libraries:")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		settings(stderr)
		return 0
	case err != nil:
		return 2
	}
	match, err := regexp.Compile(*only)
	if err != nil || flags.NArg() > 0 || s.done < 1 {
		fmt.Fprintln(stderr, "peers: -only must be a regular expression, -done at least 1, and there are no other arguments")
		return 2
	}
	var selected []peer
	for _, p := range peers {
		if match.MatchString(p.name) {
			selected = append(selected, p)
		}
	}
	if err := measureAll(ctx, selected, s, *folder, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "peers:", err)
		return 1
	}
	return 0
}

// measureAll prints one table of what the peers do, and leaves no files behind.
func measureAll(ctx context.Context, selected []peer, s scale, folder string, stdout, progress io.Writer) error {
	root, err := os.MkdirTemp(folder, "busgen-peers-")
	if err != nil {
		return fmt.Errorf("no folder for the files: %w", err)
	}
	defer os.RemoveAll(root)
	began := time.Now()
	var rows []row
	for _, p := range selected {
		rows = append(rows, row{p, false, map[string]result{}}, row{p, true, map[string]result{}})
	}
	// Rounds are apart in time, because disks are slow for minutes.
	results := map[string][][]result{}
	for round := range rounds {
		for _, c := range cases {
			if round >= c.rounds {
				continue
			}
			if round == 0 {
				results[c.name] = make([][]result, len(rows))
			}
			for i, r := range rows {
				fmt.Fprintf(progress, "%4.0f s  %s, round %d: %s\n", time.Since(began).Seconds(), c.name, round+1, r.title())
				m := measurement{peer: r.peer, tuned: r.tuned, scale: s, root: root}
				one, err := c.measure(ctx, &m)
				if err = errors.Join(err, m.cleanup()); err != nil {
					return fmt.Errorf("%s, %s: %w", r.title(), c.name, err)
				}
				results[c.name][i] = append(results[c.name][i], one)
			}
		}
	}
	for name, all := range results {
		for i, r := range rows {
			r.results[name] = fastest(all[i])
		}
	}
	return report(stdout, rows, s, time.Since(began))
}
